# %% [markdown]
# # Deep search: cited answers in a cell
#
# Ask in plain words. The answer quotes code, and every citation was checked against git at a pinned commit. No model is
# asked and nothing leaves this machine. Run the cells from top to bottom (Shift+Enter).

# %%
import os

import pandas as pd

import sourcelight as sl

# A question draws what it searches and reads; that is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
os.environ.pop("SOURCELIGHT_MODEL", None)
pd.set_option("display.max_colwidth", 50)

paths = os.environ.get("SOURCELIGHT_DEMO_PATHS", ".").split(os.pathsep)
code = sl.open(*paths)

# %% [markdown]
# ## How does it work?

# %%
answer = code.deepsearch("How long does a failed request wait before it is retried?")
answer

# %% [markdown]
# Each citation with its place, the part that it plays, and how its check ended:

# %%
answer.citations[["repository", "path", "start_line", "end_line", "role", "status"]]

# %%
answer.follow_ups

# %% [markdown]
# ## Who, when and why?
#
# A follow-up goes on in the same conversation.

# %%
why = answer.ask("When and why was that changed?")
why.citations[["type", "repository", "commit", "role", "status"]].query("type == 'commit'")

# %% [markdown]
# ## How many? Which?
#
# Questions that count are answered by a query over everything, not by a sample.

# %%
counted = code.deepsearch("How many files mention `threshold`?")
print(counted.text)

# %%
counted.tables["By repository"]

# %% [markdown]
# ## What is not there
#
# When nothing fits, the answer says so.

# %%
unknown = code.deepsearch("How does the `FluxCapacitor` recalibrate wormholes?")
print(unknown.text.split("\n\n")[0])

# %% [markdown]
# ## Of this very checkout
#
# The same of any repository on this machine, such as the one that this notebook lies in.

# %% tags=["nbval-ignore-output"]
from pathlib import Path

here = next((folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / ".git").exists()), None)
if here is not None:
    own = sl.open(here)
    print(own.deepsearch("How are citations checked against git?").text[:1500])
    own.close()

# %% [markdown]
# ## For others
#
# Answers are Markdown and a page that needs nothing else; neither runs anything that a repository may hold.

# %%
page = answer.to_html()
page.startswith("<!doctype html>"), "<script" in page, len(answer.to_markdown()) > 500

# %% [markdown]
# Conversations are kept: `deepsearch_list` finds them again; `answer.rename`, `share` and `delete` change them.

# %%
code.deepsearch_list("failed request")[["title", "status"]].drop_duplicates()

# %%
code.close()

# %% [markdown]
# Next: [08 Audit](08-audit.ipynb), many patterns over many repositories.

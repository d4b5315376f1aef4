# %% [markdown]
# # Deep search: cited answers in a cell
#
# Ask in plain words. The answer quotes code, and every citation is checked against git at a pinned commit. This uses no
# language model, and nothing leaves this machine. Run the cells from top to bottom (Shift+Enter).

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
# Each citation with its location, its role, and the result of its check:

# %%
answer.citations[["repository", "path", "start_line", "end_line", "role", "status"]]

# %%
answer.follow_ups

# %% [markdown]
# ## Who, when and why?
#
# A follow-up question continues the conversation.

# %%
why = answer.ask("When and why was that changed?")
why.citations[["type", "repository", "commit", "role", "status"]].query("type == 'commit'")

# %% [markdown]
# ## How many? Which?
#
# Counts come from a query over all files, not from a sample.

# %%
counted = code.deepsearch("How many files mention `threshold`?")
print(counted.text)

# %%
counted.tables["By repository"]

# %% [markdown]
# ## When there is no answer
#
# The answer says when nothing matches.

# %%
unknown = code.deepsearch("How does the `FluxCapacitor` recalibrate wormholes?")
print(unknown.text.split("\n\n")[0])

# %% [markdown]
# ## Ask about any repository
#
# You can ask about any repository on this machine, such as the one that contains this notebook.

# %% tags=["nbval-ignore-output"]
from pathlib import Path

here = next((folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / ".git").exists()), None)
if here is not None:
    own = sl.open(here)
    print(own.deepsearch("How are citations checked against git?").text[:1500])
    own.close()

# %% [markdown]
# ## Share answers
#
# Export an answer as Markdown or as a self-contained HTML page; neither executes content of a repository.

# %%
page = answer.to_html()
page.startswith("<!doctype html>"), "<script" in page, len(answer.to_markdown()) > 500

# %% [markdown]
# Conversations are stored: `deepsearch_list` lists them; `answer.rename`, `share` and `delete` change them.

# %%
code.deepsearch_list("failed request")[["title", "status"]].drop_duplicates()

# %%
code.close()

# %% [markdown]
# Next: [08 Audit](08-audit.ipynb): many patterns over many repositories.

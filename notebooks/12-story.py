# %% [markdown]
# # The story of a file, a directory and a function
#
# Who wrote this, when and why, and what was its former name? The first cell has the parameters for papermill, which
# runs this notebook on any repository:
#
# ```sh
# papermill 12-story.ipynb mine.ipynb -p paths ~/src/project -p path src/main.py -p symbol main
# ```

# %% tags=["parameters"]
paths = ""  # folders with repositories, as in PATH; empty: those of the demo
repo = ""  # name of the repository; empty: the hub of the sample repositories, or the only one there is
path = "frame/frame.go"  # a file
symbol = "EncodeFrame"  # a definition
output = ""  # folder for the files; empty: a temporary one

# %%
import os
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl

# A bar shows what the report is doing; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

code = sl.open(*(paths or os.environ.get("SOURCELIGHT_DEMO_PATHS", ".")).split(os.pathsep))
names = code.list_repos()["repository"].astype("str").tolist()
repo = repo or next((name for name in reversed(names) if name.endswith("hub")), names[0])
story = sl.reports.file(code, repo, path)
for sentence in story.lead:
    print("-", sentence)

# %%
story.summary[["name", "value", "counts"]]

# %% [markdown]
# ## How it moved

# %%
moves = story.tables.get("moves", pd.DataFrame())
moves[["commit_date", "old_path", "path", "score", "author", "subject"]] if len(moves) else "it never moved"

# %% [markdown]
# ## Who, when and why
#
# `reason` is the first paragraph after the subject; `references` are the issues and pull requests in a message.

# %%
story.tables["people"][["author", "commits", "additions", "deletions", "first_date", "last_date"]]

# %%
story.tables["log"][["commit_date", "author", "subject", "reason", "references", "additions", "deletions"]]

# %% [markdown]
# The commits behind a number or a row:

# %%
story.drill_down("people", author=story.tables["people"]["author"].iloc[0])[["commit_date", "subject"]]

# %% [markdown]
# ## Its directory
#
# The earlier commits of files that moved into it are included.

# %%
folder = sl.reports.directory(code, repo, path.rpartition("/")[0]) if "/" in path else story
folder.tables.get("files", folder.tables["log"]).head(8)

# %% [markdown]
# ## A function, through moves between files
#
# `git log -L` follows lines and stops when a function came from another file. The story follows its name and text.

# %%
function = sl.reports.symbol(code, repo, symbol)
for sentence in function.lead:
    print("-", sentence)

# %%
function.tables["log"][["commit_date", "author", "subject", "status", "line_number", "additions", "deletions"]]

# %% [markdown]
# ## Files of the report

# %%
target = Path(output or tempfile.mkdtemp())
target.mkdir(parents=True, exist_ok=True)
story.to_html(target / "story.html")
story.to_markdown(target / "story.md")
code.close()
sorted(str(file.relative_to(target)) for file in target.rglob("*") if file.is_file())

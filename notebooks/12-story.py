# %% [markdown]
# # The story of a file, a directory and a function
#
# Who wrote a file, when and why, and where was it before? With papermill, you can run this notebook on any repository;
# the next cell has its parameters:
#
# ```sh
# papermill 12-story.ipynb mine.ipynb -p paths ~/src/project -p path src/main.py -p symbol main
# ```

# %% tags=["parameters"]
paths = ""  # directories with repositories, separated as in PATH; empty: the sample repositories
repo = ""  # name of the repository; empty: the hub of the sample repositories, or the only one there is
path = "frame/frame.go"  # a file
symbol = "EncodeFrame"  # a definition
output = ""  # directory for the exported files; empty: a temporary directory

# %%
import os
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl

# The progress bar is off, so that each run of this notebook has the same output.
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
# ## Moves

# %%
moves = story.tables.get("moves", pd.DataFrame())
moves[["commit_date", "old_path", "path", "score", "author", "subject"]] if len(moves) else "it never moved"

# %% [markdown]
# ## People and commits
#
# `people` has one row per author, `log` one row per commit. `reason` is the first paragraph of a message after its
# subject. `references` are the issues and pull requests that the message mentions.

# %%
story.tables["people"][["author", "commits", "additions", "deletions", "first_date", "last_date"]]

# %%
story.tables["log"][["commit_date", "author", "subject", "reason", "references", "additions", "deletions"]]

# %% [markdown]
# `drill_down` lists the commits behind a number or a row:

# %%
story.drill_down("people", author=story.tables["people"]["author"].iloc[0])[["commit_date", "subject"]]

# %% [markdown]
# ## The directory of the file
#
# A file that moved into the directory brings its earlier commits:

# %%
folder = sl.reports.directory(code, repo, path.rpartition("/")[0]) if "/" in path else story
folder.tables.get("files", folder.tables["log"]).head(8)

# %% [markdown]
# ## A function, through moves between files
#
# `git log -L` follows lines, and stops where a function came from another file. This report follows the function by its
# name and text, through other files.

# %%
function = sl.reports.symbol(code, repo, symbol)
for sentence in function.lead:
    print("-", sentence)

# %%
function.tables["log"][["commit_date", "author", "subject", "status", "line_number", "additions", "deletions"]]

# %% [markdown]
# ## Export the report

# %%
target = Path(output or tempfile.mkdtemp())
target.mkdir(parents=True, exist_ok=True)
story.to_html(target / "story.html")
story.to_markdown(target / "story.md")
code.close()
sorted(str(file.relative_to(target)) for file in target.rglob("*") if file.is_file())

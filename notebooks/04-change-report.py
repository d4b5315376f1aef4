# %% [markdown]
# # Report: what a release changes
#
# The commits, people and files between two revisions. The first cell has the parameters for papermill, which runs this
# notebook on any repository:
#
# ```sh
# papermill 04-change-report.ipynb mine.ipynb -p paths ~/src/project -p base v1 -p head v2
# ```

# %% tags=["parameters"]
paths = ""  # folders with repositories, as in PATH; empty: those of the demo
repo = ""  # name of the repository; empty: the hub of the sample repositories, or the only one there is
base = "v1.0.0"  # the older branch, tag or commit
head = "v2.0.0"  # the newer one
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
report = sl.reports.changes(code, repo, base, head)
report.summary[["name", "value", "excludes"]]

# %%
for sentence in report.lead:
    print("-", sentence)

# %%
for name, text in report.parameters:
    print(f"{name}: {text}")
for notice in report.notices:
    print("*", notice)

# %% [markdown]
# ## Changelog draft

# %%
log = report.tables.get("changelog", pd.DataFrame())
log[["kind", "title", "request", "author", "commits"]].head(12) if len(log) else "no commit"

# %% [markdown]
# ## Files

# %%
files = report.tables.get("files", pd.DataFrame())
files[["path", "status", "additions", "deletions", "last_author", "last_subject"]].head(8) if len(files) else "no file"

# %%
report.figure("directories") if "directories" in report.figures else "no file"

# %% [markdown]
# ## People

# %%
people = report.tables.get("people", pd.DataFrame())
people[["author", "commits", "additions", "deletions", "new"]].head(8) if len(people) else "nobody"

# %% [markdown]
# ## Commits

# %%
log = report.tables.get("log", pd.DataFrame())
log[["commit_date", "author", "subject", "additions", "deletions"]].head(8) if len(log) else "no commit"

# %%
report.figure("activity") if "activity" in report.figures else "no commit"

# %% [markdown]
# ## Behind a number

# %%
report.drill_down("merges")[["commit_date", "author", "subject"]].head(6)

# %% [markdown]
# The commits that changed one file:

# %%
behind = report.drill_down("files", path=files["path"].iloc[0]) if len(files) else pd.DataFrame()
behind[["commit_date", "author", "subject"]].head(4) if len(behind) else "no file"

# %% [markdown]
# ## Files of the report

# %%
folder = Path(output or tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
report.to_html(folder / "changes.html")
report.to_markdown(folder / "changes.md")
report.save_tables(folder / "tables", "parquet")
code.close()
sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

# %% [markdown]
# Next: [05 Tools](05-mcp-tools.ipynb): one method for each question.

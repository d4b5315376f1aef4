# %% [markdown]
# # Report: who contributes
#
# One call makes the report, with its tables, figures and files. The first cell has the parameters for papermill, which
# runs this notebook on any repository:
#
# ```sh
# papermill 03-contributor-report.ipynb mine.ipynb -p paths ~/src/project -p since 2024-01-01
# ```

# %% tags=["parameters"]
paths = ""  # folders with repositories, as in PATH; empty: those of the demo
repos = []  # names of repositories; empty: all of them
since = ""  # commits after this date, such as 2024-01-01 or "6 months ago"; empty: from the beginning
until = ""  # commits before this date; empty: until now
by = "quarter"  # day, week, month, quarter or year
exclude = []  # folders and globs of files that don't count, such as ["vendor", "*.lock"]
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
report = sl.reports.contributors(
    code, repos or None, after=since or None, before=until or None, period=by, exclude=exclude
)
report.summary[["name", "value", "excludes"]]

# %% [markdown]
# The summary of the report, and notes on reading it:

# %%
for sentence in report.lead:
    print("-", sentence)

# %%
for notice in report.notices:
    print("*", notice)

# %% [markdown]
# ## People

# %%
report.tables["contributors"][["author", "commits", "merges", "additions", "deletions", "files", "last_date"]].head(10)

# %%
report.figure("contributors") if "contributors" in report.figures else "no commit"

# %% [markdown]
# Bots are counted separately; the report states the rule.

# %%
report.tables["bots"][["author", "commits", "additions", "deletions"]] if "bots" in report.tables else "no bots"

# %% [markdown]
# Who joined, and the organizations of the authors:

# %%
joined = report.tables.get("joined", pd.DataFrame())
joined[["author", "commits", "first_date"]].head(8) if len(joined) else "nobody joined"

# %%
organizations = report.tables.get("organizations", pd.DataFrame())
organizations[["organization", "people", "commits", "share"]].head(8) if len(organizations) else "no commit"

# %% [markdown]
# ## Time

# %%
report.figure("activity") if "activity" in report.figures else "no commit"

# %%
report.figure("clock") if "clock" in report.figures else "no commit"

# %% [markdown]
# ## Assistants, integrators, time zones, retention
#
# Commits that name a coding assistant are a lower bound: squash merges drop trailers.

# %%
agents = report.tables.get("agents", pd.DataFrame())
agents[["agent", "commits", "share", "authors"]] if len(agents) else "no commit names an assistant"

# %%
integrators = report.tables.get("integrators", pd.DataFrame())
integrators.head(8) if len(integrators) else "nobody merged"

# %%
report.tables.get("time_zones", "no commit")

# %%
# Of those who joined in a year, how many wrote commits in the years after: this needs the whole history.
whole = sl.reports.contributors(code, repos or None, ownership=False, progress=False)
whole.figure("retention") if "retention" in whole.figures else "no second year"

# %% [markdown]
# ## Directories and their owners

# %%
folders = report.tables.get("directories", pd.DataFrame())
columns = ["repository", "directory", "additions", "deletions", "commits", "authors"]
folders[columns].head(8) if len(folders) else "no folder"

# %%
owners = report.tables.get("ownership", pd.DataFrame())
owners[["repository", "author", "lines", "share", "newest_date", "exact"]].head(8) if len(owners) else "no line"

# %%
factors = report.tables.get("bus_factor", pd.DataFrame())
factors[["repository", "path", "bus_factor", "authors", "share"]].head(8) if len(factors) else "no line"

# %% [markdown]
# ## Behind a number
#
# List the commits behind a number:

# %%
report.drill_down("merges")[["commit_date", "author", "subject"]].head(4)

# %%
busiest = report.tables["contributors"]["author_email"].head(1).tolist()
behind = report.drill_down("contributors", author_email=busiest[0]) if busiest else report.drill_down("commits")
behind[["commit_date", "author", "subject", "additions", "deletions"]].head(4)

# %% [markdown]
# ## Files
#
# An HTML page that needs no network, Markdown, and tables that are safe to open in a spreadsheet. `report.to_pdf(…)`
# prints the page if Chromium is installed.

# %%
folder = Path(output or tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
report.to_html(folder / "contributors.html")
report.to_markdown(folder / "contributors.md")
report.save_tables(folder / "tables")
code.close()
sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

# %% [markdown]
# Next: [04 Change report](04-change-report.ipynb): the changes between two revisions.

# %% [markdown]
# # History: who changed what, and when
#
# Commits and changed lines are searched like files, and every answer is a DataFrame. The history of a repository is
# read when it is first asked for, and after that only what is new. Run the cells from top to bottom (Shift+Enter).

# %% tags=["parameters"]
paths = ""  # folders with repositories, as in PATH; empty: those of the demo
repo = ""  # name of a repository; empty: the hub of the sample repositories
text = "threshold"  # what to look for in lines and messages

# %%
import os

import pandas as pd

import sourcelight as sl

# Calls that take longer than half a second draw a bar; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

code = sl.open(*(paths or os.environ.get("SOURCELIGHT_DEMO_PATHS", ".")).split(os.pathsep))
names = code.list_repos()["repository"].astype("str").tolist()
repo = repo or next((name for name in reversed(names) if name.endswith("hub")), names[0])
repo

# %% [markdown]
# ## Commits
#
# Texts of one list are alternatives, different lists must all hold. Dates are the committer's, in UTC.

# %%
commits = code.commit_search(repo)
commits[["commit_date", "author", "subject", "files", "additions", "deletions"]].head(6)

# %%
fixes = code.commit_search(repo, message_terms=["fix", "repair"], files=["*.go", "*.py"], after="2021-06-01")
fixes[["commit_date", "author", "subject"]].head(6)

# %% [markdown]
# ## Changed lines
#
# Where a line with the text came, and where one went:

# %%
lines = code.diff_search(text, repo)
lines[["author_date", "author", "path", "side", "line_number", "line"]].head(6)

# %% [markdown]
# The same in the query language, streamed like any search: `type:diff` finds changed lines, `type:commit` messages.

# %%
went = code.search(f"repo:^{repo}$ type:diff select:commit.diff.removed {text} count:all")
went.matches[["commit_date", "author", "path", "side", "line"]].head(6)

# %%
said = code.search(f"repo:^{repo}$ type:commit author:a after:2021-06-01 {text} count:all")
said.matches[["commit_date", "author", "line_number", "line"]].head(6)

# %% [markdown]
# The rise and fall of a text, by quarter: lines that came, that went, and how many there were at the end of it.

# %%
code.pickaxe(text, repo, by="quarter")[["period", "added", "removed", "net", "total", "commits"]]

# %% [markdown]
# ## Compare two revisions
#
# As `git diff -M base head` does: one row per file, with its patch.

# %%
head = commits["commit"].iloc[0]
base = commits["commit"].iloc[min(12, len(commits) - 1)]
changed = code.compare_revisions(repo, base, head)
changed[["status", "path", "old_path", "additions", "deletions"]]

# %%
print(changed["patch"].iloc[0] if len(changed) else "no file differs")

# %% [markdown]
# ## Where the work is
#
# Changed lines by folder and year, the files that change most for their length, and files that change together:

# %%
churn = code.churn(repo, by=["directory", "year"])
churn[["period", "directory", "additions", "deletions", "commits", "authors"]].head(8)

# %%
hot = code.hotspots(repo)
hot[["path", "commits", "authors", "lines", "score"]].head(6)

# %%
code.coupling(repo, min_commits=2, min_degree=0.2)[["path", "other_path", "shared_commits", "degree"]].head(6)

# %% [markdown]
# Each row leads to the commits behind it:

# %%
code.drill_down(hot, 0)[["commit_date", "author", "subject"]].head(4)

# %% [markdown]
# ## Whose lines are they
#
# `blame` of one file, owners of all lines of today, and how much of each year's text is still there:

# %%
blame = code.blame(repo, hot["path"].iloc[0])
blame[["line_number", "author", "commit_date", "line"]].head(6)

# %%
code.ownership(repo, by="total")[["author", "lines", "share", "oldest_date", "exact"]].head(6)

# %%
code.survival(repo)[["year", "added", "surviving_lines", "share"]]

# %% [markdown]
# ## Joined with a search
#
# One call tells who wrote each line that a search finds, or who changed its file last.

# %%
found = code.search(f"repo:^{repo}$ {text} count:all")
found.with_blame()[["path", "line_number", "blame_author", "blame_commit_date", "blame_subject"]].head(6)

# %%
found.with_last_change()[["path", "last_author", "last_commit_date", "last_subject"]].drop_duplicates().head(6)

# %%
code.close()

# %% [markdown]
# Next: [03 Contributor report](03-contributor-report.ipynb), these numbers put together.

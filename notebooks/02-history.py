# %% [markdown]
# # History: who changed what, and when
#
# You search commits and changed lines as you search files, and every result is a DataFrame. sourcelight reads the
# history of a repository on first use, and later only its new commits. Run the cells from top to bottom (Shift+Enter).

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
# The texts of one list are alternatives; different lists must all match. Dates are committer dates in UTC.

# %%
commits = code.commit_search(repo)
commits[["commit_date", "author", "subject", "files", "additions", "deletions"]].head(6)

# %%
fixes = code.commit_search(repo, message_terms=["fix", "repair"], files=["*.go", "*.py"], after="2021-06-01")
fixes[["commit_date", "author", "subject"]].head(6)

# %% [markdown]
# ## Changed lines
#
# Commits that add a line with the text, and commits that remove one:

# %%
lines = code.diff_search(text, repo)
lines[["author_date", "author", "path", "side", "line_number", "line"]].head(6)

# %% [markdown]
# The query language does the same, as a stream: `type:diff` finds changed lines, `type:commit` finds messages.

# %%
went = code.search(f"repo:^{repo}$ type:diff select:commit.diff.removed {text} count:all")
went.matches[["commit_date", "author", "path", "side", "line"]].head(6)

# %%
said = code.search(f"repo:^{repo}$ type:commit author:a after:2021-06-01 {text} count:all")
said.matches[["commit_date", "author", "line_number", "line"]].head(6)

# %% [markdown]
# Lines with a text by quarter: added, removed, and the number at the end of the quarter.

# %%
code.pickaxe(text, repo, by="quarter")[["period", "added", "removed", "net", "total", "commits"]]

# %% [markdown]
# ## Compare two revisions
#
# Like `git diff -M base head`: one row per file, with its patch.

# %%
head = commits["commit"].iloc[0]
base = commits["commit"].iloc[min(12, len(commits) - 1)]
changed = code.compare_revisions(repo, base, head)
changed[["status", "path", "old_path", "additions", "deletions"]]

# %%
print(changed["patch"].iloc[0] if len(changed) else "no file differs")

# %% [markdown]
# ## Find where the work happens
#
# Changed lines by directory and year, the files that change most for their length, and files that change together:

# %%
churn = code.churn(repo, by=["directory", "year"])
churn[["period", "directory", "additions", "deletions", "commits", "authors"]].head(8)

# %%
hot = code.hotspots(repo)
hot[["path", "commits", "authors", "lines", "score"]].head(6)

# %%
code.coupling(repo, min_commits=2, min_degree=0.2)[["path", "other_path", "shared_commits", "degree"]].head(6)

# %% [markdown]
# List the commits behind a row:

# %%
code.drill_down(hot, 0)[["commit_date", "author", "subject"]].head(4)

# %% [markdown]
# ## Who owns the lines
#
# `blame` of one file, current line ownership, and the lines of each year that survive:

# %%
blame = code.blame(repo, hot["path"].iloc[0])
blame[["line_number", "author", "commit_date", "line"]].head(6)

# %%
code.ownership(repo, by="total")[["author", "lines", "share", "oldest_date", "exact"]].head(6)

# %%
code.survival(repo)[["year", "added", "surviving_lines", "share"]]

# %% [markdown]
# ## Add history to a search
#
# One call adds the author of each matched line, or the last change of its file.

# %%
found = code.search(f"repo:^{repo}$ {text} count:all")
found.with_blame()[["path", "line_number", "blame_author", "blame_commit_date", "blame_subject"]].head(6)

# %%
found.with_last_change()[["path", "last_author", "last_commit_date", "last_subject"]].drop_duplicates().head(6)

# %%
code.close()

# %% [markdown]
# Next: [03 Contributor report](03-contributor-report.ipynb) puts these numbers together.

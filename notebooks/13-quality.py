# %% [markdown]
# # Complex code that changes often
#
# Which functions are hard to follow, which complex files change often, and how did complexity grow? Each row has its
# file, its lines and its commit.

# %% tags=["parameters"]
paths = ""  # directories with repositories, separated as in PATH; empty: the sample repositories
repo = ""  # name of the repository; empty: the hub of the sample repositories, or the only one there is
revisions = "v1.0.0 v2.0.0"  # branches, tags or commits to compare

# %%
import os

import pandas as pd

import sourcelight as sl

# The progress bar is off, so that each run of this notebook has the same output.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

code = sl.open(*(paths or os.environ.get("SOURCELIGHT_DEMO_PATHS", ".")).split(os.pathsep))
names = code.list_repos()["repository"].astype("str").tolist()
repo = repo or next((name for name in reversed(names) if name.endswith("hub")), names[0])
functions = code.complexity(repo)
functions[["path", "symbol", "line_number", "cyclomatic", "cognitive", "nesting", "lines"]].head(6)

# %% [markdown]
# The code of the first function:

# %%
worst = functions.iloc[0]
source = code.read_file(repo, worst["path"])["line"].tolist()
print("\n".join(source[worst["line_number"] - 1 : worst["end_line"]]))

# %% [markdown]
# ## Hotspots: complexity times changes

# %%
files = code.complexity(repo, by="file")
files[["path", "hotspot", "cognitive", "commits", "functions", "code_lines", "comment_lines"]].head(6)

# %% [markdown]
# The commits of the first file:

# %%
code.path_history(repo, files["path"].iloc[0])[["commit_date", "author", "subject"]].head(4)

# %% [markdown]
# ## Comments, tests and age
#
# `test` marks tests, examples and benchmarks, by their paths. `dates=True` adds the dates of the oldest and the newest
# line of each row.

# %%
files.groupby("test")[["code_lines", "comment_lines", "functions"]].sum()

# %%
dated = code.complexity(repo, dates=True, limit=5)
dated[["symbol", "cognitive", "oldest_date", "newest_date"]]

# %% [markdown]
# ## Trends
#
# Totals exclude tests, which have their own columns. `comment_ratio` is `comment_lines` divided by `code_lines`, and
# `test_ratio` is `test_code_lines` divided by `code_lines`.

# %%
trend = code.complexity_trend(repo, revisions=revisions.split())
trend[["revision", "files", "code_lines", "cyclomatic", "cognitive", "comment_ratio", "test_code_lines", "test_ratio"]]

# %% [markdown]
# `points=6` measures six commits of the history. These functions grew most in cognitive complexity from the first
# commit to the last:

# %%
each = code.complexity_trend(repo, by="function", points=6)
ends = each[each["commit"].isin([each["commit"].iloc[0], each["commit"].iloc[-1]])]
grown = ends.pivot_table(index=["path", "symbol"], columns="commit_date", values="cognitive", observed=True).dropna()
code.close()
(grown.iloc[:, -1] - grown.iloc[:, 0]).sort_values(ascending=False).head(5).rename("grown by").to_frame()

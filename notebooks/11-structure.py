# %% [markdown]
# # Find code by its structure
#
# A code pattern matches code only, not comments or strings, and ignores white space. `$NAME` matches one syntax node,
# `$$$` any number of nodes. It needs the extra `structural` (`pip install 'sourcelight[structural]'`).

# %% tags=["parameters"]
paths = ""  # folders with repositories, as in PATH; empty: those of the demo

# %%
import os

import pandas as pd

import sourcelight as sl

# A bar shows how far it is; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

code = sl.open(*(paths or os.environ.get("SOURCELIGHT_DEMO_PATHS", ".")).split(os.pathsep))
len(code.list_repos())

# %% [markdown]
# ## A statement with any body
#
# A match of several lines has one row per line; `match_count` counts it in the first row.

# %%
handled = code.search("patternType:ast-grep lang:go if err != nil { $$$ } count:all")
print(handled.match_count, "matches,", handled.status)
first = handled.matches.loc[handled.matches["match_count"] > 0, ["path", "line_number", "line"]]
first.astype({"path": str}).sort_values(["path", "line_number"]).head(6).reset_index(drop=True)

# %% [markdown]
# ## One pattern, not the other
#
# Operators apply to files, as for text: this finds functions that drop an error, in files that log none.

# %%
quiet = code.search("patternType:ast-grep lang:go if err != nil { $$$ } AND NOT log.Fatalf($$$) count:all")
sorted(quiet.matches["path"].unique())

# %% [markdown]
# ## Any language
#
# Without `lang:`, each file is parsed in its own language. A notice lists languages in which it is invalid.

# %%
returned = code.search("patternType:ast-grep return $X count:all")
returned.matches.astype({"language": str}).groupby("language")["match_count"].sum()

# %%
[title for title in returned.skipped["title"] if "pattern" in title]

# %% [markdown]
# ## When code was added and removed
#
# Each changed file is compared before and after its commit. Moving or indenting code is no change.

# %%
history = code.search("patternType:ast-grep type:diff lang:python raise $E count:all")
lines = history.matches[["author_date", "path", "side", "line_number", "line"]].astype({"path": str, "side": str})
lines.sort_values(["author_date", "path", "side", "line_number"]).head(6).reset_index(drop=True)

# %%
code.close()

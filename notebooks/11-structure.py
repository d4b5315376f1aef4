# %% [markdown]
# # Find code by its structure
#
# A pattern of code finds code: no comments, no strings, any spelling of white space. `$NAME` stands for any one part,
# `$$$` for any number of them. It needs the extra `structural` (`pip install 'sourcelight[structural]'`).

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
# A match of several lines has a row for each of them; `match_count` counts it in its first.

# %%
handled = code.search("patternType:ast-grep lang:go if err != nil { $$$ } count:all")
print(handled.match_count, "matches,", handled.status)
first = handled.matches.loc[handled.matches["match_count"] > 0, ["path", "line_number", "line"]]
first.astype({"path": str}).sort_values(["path", "line_number"]).head(6).reset_index(drop=True)

# %% [markdown]
# ## One pattern, not the other
#
# Operators hold for files, as for text: here functions that return nothing of an error, in files that log none.

# %%
quiet = code.search("patternType:ast-grep lang:go if err != nil { $$$ } AND NOT log.Fatalf($$$) count:all")
sorted(quiet.matches["path"].unique())

# %% [markdown]
# ## Any language
#
# Without `lang:` each file is read in its own language. What the pattern is none in is told.

# %%
returned = code.search("patternType:ast-grep return $X count:all")
returned.matches.astype({"language": str}).groupby("language")["match_count"].sum()

# %%
[title for title in returned.skipped["title"] if "pattern" in title]

# %% [markdown]
# ## When it came, and when it went
#
# Each changed file is compared as it was and as it became; what only moves or is indented is no change.

# %%
history = code.search("patternType:ast-grep type:diff lang:python raise $E count:all")
lines = history.matches[["author_date", "path", "side", "line_number", "line"]].astype({"path": str, "side": str})
lines.sort_values(["author_date", "path", "side", "line_number"]).head(6).reset_index(drop=True)

# %%
code.close()

# %% [markdown]
# # Find code by its structure
#
# A structural pattern is code with placeholders: `$NAME` matches one syntax node, `$$$` any number of nodes. A pattern
# ignores white space and doesn't match text in comments or strings. Structural search needs an extra:
# `pip install 'sourcelight[structural]'`.

# %% tags=["parameters"]
paths = ""  # directories with repositories, separated as in PATH; empty: the sample repositories

# %%
import os

import pandas as pd

import sourcelight as sl

# The progress bar is off, so that each run of this notebook has the same output.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

code = sl.open(*(paths or os.environ.get("SOURCELIGHT_DEMO_PATHS", ".")).split(os.pathsep))
len(code.list_repos())

# %% [markdown]
# ## A statement with any body
#
# A match that spans several lines has one row per line. `match_count` counts it in the first row only.

# %%
handled = code.search("patternType:ast-grep lang:go if err != nil { $$$ } count:all")
print(handled.match_count, "matches,", handled.status)
first = handled.matches.loc[handled.matches["match_count"] > 0, ["path", "line_number", "line"]]
first.astype({"path": str}).sort_values(["path", "line_number"]).head(6).reset_index(drop=True)

# %% [markdown]
# ## Combine patterns
#
# `AND`, `OR` and `NOT` apply to files, as in a text search. This query finds error checks in files that never call
# `log.Fatalf`:

# %%
quiet = code.search("patternType:ast-grep lang:go if err != nil { $$$ } AND NOT log.Fatalf($$$) count:all")
sorted(quiet.matches["path"].unique())

# %% [markdown]
# ## Any language
#
# Without `lang:`, each file is parsed in its own language. A notice counts the languages in which the pattern isn't
# valid code.

# %%
returned = code.search("patternType:ast-grep return $X count:all")
returned.matches.astype({"language": str}).groupby("language")["match_count"].sum()

# %%
[title for title in returned.skipped["title"] if "pattern" in title]

# %% [markdown]
# ## When code was added and removed
#
# `type:diff` compares each changed file before and after its commit. Code that was only moved within the file or
# indented doesn't match.

# %%
history = code.search("patternType:ast-grep type:diff lang:python raise $E count:all")
lines = history.matches[["author_date", "path", "side", "line_number", "line"]].astype({"path": str, "side": str})
lines.sort_values(["author_date", "path", "side", "line_number"]).head(6).reset_index(drop=True)

# %%
code.close()

# %% [markdown]
# # Audit: many patterns over many repositories
#
# Where do we call this, in which spelling, and what is left of it? An audit needs every match and has to say when one
# is missing. Run the cells from top to bottom (Shift+Enter). The first one holds what you would change.

# %% tags=["parameters"]
paths = ""  # folders with repositories, as in PATH; empty: those of the demo
output = ""  # folder for the files; empty: a temporary one
patterns = {
    "decodes frames": r"/\b(decode_frame|DecodeFrame|decodeFrame)\(/",
    "encodes frames": r"/\b(encode_frame|EncodeFrame|encodeFrame)\(/",
    "opens sockets": r"/\b(socket|connect|net\.(Listen|Dial\w*)|urlopen)\(/",
    "waits": r"/\b(sleep|usleep|time\.Sleep|setTimeout)\(/",
    "reads the environment": r"/\b(getenv|os\.Getenv|os\.environ|process\.env)\b/",
    "swallows an error": r"/(except Exception|except:|catch \{|_ = \w+\.\w+\()/",
    "prints": r"/\b(print|printf|fmt\.Print\w*|console\.log)\(/",
    "says what is missing": r"/\b(TODO|FIXME|XXX)\b/",
}

# %%
import os
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl

# A bar shows how far it is; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 70)

code = sl.open(*(paths or os.environ.get("SOURCELIGHT_DEMO_PATHS", ".")).split(os.pathsep))
len(code.list_repos())

# %% [markdown]
# ## Before: does a pattern mean what you think?
#
# `explain` searches nothing. It tells which repositories will be looked at, which are left out, and what looks like a
# mistake.

# %%
print(str(code.explain(next(iter(patterns.values())))).partition("  regexp")[0])  # the rest: how the index helps

# %% [markdown]
# ## Everything, once
#
# All patterns in one call. `exhaustive=True` knows no cap; at a service that has one, it asks again in parts.

# %%
audit = code.search_many(patterns, exhaustive=True)
audit.searches[["name", "matches", "rows", "status"]]

# %% [markdown]
# Only a status of `complete` may be trusted, and even then some files were not searched: too large, or not text. Each
# result lists them, with the filter that brings a repository back; `audit.skipped` has those of all.

# %%
if not (audit.searches["status"] == "complete").all():
    raise SystemExit(str(audit.searches))
name = next(iter(patterns))
audit[name].skipped[["reason", "title", "suggested_query"]]

# %% [markdown]
# ## Look before you count
#
# One pattern has many more matches than rows: lines with a thousand matches are hardly written by hand.

# %%
audit.matches.groupby(["repository", "path"], observed=True)["match_count"].sum().nlargest(3).to_frame("matches")

# %% [markdown]
# A file that a build made says nothing about who calls what. Leave such files out, and say so in the query:

# %%
patterns = {key: rf"{text} -file:(^|/)dist/ -file:\.min\.js$" for key, text in patterns.items()}
audit = code.search_many(patterns, exhaustive=True)
audit.searches[["name", "matches", "rows", "status"]]

# %% [markdown]
# ## The answer
#
# Pattern by repository. What was found nowhere is a row of zeros, which is an answer too.

# %%
table = audit.matches.pivot_table(
    index="name", columns="repository", values="match_count", aggfunc="sum", fill_value=0, observed=True
)
table = table.reindex(list(patterns), fill_value=0).rename_axis(None)
table.columns = [each.rpartition("/")[2] for each in table.columns]
table

# %% [markdown]
# The rows of one pattern alone:

# %%
audit[name].matches[["repository", "path", "line_number", "line"]].head(8)

# %% [markdown]
# Which of the spellings is it? A span is one match, cut out of its line.

# %%
spans = audit[name].spans()
spans.groupby(["language", "match"], observed=True).size().to_frame("matches")

# %% [markdown]
# ## Who, and since when
#
# One call asks who wrote all these lines.

# %%
blamed = audit[name].with_blame()
blamed[["path", "line_number", "blame_author", "blame_commit_date"]].head(6)

# %% [markdown]
# ## Better or worse than before?
#
# The same patterns at an earlier revision of one repository. The query names it; nothing is checked out.

# %%
repositories = code.list_repos()["repository"].astype("str").tolist()
hub = next((each for each in reversed(repositories) if each.endswith("hub")), repositories[0])
tag = "v1.0.0" if hub.endswith("tidewatch/hub") else "HEAD~10"
here = f"repo:^{hub}$"
then = code.search_many({key: f"{here}@{tag} {text}" for key, text in patterns.items()}, exhaustive=True).searches
now = code.search_many({key: f"{here} {text}" for key, text in patterns.items()}, exhaustive=True).searches
pd.DataFrame({tag: then.set_index("name")["matches"], "now": now.set_index("name")["matches"]})

# %% [markdown]
# When did a line come, and when did it go?

# %%
lines = code.diff_search("sleep", repositories[-1])
lines[["author_date", "author", "path", "side", "line"]].head(6)

# %% [markdown]
# ## Hand it over
#
# All rows as files: CSV in which no cell runs as a formula, Parquet with the types, and the table by repository.

# %%
folder = Path(output or tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
audit.to_csv(folder / "audit.csv")
audit.to_parquet(folder / "audit.parquet")
table.to_csv(folder / "by-repository.csv")
sorted(path.name for path in folder.iterdir())

# %% [markdown]
# Nothing got lost on the way:

# %%
back = pd.read_parquet(folder / "audit.parquet")
bool(len(back) == len(audit.matches) == audit.searches["rows"].sum())

# %% [markdown]
# What is too large for memory is written while it is found:

# %%
export = code.export("/./ lang:go", folder / "go.parquet", exhaustive=True)
export.status, pd.read_parquet(folder / "go.parquet", columns=["path"])["path"].nunique()

# %%
code.close()

# %% [markdown]
# Next: [09 Remote service](09-remote-service.ipynb), the same against a service.

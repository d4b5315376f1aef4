# %% [markdown]
# # Audit: many patterns over many repositories
#
# Where is this called, in which spelling, and how many calls are left? An audit needs every match and must say when one
# is missing. Run the cells from top to bottom (Shift+Enter). The first cell has the settings to change.

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
# ## Check the patterns first
#
# `explain` doesn't search. It shows which repositories a query covers, which it leaves out, and likely mistakes.

# %%
print(str(code.explain(next(iter(patterns.values())))).partition("  regexp")[0])  # the rest: how the index helps

# %% [markdown]
# ## Find every match
#
# One call searches all patterns. `exhaustive=True` has no cap; if a service has one, the client splits the query.

# %%
audit = code.search_many(patterns, exhaustive=True)
audit.searches[["name", "matches", "rows", "status"]]

# %% [markdown]
# Trust only the status `complete`. Even then, some files are skipped because they are too large or binary. Each result
# lists them, with the filter that includes a repository; `audit.skipped` covers all patterns.

# %%
if not (audit.searches["status"] == "complete").all():
    raise SystemExit(str(audit.searches))
name = next(iter(patterns))
audit[name].skipped[["reason", "title", "suggested_query"]]

# %% [markdown]
# ## Look before you count
#
# One pattern has many more matches than rows. Nobody writes lines with a thousand matches by hand.

# %%
audit.matches.groupby(["repository", "path"], observed=True)["match_count"].sum().nlargest(3).to_frame("matches")

# %% [markdown]
# Generated files don't show who calls a function. Exclude them in the query:

# %%
patterns = {key: rf"{text} -file:(^|/)dist/ -file:\.min\.js$" for key, text in patterns.items()}
audit = code.search_many(patterns, exhaustive=True)
audit.searches[["name", "matches", "rows", "status"]]

# %% [markdown]
# ## The answer
#
# Matches by pattern and repository. A pattern without a match is a row of zeros.

# %%
table = audit.matches.pivot_table(
    index="name", columns="repository", values="match_count", aggfunc="sum", fill_value=0, observed=True
)
table = table.reindex(list(patterns), fill_value=0).rename_axis(None)
table.columns = [each.rpartition("/")[2] for each in table.columns]
table

# %% [markdown]
# The rows of one pattern:

# %%
audit[name].matches[["repository", "path", "line_number", "line"]].head(8)

# %% [markdown]
# Which spelling is it? A span is the text of one match.

# %%
spans = audit[name].spans()
spans.groupby(["language", "match"], observed=True).size().to_frame("matches")

# %% [markdown]
# ## Who, and since when
#
# One call adds the author of each line.

# %%
blamed = audit[name].with_blame()
blamed[["path", "line_number", "blame_author", "blame_commit_date"]].head(6)

# %% [markdown]
# ## Compare with an earlier revision
#
# The same patterns at an earlier revision of one repository. The query names the revision; nothing is checked out.

# %%
repositories = code.list_repos()["repository"].astype("str").tolist()
hub = next((each for each in reversed(repositories) if each.endswith("hub")), repositories[0])
tag = "v1.0.0" if hub.endswith("tidewatch/hub") else "HEAD~10"
here = f"repo:^{hub}$"
then = code.search_many({key: f"{here}@{tag} {text}" for key, text in patterns.items()}, exhaustive=True).searches
now = code.search_many({key: f"{here} {text}" for key, text in patterns.items()}, exhaustive=True).searches
pd.DataFrame({tag: then.set_index("name")["matches"], "now": now.set_index("name")["matches"]})

# %% [markdown]
# When was a line added, and when was it removed?

# %%
lines = code.diff_search("sleep", repositories[-1])
lines[["author_date", "author", "path", "side", "line"]].head(6)

# %% [markdown]
# ## Export
#
# All rows as files: CSV that is safe to open in a spreadsheet, Parquet with types, and the table by repository.

# %%
folder = Path(output or tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
audit.to_csv(folder / "audit.csv")
audit.to_parquet(folder / "audit.parquet")
table.to_csv(folder / "by-repository.csv")
sorted(path.name for path in folder.iterdir())

# %% [markdown]
# The files have all rows:

# %%
back = pd.read_parquet(folder / "audit.parquet")
bool(len(back) == len(audit.matches) == audit.searches["rows"].sum())

# %% [markdown]
# Write a result that is too large for memory while it streams:

# %%
export = code.export("/./ lang:go", folder / "go.parquet", exhaustive=True)
export.status, pd.read_parquet(folder / "go.parquet", columns=["path"])["path"].nunique()

# %%
code.close()

# %% [markdown]
# Next: [09 Remote service](09-remote-service.ipynb): search a service.

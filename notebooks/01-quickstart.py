# %% [markdown]
# # Quickstart: search git repositories from a notebook
#
# Everything here runs in this kernel: no server, no account, no network. Run the cells from top to bottom
# (Shift+Enter). The first cell opens the sample repositories, or the repositories of `sourcelight lab PATH…`.

# %% tags=["nbval-ignore-output", "keep-output"]
import os

import sourcelight as sl

paths = os.environ.get("SOURCELIGHT_DEMO_PATHS", ".").split(os.pathsep)
code = sl.open(*paths)
repositories = code.list_repos()
repositories[["repository", "description", "stars", "fork", "archived"]]

# %% [markdown]
# ## Search
#
# A search streams: the bar below the cell is live, and the result arrives as a table with one row per matched line.
# `count:all` returns every match. Without it, a search stops after a million matches and says so.

# %%
result = code.search("error count:all")
result

# %% [markdown]
# `result.matches` is a plain pandas DataFrame. Lines count from 1, and `line[start:end]` is the match.

# %%
result.matches[["repository", "path", "line_number", "line"]].head(8)

# %% [markdown]
# Skipped repositories and files are a table, too, with the filter that includes them.

# %%
result.skipped[["reason", "title", "suggested_query"]]

# %% [markdown]
# ## Group
#
# By repository and language, as with any DataFrame:

# %%
by = (
    result.matches.groupby(["repository", "language"], observed=True)["match_count"]
    .sum()
    .sort_values(ascending=False, kind="stable")
)
by.head(10).to_frame("matches")

# %% [markdown]
# If you only need counts, the engine counts matches without reading lines:

# %%
code.count_by("error", ["repository", "language"]).head(10)

# %% [markdown]
# ## Plot

# %%
# %matplotlib inline
totals = by.groupby("repository", observed=True).sum().sort_values(kind="stable")
axes = totals.plot.barh(title="Matches of error by repository", xlabel="matches", ylabel="", figsize=(7, 3))

# %% [markdown]
# ## See matches in context
#
# `context_lines=3` adds the lines around each match. Filters narrow a search: `repo:`, `file:`, `lang:`; a `-` before
# a filter excludes.

# %%
code.search("TODO -file:test count:5", context_lines=3)

# %% [markdown]
# Regular expressions use RE2 syntax. `AND`, `OR` and `NOT` apply to files: this query finds files that mention a
# timeout but no retry.

# %%
code.search("/time_?out/ AND NOT retry count:all").matches[["repository", "path", "line_number", "line"]].head(5)

# %% [markdown]
# ## Stop early and keep the rows
#
# Interrupt a running search (the ■ button, or press `I` twice): the cell stops at once, and `code.last` keeps the rows
# that have arrived. To show this at any speed, the next cell starts a service that sends three matches and then stops
# sending, and interrupts the search after a second. It also shows that you search a service like a directory.

# %%
import _thread
import threading

from sourcelight.testing import SILENCE, ScriptedReply, ScriptedService

event = b"""event: matches
data: [{"type":"content","repository":"slow/service","path":"a.py","lineMatches":[\
{"line":"first","lineNumber":0,"offsetAndLengths":[[0,5]]},\
{"line":"second","lineNumber":1,"offsetAndLengths":[[0,6]]},\
{"line":"third","lineNumber":2,"offsetAndLengths":[[0,5]]}]}]

""".replace(b"\\\n", b"")

with ScriptedService(ScriptedReply([event, SILENCE])) as service:
    slow = sl.connect(service.url, token="none")
    threading.Timer(1.0, _thread.interrupt_main).start()
    try:
        slow.search("anything")
    except KeyboardInterrupt:
        print("interrupted")

print(slow.last.status)
slow.last.matches[["repository", "path", "line_number", "line"]]

# %% [markdown]
# ## Stream events
#
# To draw your own display, or to stop at the first match, iterate over the stream. The search stops when you leave
# the loop.

# %%
for event in code.stream("error count:all"):
    if hasattr(event, "batch"):
        print("first batch has rows:", event.batch.num_rows > 0)
        break

# %% [markdown]
# ## Search a service
#
# `sourcelight serve PATH…` speaks the streaming search protocol over HTTP, and so do compatible services. Everything
# above works with a service too; only the first line changes:
#
# ```python
# code = sl.connect("http://127.0.0.1:7080", token="…")
# ```
#
# Next: [02 History](02-history.ipynb): who changed what, and when.

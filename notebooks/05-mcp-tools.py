# %% [markdown]
# # Tools: read, find and trace code as tables
#
# Each MCP tool of a service is a method with the same name. It returns a DataFrame, from repositories on this machine
# or from a service. A result is complete unless you pass a limit. Run the cells from top to bottom (Shift+Enter).

# %%
import os

import pandas as pd

import sourcelight as sl

# Calls that take longer than half a second draw a bar; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

paths = os.environ.get("SOURCELIGHT_DEMO_PATHS", ".").split(os.pathsep)
code = sl.open(*paths)

# %% [markdown]
# ## Repositories, directories, files

# %%
repositories = code.list_repos()
repositories[["repository", "description"]]

# %%
hub = repositories["repository"][repositories["repository"].str.endswith("hub")].iloc[-1]
code.list_files(hub)[["path", "kind"]].head(8)

# %% [markdown]
# Parameters are in snake_case. `attrs` has the arguments and the commits that they resolved to.

# %%
readme = code.read_file(hub, "README.md", start_line=1, end_line=8)
print("\n".join(readme["line"]))
readme.attrs["total_lines"], readme.attrs["status"]

# %% [markdown]
# ## Find text
#
# `keyword_search` finds exact words; `nls_search` takes a description in your own words.

# %%
found = code.keyword_search("retry delay")
found.groupby("repository", observed=True)["match_count"].sum().to_frame("matches")

# %%
passages = code.nls_search("how long to wait before a failed request is sent again")
passages[["repository", "path", "start_line", "end_line"]].head(5)

# %% [markdown]
# ## Definitions and references

# %%
pytide = next(name for name in repositories["repository"] if name.endswith("pytide"))
definition = code.go_to_definition(pytide, "src/pytide/cli.py", "Hub")
definition[["path", "line_number", "line", "kind", "how"]].head(3)

# %%
references = code.find_references(pytide, "src/pytide/client.py", "Hub")
references[["path", "line_number", "line", "role"]].head(8)

# %% [markdown]
# ## History
#
# The texts of one list are alternatives, different lists must all match, and dates can be words.

# %%
fixes = code.commit_search([hub], message_terms=["fix", "repair"], after="2022-01-01")
fixes[["commit_date", "author", "subject"]].head(6)

# %%
lines = code.diff_search("threshold", [hub], removed=True)
lines[["author_date", "author", "path", "line"]].head(5)

# %%
changes = code.compare_revisions(hub, "HEAD~10", "HEAD")
changes[["status", "path", "additions", "deletions"]]

# %%
code.get_contributor_repos("Aiko")[["repository", "commits", "first_date", "last_date"]]

# %% [markdown]
# Analyses go beyond these tools, such as commits and changed lines by author:

# %%
code.contributors([hub])[["author", "commits", "additions", "deletions", "bot"]].head(6)

# %% [markdown]
# ## Ask a service
#
# `sourcelight serve` offers these tools to MCP clients, and this client calls them. Here it serves the same
# repositories, started from this notebook.

# %%
import re
import subprocess
import sys

owner = "slo_made-up-for-this-notebook"
command = "import sys; from sourcelight.cli import main; sys.exit(main())"
server = subprocess.Popen(
    [sys.executable, "-c", command, "serve", *paths, "--port", "0"],
    env={**os.environ, "SOURCELIGHT_OWNER_TOKEN": owner},
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
)
address = next(found[0] for line in server.stdout if (found := re.search(r"https?://\S+", line)))
remote = sl.connect(address, owner)

# %%
from pandas.testing import assert_frame_equal

calls = {
    "list_repos": lambda client: client.list_repos(),
    "list_files": lambda client: client.list_files(hub),
    "read_file": lambda client: client.read_file(hub, "README.md"),
    "keyword_search": lambda client: client.keyword_search("retry delay"),
    "go_to_definition": lambda client: client.go_to_definition(pytide, "src/pytide/cli.py", "Hub"),
    "find_references": lambda client: client.find_references(pytide, "src/pytide/client.py", "Hub"),
    "commit_search": lambda client: client.commit_search([hub]),
    "diff_search": lambda client: client.diff_search("threshold", [hub]),
    "compare_revisions": lambda client: client.compare_revisions(hub, "HEAD~10", "HEAD"),
    "get_contributor_repos": lambda client: client.get_contributor_repos("Aiko"),
}
rows = {}
for name, call in calls.items():
    here, there = call(code), call(remote)
    assert_frame_equal(here, there, check_categorical=False)
    rows[name] = len(there)
pd.Series(rows, name="equal rows").to_frame()

# %% [markdown]
# A result is as complete as a local one. If a limit leaves something out, `status` and `skipped` say so.

# %%
passages = remote.nls_search("how long to wait before a failed request is sent again", limit=None)
first = remote.search("retry count:5")
print(passages.attrs["status"], len(passages), "passages;", first.status, first.skipped["reason"].tolist())

# %% [markdown]
# Analyses work with a sourcelight service too, and return the same rows. A call that a service can't answer raises an
# error with the reason.

# %%
assert_frame_equal(code.blame(hub, "README.md"), remote.blame(hub, "README.md"), check_categorical=False)
for attempt in (
    lambda: remote.read_file(hub, "absent.txt"),
    lambda: remote.blame(hub, "README.md", revision="absent"),
    lambda: remote.ownership(hub, by="moon"),
):
    try:
        attempt()
    except sl.SourcelightError as error:
        print(f"{type(error).__name__}: {str(error)[:110]}")

# %%
remote.close()
server.terminate()
server.wait(10)
server.stdout.close()

# %% [markdown]
# ## Signing in
#
# Instead of passing a token, you can sign in with the browser. Tokens are stored in a file that only you can read, and
# are renewed while you use them.
#
# ```python
# remote = sl.connect("https://host", sign_in=True)
# sl.sign_out("https://host")
# ```
#
# Next: [06 Navigation](06-navigation.ipynb): from a name to its references.

# %% [markdown]
# # Search a service
#
# If repositories are too many or too private for your machine, connect to a service that has them. This notebook starts
# a service for the sample repositories and stops it at the end; skip these cells if you have a service. Run the cells
# from top to bottom (Shift+Enter).

# %% [markdown]
# ## Start a service
#
# One command serves directories. Here it has its own home directory, so it doesn't change your files, and one private
# repository. Once a repository is private, `defaultVisibility` is the visibility of the others; without it they are
# private too.

# %%
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl

# Calls that take longer than half a second draw a bar; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)

home = tempfile.TemporaryDirectory()
served = Path(home.name, "served")
served.mkdir()
for folder in os.environ.get("SOURCELIGHT_DEMO_PATHS", ".").split(os.pathsep):
    for repository in sorted(Path(folder).resolve().iterdir()):
        if repository.name in {"hub", "gauge", "pytide"}:
            shutil.copytree(repository, served / repository.name, symlinks=True)
private = "example.org/tidewatch/pytide"
settings = f'defaultVisibility = "public"\n\n[repositories."{private}"]\nprivate = true\n'
Path(served, "repos.toml").write_text(settings, encoding="utf-8")

command = [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())"]
theirs = {**os.environ, "SOURCELIGHT_HOME": home.name, "SOURCELIGHT_OWNER_TOKEN": "slo_made-up-for-this-notebook"}
server = subprocess.Popen(
    [*command, "serve", str(served), "--port", "0"],
    env=theirs,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
)
atexit.register(server.kill)  # also when the rest of this notebook is not run
first = server.stdout.readline()
address = first.split()[-1]
print(first.replace(address, "http://127.0.0.1:PORT"))

# %% [markdown]
# ## An account for you
#
# An administrator creates accounts and tokens while the service runs.

# %%
subprocess.run([*command, "admin", "user", "create", "ann"], env=theirs, check=True, capture_output=True)
made = subprocess.run(
    [*command, "admin", "token", "create", "ann", "--expires", "1h"],
    env=theirs,
    check=True,
    capture_output=True,
    text=True,
)
token = made.stdout.strip()

# %% [markdown]
# ## Connect
#
# Put the address and the token into the environment of JupyterLab, not into a notebook that you share. Here, this cell
# sets that environment.

# %%
os.environ["SRC_ENDPOINT"] = address
os.environ["SRC_ACCESS_TOKEN"] = token

# %%
code = sl.connect()
result = code.search("threshold count:all")
result.status, len(result.matches)

# %%
result.matches[["repository", "path", "line_number", "line"]].head(5)

# %% [markdown]
# No repr, DataFrame or message shows the token:

# %%
shown = repr(code) + repr(result.matches.attrs) + str(vars(result))
print("shown" if token in shown else "not shown")

# %% [markdown]
# ## What you may see
#
# For Ann, the private repository doesn't exist: searches, counts and errors are the same as for an unknown name.

# %%
sorted(code.list_repos()["repository"])

# %%
for name in (private, "example.org/tidewatch/nowhere"):
    try:
        code.list_files(name)
    except sl.SourcelightError as error:
        print(f"{type(error).__name__}: {error}")

# %% [markdown]
# A grant takes effect at once:

# %%
grant = [*command, "admin", "repo", "grant", private, "--user", "ann"]
subprocess.run(grant, env=theirs, check=True, capture_output=True)
sorted(code.list_repos()["repository"])

# %% [markdown]
# ## Find every match despite caps
#
# Without `count:all`, a search stops at a number of matches and says so. `exhaustive=True` splits it until it has
# every match.

# %%
capped = code.search("e count:50")
capped.status, capped.skipped[["reason", "suggested_query"]].to_dict("records")

# %%
whole = code.search("error", exhaustive=True)
whole.status, len(whole.matches)

# %% [markdown]
# ## Tools, history, questions
#
# The tools of the service are methods and return the same columns as on your machine.

# %%
code.commit_search("example.org/tidewatch/hub", authors=["Aiko"])[["commit_date", "author", "subject"]].head(4)

# %%
uses = code.find_references("example.org/tidewatch/gauge", "src/wire.c", "decode_frame")
uses[["path", "line_number", "role"]].head(4)

# %%
answer = code.deepsearch("How long does a failed request wait before it is retried?")
answer.status, set(answer.citations["status"])

# %% [markdown]
# The service has a page for every file and commit, for users who have signed in. Links in results open these pages.

# %%
place = uses.iloc[1]
print(f"/{place['repository']}@{place['commit'][:12]}/-/blob/{place['path']}?L{place['line_number']}")

# %% [markdown]
# ## Errors
#
# Each error has its own type and a one-sentence message.

# %%
attempts = {
    "a wrong token": lambda: sl.connect(address, token="slp_no-such-token").search("x"),
    "an analysis that needs a clone": lambda: code.blame("example.org/tidewatch/hub", "README.md"),
    "a query that can't be read": lambda: code.search("/(/"),
    "nobody there": lambda: sl.connect("http://127.0.0.1:9", token="none").search("x"),
}
for title, attempt in attempts.items():
    try:
        attempt()
    except sl.SourcelightError as error:
        print(f"{title}: {type(error).__name__}: {str(error).splitlines()[0].replace(address, 'the service')[:90]}")

# %% [markdown]
# ## Stop
#
# Ctrl-C or SIGTERM stops a service cleanly.

# %%
code.close()
server.terminate()
server.wait(30)
server.stdout.close()
home.cleanup()
for name in ("SRC_ENDPOINT", "SRC_ACCESS_TOKEN"):
    os.environ.pop(name)

# %% [markdown]
# The guides in the documentation cover one task each. *Run the service for a team* shows how to set up a real service.

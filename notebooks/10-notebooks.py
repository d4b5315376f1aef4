# %% [markdown]
# # An audit of a thousand notebooks
#
# Which notebooks read a local file, call a removed function, or have a key in an output? `cell:` searches the cells as
# readers see them, not their JSON. This notebook writes 1,000 small notebooks and searches them. With papermill, you
# can run it on other repositories; the next cell has its parameter:
#
# ```sh
# papermill 10-notebooks.ipynb mine.ipynb -p paths ~/src/analyses
# ```

# %% tags=["parameters"]
paths = ""  # directories, separated as in PATH; empty: 1,000 notebooks that the next cell writes

# %%
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl

# The progress bar is off, so that each run of this notebook has the same output.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 60)


def cell(kind: str, source: str, *outputs: dict) -> dict:
    """A cell of nbformat 4."""
    own = {"execution_count": None, "outputs": list(outputs)} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), **own}


def printed(text: str) -> dict:
    """An output of `print`."""
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def write_notebook(path: Path, number: int) -> None:
    """Write a small notebook. Every fourth is in R, and some have a problem that the audit finds."""
    language = "R" if number % 4 == 3 else "python"
    read = f'frame = pd.read_csv("/home/ann/run{number}.csv")' if number % 10 == 0 else "frame = pd.read_csv(SOURCE)"
    add = "frame = frame.append(row)" if number % 25 == 0 else "frame = pd.concat([frame, row])"
    shown = printed("key AKIAIOSFODNN7EXAMPLE\n" if number % 200 == 0 else f"{number} rows\n")
    code = [cell("code", "library(readr)\nframe <- read_csv(source)\n", shown)]
    if language == "python":
        code = [cell("code", f"import pandas as pd\n{read}\n", shown), cell("code", f"{add}\nframe.head()")]
    cells = [cell("markdown", f"# Run {number}\n\nThe file is read with `read_csv`."), *code]
    metadata = {"language_info": {"name": language}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    path.write_text(json.dumps(notebook, indent=1, sort_keys=True), encoding="utf-8")


folders = paths.split(os.pathsep)
if not paths:
    folders = [Path(tempfile.mkdtemp()) / "analyses"]
    folders[0].mkdir()
    for number in range(1000):
        write_notebook(folders[0] / f"run{number:03}.ipynb", number)
code = sl.open(*folders)

# %% [markdown]
# ## Count notebooks
#
# A query without text matches each notebook that has such a cell. `language` is the language of the kernel, and `lang:`
# filters by it.

# %%
code.count_by("cell:code", "language")

# %% [markdown]
# ## In cells, not in JSON
#
# Without `cell:`, a search matches lines of the JSON file, in code and in text; `cell_kind` tells them apart.
# `cell:code` matches only code. `line` is then a line of the cell, `cell` and `cell_line` locate it, and `line_number`
# is its line in the file.

# %%
kinds = code.search("read_csv count:all").matches
kinds["cell_kind"].value_counts().rename_axis(None).to_frame("lines")

# %%
removed = code.search("frame.append( cell:code lang:python count:all")
removed.matches[["path", "cell", "cell_line", "line_number", "line"]].head()

# %% [markdown]
# ## Local paths in code

# %%
local = code.search("/[\"'](?:\\/home\\/|\\/Users\\/|C:)/ cell:code count:all")
local.matches[["path", "cell", "line"]].head(3)

# %% [markdown]
# ## Secrets in outputs
#
# `cell:output` searches printed and displayed text, not images.

# %%
keys = code.search(r"/AKIA[0-9A-Z]{16}/ cell:output count:all")
keys.matches[["path", "cell", "cell_kind", "line"]]

# %% [markdown]
# ## Conditions on one cell
#
# `AND`, `OR` and `NOT` apply to one cell. This query finds cells that call `read_csv` without `SOURCE`. In the 1,000
# sample notebooks, these are the cells with a local path, so the list of differences is empty:

# %%
both = code.search("read_csv AND NOT SOURCE cell:code lang:python count:all")
len(both.matches), sorted(set(both.matches["path"]) ^ set(local.matches["path"]))

# %% [markdown]
# ## When cells changed
#
# `type:diff` with `cell:` compares the cells of each changed notebook, not its JSON. The next cell creates a repository
# with three commits. The second commit only runs the notebook again, so its output changes. The third changes a line
# of code.

# %%
history = Path(tempfile.mkdtemp()) / "history"
history.mkdir()


def commit(message: str, read: str, rows: int) -> None:
    """Write the notebook `prices.ipynb` and commit it."""
    source = f"import pandas as pd\nframe = {read}\n"
    value = {"cells": [cell("code", source, printed(f"{rows} rows\n"))], "nbformat": 4, "nbformat_minor": 4}
    value["metadata"] = {"language_info": {"name": "python"}, "runs": rows}
    (history / "prices.ipynb").write_text(json.dumps(value, indent=1), encoding="utf-8")
    person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for command in (["init", "-q"], ["add", "."], [*person, "commit", "-qm", message]):
        subprocess.run(["git", *command], check=True, cwd=history)


commit("Read prices", 'pd.read_csv("/home/ann/prices.csv")', 10)
commit("Run again", 'pd.read_csv("/home/ann/prices.csv")', 12)
commit("Read from the source", "pd.read_csv(SOURCE)", 12)
with sl.open(history) as versions:
    changes = versions.search("type:diff cell:code read_csv count:all").matches
    runs = versions.search("type:diff cell:output rows count:all").matches
changes[["message", "side", "cell", "cell_line", "line"]]

# %%
runs[["message", "side", "cell", "cell_kind", "line"]]

# %% [markdown]
# ## The cell behind a row

# %%
print(removed.matches.code.open(0))

# %% [markdown]
# ## Check with the standard library
#
# This cell reads each notebook with `json` and searches its code cells for `frame.append(`. It shows how many lines it
# found, and whether they equal the rows of `removed`:

# %%
found = set()
for folder in folders:
    for path in sorted(Path(folder).rglob("*.ipynb")):
        for number, one in enumerate(json.loads(path.read_bytes())["cells"], 1):
            lines = "".join(one["source"]).split("\n") if one["cell_type"] == "code" else []
            found |= {(path.name, number, at) for at, line in enumerate(lines, 1) if "frame.append(" in line}
rows = removed.matches
listed = set(zip(rows["path"].astype("str").str.rpartition("/")[2], rows["cell"], rows["cell_line"], strict=True))
code.close()
len(found), listed == found

# %% [markdown]
# # An audit of a thousand notebooks
#
# Which notebooks read files of one machine, call a removed function, or have a key in an output? `cell:` searches the
# cells as readers see them, not their JSON. The first cell has the parameters for papermill, which runs this notebook
# on any repositories:
#
# ```sh
# papermill 10-notebooks.ipynb mine.ipynb -p paths ~/src/analyses
# ```

# %% tags=["parameters"]
paths = ""  # folders with repositories or notebooks, as in PATH; empty: 1,000 notebooks that the next cell writes

# %%
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl

# A bar shows what a search is doing; it is off here, so that this notebook is the same on each run.
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
    """A small notebook; every fourth is in R, and some have what the audit looks for."""
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
# ## List notebooks
#
# `lang:` is the language of the kernel. A query without text returns each notebook with such a cell.

# %%
code.count_by("cell:code", "language")

# %% [markdown]
# ## In cells, not in JSON
#
# A search of files matches lines of JSON, both code and text. `cell:code` matches code: `line` is the line of the cell,
# `cell` and `cell_line` locate it, and `line_number` is the line in the file.

# %%
kinds = code.search("read_csv count:all").matches
kinds["cell_kind"].value_counts().rename_axis(None).to_frame("lines")

# %%
removed = code.search("frame.append( cell:code lang:python count:all")
removed.matches[["path", "cell", "cell_line", "line_number", "line"]].head()

# %% [markdown]
# ## What ties a notebook to one machine

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
# ## Two things in one cell
#
# `AND`, `OR` and `NOT` apply to a cell.

# %%
both = code.search("read_csv AND NOT SOURCE cell:code lang:python count:all")
len(both.matches), sorted(set(both.matches["path"]) ^ set(local.matches["path"]))

# %% [markdown]
# ## When cells changed
#
# `type:diff` with `cell:` compares the cells of each changed notebook, not its JSON. This repository has three commits:
# the second only runs the notebook again, with new outputs and counts, and the third changes a line.

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
# ## Check against `json`
#
# Read each notebook and search each cell with the standard library:

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

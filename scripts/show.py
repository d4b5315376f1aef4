"""The part of scripts/demo that runs inside its environment: sample repositories, index, notebook."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("SOURCELIGHT_DEMO_FOLDER") or ROOT / ".demo")
QUICKSTART = "01-quickstart.ipynb"


def sample_fleet() -> Path:
    """Folder of the sample repositories, rebuilt when their sources changed."""
    sources = sorted(path for path in (ROOT / "datasets").rglob("*") if path.is_file() and path.suffix != ".pyc")
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    fleet, stamp = FOLDER / "fleet", FOLDER / "fleet.sha256"
    if not stamp.exists() or stamp.read_text("ascii") != digest or not fleet.is_dir():
        print("Building the sample repositories ...", flush=True)
        shutil.rmtree(fleet, ignore_errors=True)
        subprocess.run([sys.executable, ROOT / "datasets" / "build.py", fleet], check=True, stdout=subprocess.DEVNULL)
        stamp.write_text(digest, "ascii")
    return fleet


def fresh_notebook() -> Path:
    """Copy the quickstart to play with; a copy that the reader changed stays as it is."""
    shipped, copy, former = ROOT / "notebooks" / QUICKSTART, FOLDER / QUICKSTART, FOLDER / ".shipped.ipynb"
    if not shipped.exists():
        raise SystemExit(f"{shipped} is missing: make it with scripts/notebooks")
    untouched = not copy.exists() or (former.exists() and former.read_bytes() == copy.read_bytes())
    if untouched:
        shutil.copyfile(shipped, copy)
        shutil.copyfile(shipped, former)
    else:
        print(f"Keeping your changed {copy}; delete it to get a fresh one.", flush=True)
    return copy


def wait_for(command: Sequence[str | Path]) -> int:
    """Run a command to its end; an interrupt is for the command, and we wait until it is gone."""
    child = subprocess.Popen(command)
    try:
        return child.wait()
    except KeyboardInterrupt:
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.terminate()
            child.wait(10)
        return 130


def open_lab(notebook: Path, *, browser: bool) -> int:
    """Run JupyterLab on a notebook until the reader stops it."""
    command: list[str | Path] = [sys.executable, "-m", "jupyterlab", "--ServerApp.answer_yes=True"]
    # As default_url, so that the address printed for --no-browser leads to the notebook, too.
    command += [f"--ServerApp.root_dir={FOLDER}", f"--LabApp.default_url=/lab/tree/{notebook.name}"]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    print("Starting JupyterLab on the quickstart; Ctrl-C here stops it.", flush=True)
    return wait_for(command)


def print_tables() -> int:
    """Execute the quickstart and print its headings and what its cells show; 1 if a cell fails."""
    import nbclient
    import nbformat

    notebook = nbformat.read(ROOT / "notebooks" / QUICKSTART, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
        extra_arguments=["--log-level=ERROR"],
    )
    failed = False
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        failed = True
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            print("".join(f"\n{line}\n" for line in cell.source.splitlines() if line.startswith("#")), end="")
            continue
        for output in cell.outputs:
            if "application/vnd.jupyter.widget-view+json" in output.get("data", {}):
                continue
            text = output.text if "text" in output else output.get("data", {}).get("text/plain", "")
            if text.strip() and not text.startswith("<Figure"):
                print("\n" + text.rstrip("\n"))
    if failed:
        print(f"\nThe quickstart failed:\n{reason}", file=sys.stderr)
        return 1
    print("\nThe quickstart ran to its end. Without --headless it opens in JupyterLab.")
    return 0


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--no-browser", action="store_true")
    request = parser.parse_args()
    for path in request.paths:
        if not Path(path).exists():
            parser.error(f"there is no {path}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = [Path(path).resolve() for path in request.paths] or [sample_fleet(), ROOT]
    os.environ["SOURCELIGHT_DEMO_PATHS"] = os.pathsep.join(map(str, paths))
    os.environ["SOURCELIGHT_HOME"] = str(FOLDER / "home")
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    print(f"Indexing {', '.join(map(str, paths))} ...", flush=True)
    status = wait_for(
        [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())", "index", *paths]
    )
    if status:
        return status
    if request.headless:
        os.environ["SOURCELIGHT_PROGRESS"] = "off"  # what a bar leaves behind says nothing in a terminal
        return print_tables()
    return open_lab(fresh_notebook(), browser=not request.no_browser)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

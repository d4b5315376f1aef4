"""`lab`: JupyterLab on a copy of the shipped notebooks."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sourcelight.core.errors import ConfigurationError, MissingExtra


def open_lab(paths: Sequence[str], into: str, *, browser: bool) -> int:
    """Copy the notebooks to `into` (files that are there stay) and run JupyterLab there; its exit status.

    Raises
    ------
    MissingExtra
        When JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingExtra("sourcelight[lab]", "JupyterLab")
    folder = copy_notebooks(Path(into))
    environment = dict(os.environ)
    if paths:
        environment["SOURCELIGHT_DEMO_PATHS"] = os.pathsep.join(str(Path(path).resolve()) for path in paths)
    command = [sys.executable, "-m", "jupyterlab", *([] if browser else ["--no-browser"]), str(folder)]
    return subprocess.run(command, env=environment, check=False).returncode


def copy_notebooks(into: Path) -> Path:
    """Copy each shipped notebook that `into` has not got yet."""
    into.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(shipped_notebooks().glob("*.ipynb")):
        if not (into / notebook.name).exists():
            shutil.copy(notebook, into / notebook.name)
    return into


def shipped_notebooks() -> Path:
    """The folder of the notebooks: in an installed package beside this file, in a checkout at its top."""
    here = Path(__file__).resolve()
    for folder in (here.parent / "notebooks", here.parents[3] / "notebooks"):
        if folder.is_dir():
            return folder
    raise ConfigurationError("this installation holds no notebooks; install sourcelight again")

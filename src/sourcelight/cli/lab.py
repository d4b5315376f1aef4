"""`lab`: JupyterLab on a copy of the shipped notebooks; `samples`: the repositories that these run over."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sourcelight.cli.output import DONE, say, tell
from sourcelight.core.errors import ConfigurationError, GitFailed, MissingExtra


def open_lab(paths: Sequence[str], into: str, *, browser: bool) -> int:
    """Copy the notebooks to `into` (files that are there stay) and run JupyterLab there; its exit status.

    Without `paths` the notebooks run over the sample repositories.

    Raises
    ------
    MissingExtra
        When JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingExtra("sourcelight[lab]", "JupyterLab")
    folder = copy_notebooks(Path(into))
    environment = dict(os.environ)
    chosen = list(paths)
    if not chosen and "SOURCELIGHT_DEMO_PATHS" not in environment:
        chosen = [str(sample_repositories(folder / "samples"))]
    if chosen:
        environment["SOURCELIGHT_DEMO_PATHS"] = os.pathsep.join(str(Path(path).resolve()) for path in chosen)
    command = [sys.executable, "-m", "jupyterlab", *([] if browser else ["--no-browser"]), str(folder)]
    return subprocess.run(command, env=environment, check=False).returncode


def copy_notebooks(into: Path) -> Path:
    """Copy each shipped notebook that `into` has not got yet."""
    into.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(shipped_notebooks().glob("*.ipynb")):
        if not (into / notebook.name).exists():
            shutil.copy(notebook, into / notebook.name)
    return into


def sample_repositories(folder: Path) -> Path:
    """The sample repositories in `folder`, built when they are not there yet.

    Raises
    ------
    GitFailed
        When git is missing or fails; what it said stands on stderr.
    """
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            built = Path(unfinished, "fleet")
            command = [sys.executable, str(_shipped("datasets") / "build.py"), str(built)]
            status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
            if status:
                raise GitFailed(command, status, "the sample repositories could not be built")
            built.rename(folder)
    return folder


def build_samples(folder: Path) -> int:
    """`samples`: build the sample repositories, or keep what is there, and print the folder."""
    if folder.exists():
        say(f"{folder} is there already and is kept as it is")
    tell(str(sample_repositories(folder)))
    return DONE


def shipped_notebooks() -> Path:
    """The folder of the notebooks."""
    return _shipped("notebooks")


def _shipped(name: str) -> Path:
    """A folder that ships with the package: in an installed one beside this file, in a checkout at its top."""
    here = Path(__file__).resolve()
    for folder in (here.parent / name, here.parents[3] / name):
        if folder.is_dir():
            return folder
    raise ConfigurationError(f"this installation holds no {name}; install sourcelight again")

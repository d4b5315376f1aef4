"""`lab` and `samples`: JupyterLab with the tutorial notebooks, and the sample repositories."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sourcelight.cli.options import Paths, path_texts
from sourcelight.cli.output import DONE, print_line, say
from sourcelight.core.errors import ConfigurationError, GitFailed, MissingExtra


def lab_command(
    paths: Paths = None,
    *,
    dest: Annotated[
        Path, typer.Option(metavar="DIRECTORY", help="Destination directory; existing files are kept.")
    ] = Path("sourcelight-notebooks"),
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> int:
    """Open JupyterLab with a copy of the tutorial notebooks.

    The notebooks use the sample repositories, or those below PATH.
    """
    return open_lab(path_texts(paths), str(dest), browser=browser)


def samples_command(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Destination; an existing directory is kept.")],
) -> int:
    """Build the sample repositories of the guides and notebooks.

    Prints their directory.
    """
    return build_samples(directory)


def open_lab(paths: Sequence[str], destination: str, *, browser: bool) -> int:
    """Copy the notebooks to `destination`, keeping existing files, and run JupyterLab there; return its exit status.

    Without `paths` the notebooks use the sample repositories.

    Raises
    ------
    MissingExtra
        When JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingExtra("sourcelight[lab]", "JupyterLab")

    import subprocess

    directory = copy_notebooks(Path(destination))
    environment = dict(os.environ)
    demo_paths = list(paths)
    if not demo_paths and "SOURCELIGHT_DEMO_PATHS" not in environment:
        demo_paths = [str(sample_repositories(directory / "samples"))]

    if demo_paths:
        environment["SOURCELIGHT_DEMO_PATHS"] = os.pathsep.join(str(Path(path).resolve()) for path in demo_paths)

    options = [] if browser else ["--no-browser"]
    # Users of containers are often root, and JupyterLab starts as root only with this option.
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")

    # With -P, modules in the current directory, which may be a repository that nobody trusts, aren't imported.
    command = [sys.executable, "-P", "-m", "jupyterlab", *options, str(directory)]
    return subprocess.run(command, env=environment, check=False).returncode


def copy_notebooks(destination: Path) -> Path:
    """Copy each shipped notebook that `destination` doesn't have yet."""
    import shutil

    destination.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(shipped_notebooks().glob("*.ipynb")):
        if not (destination / notebook.name).exists():
            shutil.copy(notebook, destination / notebook.name)
    return destination


def sample_repositories(directory: Path) -> Path:
    """Build the sample repositories in `directory`, unless it exists, and return it.

    Raises
    ------
    GitFailed
        When git is missing or fails; stderr has its message.
    """
    import subprocess
    import tempfile

    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as unfinished:
            built = Path(unfinished, "fleet")
            command = [sys.executable, str(_package_directory("datasets") / "build.py"), str(built)]
            status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
            if status:
                raise GitFailed(command, status, "can't build the sample repositories")
            built.rename(directory)

    return directory


def build_samples(directory: Path) -> int:
    """Build the sample repositories, or keep an existing directory, and print it."""
    if directory.exists():
        say(f"{directory} already exists and stays unchanged")
    print_line(str(sample_repositories(directory)))
    return DONE


def shipped_notebooks() -> Path:
    """Return the directory of the notebooks."""
    return _package_directory("notebooks")


def _package_directory(name: str) -> Path:
    """Return a directory of the package: beside this file when installed, at the top of a checkout."""
    module = Path(__file__).resolve()
    for directory in (module.parent / name, module.parents[3] / name):
        if directory.is_dir():
            return directory
    raise ConfigurationError(f"this installation has no {name}; install sourcelight again")

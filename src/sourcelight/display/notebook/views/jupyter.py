"""What JupyterLab calls a file of this machine: the server's root folder, and the folder of the running notebook."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote


@lru_cache(maxsize=1)
def _root() -> str:
    """Root folder of the server that started this kernel; empty when there is none."""
    server = os.environ.get("JPY_PARENT_PID", "")
    if not server.isdigit():
        return ""
    try:
        from jupyter_core.paths import jupyter_runtime_dir

        told = json.loads(Path(jupyter_runtime_dir(), f"jpserver-{server}.json").read_text(encoding="utf-8"))
        return str(os.path.realpath(told["root_dir"]))
    except (ImportError, OSError, ValueError, KeyError, TypeError):
        return ""


def lab_path(file: str) -> str:
    """Path of a file at the Jupyter server that started this kernel; empty when it does not show the file."""
    root = _root()
    real = os.path.realpath(file)
    if not root or not real.startswith(root.rstrip(os.sep) + os.sep):
        return ""
    parts = Path(os.path.relpath(real, root)).parts
    # The server hides what begins with a dot, unless it is told to show it.
    return "" if any(part.startswith(".") for part in parts) else "/".join(parts)


def relative_to_notebook(file: str) -> str:
    """Relative address of a file, seen from the running notebook; it can't be read as one with a scheme."""
    notebook = os.environ.get("JPY_SESSION_NAME", "")
    here = os.path.dirname(notebook) if os.path.isabs(notebook) else os.getcwd()  # noqa: PTH109, PTH120, PTH117
    relative = os.path.relpath(os.path.realpath(file), os.path.realpath(here)).replace(os.sep, "/")
    return quote(relative if relative.startswith("../") else f"./{relative}", safe="/.")

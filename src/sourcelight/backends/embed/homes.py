"""Where files of this program belong on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_home() -> Path:
    """The folder for what can be made again (the index): below ``SOURCELIGHT_HOME``, else the user's cache folder."""
    home = os.environ.get("SOURCELIGHT_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_cache_dir("sourcelight"))


def data_home() -> Path:
    """The folder for what must not be lost: below ``SOURCELIGHT_HOME``, else the user's data folder."""
    home = os.environ.get("SOURCELIGHT_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_data_dir("sourcelight"))


def index_folder() -> Path:
    """The index; may be deleted at any time."""
    return cache_home() / "index"


def mirrors_folder() -> Path:
    """Where ``clone`` keeps its bare mirrors."""
    return data_home() / "mirrors"

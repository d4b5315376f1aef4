"""Mirrors of remote repositories, for callers that open an address in place of a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sourcelight.backends.embed.homes import mirrors_folder
from sourcelight.core.cancellation import Cancellation
from sourcelight.repos.mirrors import clone


def mirror(url: str, *, progress: Callable[[Any], None] | None = None, cancellation: Cancellation | None = None) -> str:
    """Mirror a repository below `homes.mirrors_folder`, or bring its mirror up to date; returns the mirror's path."""
    return clone(url, mirrors_folder(), progress=progress, cancellation=cancellation)

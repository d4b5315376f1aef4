"""Warnings about what the walk through directories left out, for operators and readers."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sourcelight.core.markup.counts import list_names
from sourcelight.repos.boundary import TRUSTED_PATHS
from sourcelight.repos.discovery import Discovery


def warn_of_settings(walk: Discovery, settings: Sequence[str]) -> list[str]:
    """Warn of settings files that the walk found beside those in `settings`, which are read."""
    used = set(map(os.path.realpath, settings))
    unread = [path for path in walk.settings if os.path.realpath(path) not in used]
    if not unread:
        return []
    verb = "is" if len(unread) == 1 else "are"
    names = " or ".join(dict.fromkeys(settings))
    return [f"{list_names(sorted(unread))} {verb} not read: settings of repositories belong in {names}"]


def warn_of_directories(walk: Discovery) -> list[str]:
    """Warn of directories that the walk left out and that a reader may miss."""
    warnings = []
    # One that is also below a path that the operator named is searched as a repository.
    lookalikes = [path for path in walk.lookalikes if os.path.realpath(path) not in walk.repositories]
    if lookalikes:
        count = len(lookalikes)
        subject = (
            "1 directory looks like a git directory"
            if count == 1
            else f"{count:,} directories look like git directories"
        )
        verb = "counts" if count == 1 else "count"
        warnings.append(
            f"{subject} inside a work tree, and {verb} as its files: {list_names(sorted(lookalikes))}; "
            "name the path itself to search it"
        )
    warnings += [
        f"{path} leads to {real}, outside the served directories, and is not followed; "
        f"list that path in {TRUSTED_PATHS} to allow it"
        for path, real in sorted(walk.outside.items())
    ]
    return warnings

"""Which clients of the stream need something else than the specification says, by the headers with which they come."""

from __future__ import annotations

import re
from typing import Literal

from starlette.datastructures import Headers

#: Clients that abort on matches of type ``diff``, or drop them; all know diffs as matches of type ``commit``.
WITHOUT_DIFF = ("src-cli", "raycast", "cody", "vscode", "vs code", "visual studio code", "jetbrains", "sourcegraph")
_WITHOUT_DIFF = re.compile("|".join(re.escape(name) for name in WITHOUT_DIFF), re.IGNORECASE)
_OWN = re.compile(r"sourcelight\b", re.IGNORECASE)
_MAX_CHARS = 512


def diff_type_of(headers: Headers, setting: Literal["", "diff", "commit"]) -> Literal["diff", "commit"]:
    """Return the ``type`` of diff matches for the sender of a request; `setting` forces one."""
    if setting:
        return setting
    names = f"{headers.get('user-agent', '')[:_MAX_CHARS]} {headers.get('x-requested-with', '')[:_MAX_CHARS]}"
    return "commit" if _WITHOUT_DIFF.search(names) else "diff"


def shows_diffs(headers: Headers) -> bool:
    """Return whether the sender shows the text of diffs; our own client makes rows of every matching line instead."""
    return _OWN.match(headers.get("user-agent", "")) is None

"""What the patch of one file says of it beside its lines: modes, contents, likeness, and how many lines changed.

An answer that has the patch need not say it again, and a client can read it from the patch of any service.
"""

from __future__ import annotations

import re
from typing import Any

from sourcelight.core.batches.diff_preview import read_hunks

_NO_MODE, _NO_OBJECT = "000000", "0" * 40
_INDEX = re.compile(r"index ([0-9a-f]{40})\.\.([0-9a-f]{40})(?: ([0-7]{6}))?")
# A line of a file starts with a sign, so only headers match.
_OBJECT_IDS = re.compile(r"^(index [0-9a-f]{7})[0-9a-f]{33}\.\.([0-9a-f]{7})[0-9a-f]{33}(?= |$)", re.MULTILINE)
_SIMILARITY = re.compile(r"similarity index (\d{1,3})%")
_MODE = re.compile(r"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})")
_BINARY = ("Binary files ", "GIT binary patch")
_IS_BINARY = re.compile(rf"^(?:{'|'.join(_BINARY)})", re.MULTILINE)


def patch_facts(patch: str, *, is_whole: bool = True) -> dict[str, Any]:
    """Return what a patch says, by the columns of ``file_diffs``; what it does not say is absent.

    Parameters
    ----------
    patch
        The diff of one file, as git words it.
    is_whole
        Whether nothing of it was cut, so that its lines can be counted.
    """
    info: dict[str, Any] = {"binary": False}
    for line in patch.split("\n"):
        # A file whose type changed has a second header; its first alone is of the older file.
        if line.startswith("@@ ") or (line.startswith("diff --git ") and len(info) > 1):
            break
        info |= _read_header(line)
    if is_whole:
        signs = [line[:1] for hunk in read_hunks(patch) for line in hunk.lines]
        info |= {"additions": signs.count("+"), "deletions": signs.count("-")}
    return info


def abbreviate_object_ids(patch: str) -> str:
    """Shorten the object ids of a file's patch to seven digits, as ``git diff`` prints them.

    Two whole ids are 48 tokens to a language model. ``git apply`` needs those of a binary file whole.
    """
    if _IS_BINARY.search(patch):
        return patch
    return _OBJECT_IDS.sub(r"\1..\2", patch)


def _read_header(line: str) -> dict[str, Any]:
    if match := _MODE.fullmatch(line):
        field, mode = match[1], match[2]
        if field == "new file mode":
            return {"mode": mode, "old_mode": _NO_MODE, "old_object_id": _NO_OBJECT}
        if field == "deleted file mode":
            return {"mode": _NO_MODE, "old_mode": mode, "object_id": _NO_OBJECT}
        return {"old_mode" if field == "old mode" else "mode": mode}
    if match := _INDEX.fullmatch(line):
        modes = {"mode": match[3], "old_mode": match[3]} if match[3] else {}
        return {"old_object_id": match[1], "object_id": match[2], **modes}
    if match := _SIMILARITY.fullmatch(line):
        return {"score": int(match[1])}
    return {"binary": True} if line.startswith(_BINARY) else {}

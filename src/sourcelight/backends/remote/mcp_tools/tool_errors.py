"""Errors that tools answer with, as typed errors. Pure."""

from __future__ import annotations

import re

from sourcelight.core.errors import CallError, PathNotFound, RepositoryNotFound, RevisionNotFound, SourcelightError

# Sentences of our own service; those of others stay as they are.
_NEAR = r"(?:; did you mean ([^\n;]+)\?)?"
_REPOSITORY = re.compile(rf"repository not found: (\S[^\n]*?){_NEAR}")
_REVISION = re.compile(rf"revision not found: (\S[^\n]*?)@([^\n]*?){_NEAR}")
_PATH = re.compile(r"path not found in ([^\n@]+?)(?:@([^\n]*?))?: ([^\n;]*)(?:; ([^\n]*))?")
_TOO_LARGE = re.compile(r"too (?:large|big|long)|exceeds|128 ?ki?b|131,?072", re.IGNORECASE)


def tool_error(name: str, text: str) -> SourcelightError:
    """The error that a tool's text stands for; `CallError` with that text where it is not known."""
    if found := _REPOSITORY.fullmatch(text):
        return RepositoryNotFound(found[1], _names(found[2]))
    if found := _REVISION.fullmatch(text):
        return RevisionNotFound(found[1], found[2], _names(found[3]))
    if found := _PATH.fullmatch(text):
        return PathNotFound(found[1], found[2] or "", found[3], found[4] or "")
    said = text or "the service gave no reason"
    return CallError(said if said.startswith(f"{name}:") else f"{name}: {said}", call=name)


def _names(text: str | None) -> list[str]:
    return text.split(", ") if text else []


def is_too_large(exc: CallError) -> bool:
    """Whether an error of `read_file` says that the file has to be read in parts."""
    return _TOO_LARGE.search(str(exc)) is not None

"""The filter of files that a report counts: those in some directories, or of some kinds."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal, TypeAlias, get_args

from sourcelight.core.errors import PatternError, ToolError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.regexps import file_pattern

PathPatterns: TypeAlias = str | Sequence[str] | None
"""A directory, a file or a glob, or several."""

_MIN_SIMILARITY = 0.5
"""Likeness, from 0 to 1, from which a name is shown as the nearest to one that matches no file."""


class PathFilter:
    """Directories and globs that files have to be in, and must not be in.

    They work like `files` of `Client.commit_search`: a path means a file or a whole directory, and in a glob ``*``
    stays within one name, ``**`` goes over folders, and one without a slash is for names in any folder. A renamed file
    counts by its new name.

    Parameters
    ----------
    call
        Name of the report, for errors.
    only
        A file counts if it is in one of these; none: every file.
    exclude
        Files in these don't count, even if they are in `only`.

    Raises
    ------
    ToolError
        For an empty text.
    """

    def __init__(self, call: str, only: PathPatterns, exclude: PathPatterns) -> None:
        self.only, self.exclude = _texts(call, "only", only), _texts(call, "exclude", exclude)
        self._patterns = [_compile(call, "only", text) for text in self.only]
        self._refused = [_compile(call, "exclude", text) for text in self.exclude]

    def __bool__(self) -> bool:
        return bool(self.only or self.exclude)

    def __call__(self, path: str) -> bool:
        """Return whether a file counts."""
        if self._patterns and not _in_any(self._patterns, path):
            return False
        return not _in_any(self._refused, path)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The filter as lines of a report's scope."""
        texts = (("only files in", self.only), ("without files in", self.exclude))
        return tuple((name, ", ".join(patterns)) for name, patterns in texts if patterns)

    def reason(self, paths: Sequence[str]) -> str:
        """Return the reason why no changed file counts, with the nearest candidates."""
        if not self.only or any(_in_any(self._patterns, path) for path in paths):
            return f"Every file that changed is in exclude={', '.join(self.exclude)}."

        directories: set[str] = set()
        for path in paths:
            directories |= _directories_of(path)

        reason = f"No file that changed is in only={', '.join(self.only)}"
        near = get_close_matches(self.only[0].rstrip("/"), [*sorted(directories), *paths], 1, _MIN_SIMILARITY)
        if near:
            reason += f"; the nearest name is {near[0]}"
        return f"{reason}."


def _texts(call: str, name: str, patterns: PathPatterns) -> tuple[str, ...]:
    if patterns is None:
        return ()

    texts = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    if not all(text.strip() for text in texts):
        raise ToolError(f"{call}: {name} contains an empty string", tool=call, argument=name)
    return texts


def _compile(call: str, name: str, text: str) -> CompiledPattern:
    try:
        return compile_pattern(file_pattern(text), kind="regexp", case_sensitive=True, whole_text=True)
    except PatternError as error:
        raise ToolError(f"{call}: {name}: {error}", tool=call, argument=name) from error


def _in_any(patterns: Sequence[CompiledPattern], path: str) -> bool:
    # Searches ignore empty matches, but a glob such as `**` is for every path.
    text = path.encode("utf-8", "surrogateescape")
    return any(pattern.matches_empty or pattern.find_document(text) for pattern in patterns)


def _directories_of(path: str) -> set[str]:
    """Return the directories that a file is in: ``a`` and ``a/b`` for ``a/b/c.py``."""
    parts = path.split("/")[:-1]
    return {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}


OtherFiles: TypeAlias = Literal["apart", "with", "without"]


def check_other_files(call: str, other_files: str) -> None:
    """Raise `ToolError` for an invalid value."""
    accepted = get_args(OtherFiles)
    if other_files not in accepted:
        raise ToolError(
            f"other_files must be one of {', '.join(accepted)}, got {other_files!r}", tool=call, argument="other_files"
        )

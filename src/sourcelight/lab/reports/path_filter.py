"""Which files a report counts: those in some directories, or of some kinds."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal, get_args

from sourcelight.core.errors import PatternError, ToolError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.regexps import file_pattern

PathPatterns = str | Sequence[str] | None


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
        return (not self._patterns or _in_any(self._patterns, path)) and not _in_any(self._refused, path)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The filter as lines of a report's scope."""
        texts = (("only files in", self.only), ("without files in", self.exclude))
        return tuple((name, ", ".join(patterns)) for name, patterns in texts if patterns)

    def reason(self, paths: Sequence[str]) -> str:
        """Return the reason why no changed file counts, with the nearest candidates."""
        if not self.only or any(_in_any(self._patterns, path) for path in paths):
            return f"Every file that changed is in exclude={', '.join(self.exclude)}."
        folders = {folder for path in paths for folder in _folders(path)}
        near = get_close_matches(self.only[0].rstrip("/"), [*sorted(folders), *paths], 1, 0.5)
        hint = f"; the nearest name is {near[0]}" if near else ""
        return f"No file that changed is in only={', '.join(self.only)}{hint}."


def _texts(call: str, name: str, patterns: PathPatterns) -> tuple[str, ...]:
    texts = (patterns,) if isinstance(patterns, str) else tuple(patterns or ())
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


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


OtherFiles = Literal["apart", "with", "without"]


def check_other_files(call: str, other_files: str) -> None:
    """Raise `ToolError` for an invalid value."""
    accepted = get_args(OtherFiles)
    if other_files not in accepted:
        raise ToolError(
            f"other_files must be one of {', '.join(accepted)}, got {other_files!r}", tool=call, argument="other_files"
        )

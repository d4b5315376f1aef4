"""`only=` and `exclude=`: which files a report counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from sourcelight.core.errors import PatternError, ToolError, UnsupportedTool
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.regexps import file_pattern

PathPatterns = str | Sequence[str] | None


class PathFilter:
    """Folders and globs that files have to be in, and must not be in.

    They are those of `Client.commit_search`'s `files`: a path stands for a file or all of a folder, and in a glob ``*``
    stays within one name, ``**`` goes over folders, and one without a slash is for names in any folder. A renamed file
    counts by its new name.

    Parameters
    ----------
    call
        Name of the report, for errors.
    only
        A file counts if it is in one of these; none: every file.
    exclude
        A file does not count if it is in one of these, whatever `only` says.

    Raises
    ------
    ToolError
        For an empty text.
    """

    def __init__(self, call: str, only: PathPatterns, exclude: PathPatterns) -> None:
        self.only, self.exclude = _texts(call, "only", only), _texts(call, "exclude", exclude)
        self._wanted = [_compiled(call, "only", text) for text in self.only]
        self._refused = [_compiled(call, "exclude", text) for text in self.exclude]

    def __bool__(self) -> bool:
        return bool(self.only or self.exclude)

    def __call__(self, path: str) -> bool:
        """Whether a file counts."""
        return (not self._wanted or _in_any(self._wanted, path)) and not _in_any(self._refused, path)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """What is asked for, as lines of a report's scope."""
        texts = (("only files in", self.only), ("without files in", self.exclude))
        return tuple((name, ", ".join(patterns)) for name, patterns in texts if patterns)

    def reason(self, paths: Sequence[str]) -> str:
        """Why none of the files that changed counts, and what is nearest to what was asked for."""
        if not self.only or any(_in_any(self._wanted, path) for path in paths):
            return f"Every file that changed is in exclude={', '.join(self.exclude)}."
        folders = {folder for path in paths for folder in _folders(path)}
        near = get_close_matches(self.only[0].rstrip("/"), [*sorted(folders), *paths], 1, 0.5)
        hint = f"; the nearest name is {near[0]}" if near else ""
        return f"No file that changed is in only={', '.join(self.only)}{hint}."


def changed_files(
    call: str, churn: Callable[..., Any], repos: Sequence[str] | None, revisions: Sequence[str] | None, **dates: Any
) -> Any:
    """The files that each commit changes with their lines, from `Client.churn`: a row a commit and file.

    Raises
    ------
    ToolError
        Where the service that answers does not tell them.
    """
    try:
        return churn(repos=repos, by=["repository", "commit", "path", "file_kind"], revisions=revisions, **dates)
    except UnsupportedTool as fault:
        text = f"{call}: only and exclude need the files of each commit, which this service does not tell"
        raise ToolError(text, tool=call, argument="only") from fault


def _texts(call: str, name: str, patterns: PathPatterns) -> tuple[str, ...]:
    texts = (patterns,) if isinstance(patterns, str) else tuple(patterns or ())
    if not all(text.strip() for text in texts):
        raise ToolError(f"{call}: {name} holds an empty text", tool=call, argument=name)
    return texts


def _compiled(call: str, name: str, text: str) -> CompiledPattern:
    try:
        return compile_pattern(file_pattern(text), kind="regexp", case_sensitive=True, whole_text=True)
    except PatternError as error:
        raise ToolError(f"{call}: {name}: {error}", tool=call, argument=name) from error


def _in_any(patterns: Sequence[CompiledPattern], path: str) -> bool:
    text = path.encode("utf-8", "surrogateescape")
    return any(pattern.matches_empty or pattern.find_document(text) for pattern in patterns)


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]

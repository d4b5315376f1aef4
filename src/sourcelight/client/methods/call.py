"""Shared parts of the methods: the call of a tool, and arguments in their Python forms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from sourcelight.core.errors import ToolError
from sourcelight.core.tools.tool import A, Tool
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.core.backend import Backend

Texts: TypeAlias = str | Iterable[str]
Date: TypeAlias = str | date


class ToolCaller(Protocol):
    """The interface of `self` in all methods."""

    @property
    def backend(self) -> Backend:
        """The backend of the client."""

    async def _call(self, tool: Tool[A], arguments: A, progress: ProgressChoice = None) -> DataFrame:
        """Call a tool; arguments that are None are not sent."""


def texts(values: Texts | None) -> tuple[str, ...] | None:
    """Return one text, several texts or a column of a DataFrame as a tuple; None stays None."""
    if values is None:
        return None
    return (values,) if isinstance(values, str) else tuple(str(value) for value in values)


def single_author(authors: Texts | None) -> str | None:
    """Return the argument `author`: one text goes there, since the tools of a service know no `authors`."""
    return authors if isinstance(authors, str) else None


def several_authors(authors: Texts | None) -> tuple[str, ...] | None:
    """Return the argument `authors`: several texts go there."""
    return None if isinstance(authors, str) else texts(authors)


def date_text(value: Date | None) -> str | None:
    """Format a date for the tools: text unchanged, a time with its zone in RFC 3339, None as None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime) and value.tzinfo is None:
        # Without a zone, it is the caller's local time, as everywhere in Python. Cells of DataFrames are of a class of
        # their own, whose `astimezone` is another.
        value = datetime.combine(value.date(), value.time()).astimezone()
    return value.isoformat()


def mailmap_text(mailmap: Texts | None) -> str | None:
    """Return the lines of a mailmap as one text; a column of a DataFrame is taken too."""
    if mailmap is None or isinstance(mailmap, str):
        return mailmap
    lines: Iterable[str] = mailmap
    return "\n".join(line for line in map(str, lines) if line)


def use_python_names(error: ToolError, tool: Tool[A]) -> None:
    """Name the arguments in an error of a tool as its method does: ``min_commits`` is ``minCommits`` on the wire.

    Other names, such as ``count`` for `limit`, are words of their own and stay.
    """
    names = {
        field.encode_name: field.name
        for field in msgspec.structs.fields(tool.arguments)
        if field.encode_name != field.encode_name.lower()
    }
    if names and error.args:
        pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
        error.args = (pattern.sub(lambda match: names[match[0]], str(error.args[0])), *error.args[1:])
        error.argument = names.get(error.argument, error.argument)

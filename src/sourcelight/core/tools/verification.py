"""`verify`: citations of code in a text, checked against git. Its arguments and the columns of its table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.tool import Arguments, McpText, Revision, Scope, Text, Tool, plain

_ABSENT = "the citation does not say, or is rejected"

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "citations": (
        Column("text_line", "int32", "1-based line of the citation in the text"),
        Column("citation", "string", "the citation as written"),
        Column("quoted", "bool", "whether the text quotes the code that it cites"),
        Column("repository", "dict32", "name of the repository", _ABSENT),
        Column("commit", "dict32", "commit that it was checked against, 40 hex digits", _ABSENT),
        Column("path", "string", "path of the file", _ABSENT),
        Column("start_line", "int32", "1-based first line", _ABSENT),
        Column("end_line", "int32", "1-based last line", _ABSENT),
        Column("status", "dict8", "verified; moved: what it cites is elsewhere; rejected"),
        Column("reason", "string", "why it was moved or rejected; empty for a verified one"),
        Column("new_path", "string", "where a moved citation is: its file", "not moved"),
        Column("new_start_line", "int32", "where a moved citation is: its first line", "not moved, or a whole file"),
        Column("new_end_line", "int32", "where a moved citation is: its last line", "not moved, or a whole file"),
    ),
}


class VerifyArguments(Arguments, frozen=True):
    """Arguments of `verify`."""

    markdown: Annotated[Text, plain("Text with citations: links, path:12, path:3-9, path#L3-L9, quotes.")]
    repo: Annotated[
        str | None, plain("Repository of citations that name none; without it: the one that has the file.")
    ] = None
    revision: Revision = None


VERIFY = Tool(
    "verify",
    VerifyArguments,
    "citations",
    Scope.ACROSS,
    McpText(
        "Verify citations",
        "Check citations of code in Markdown: links, path:12, path:3-9, path#L3-L9, code blocks beside one. Each is "
        "verified, moved (to where) or rejected (why). Use it on an answer before you give it; not to find code. "
        "Example: markdown 'See src/app.py:12'.",
        suite="all",
    ),
    reads="",
)

TOOLS: tuple[Tool[Any], ...] = (VERIFY,)

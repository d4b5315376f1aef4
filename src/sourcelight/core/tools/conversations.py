"""Columns of tables about deep search."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

_UNSAID = "the service did not say"
_OTHER = "another type of source"

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "conversation": (
        Column("question_number", "int32", "1-based number of the question in the conversation", summable=False),
        Column("question", "dict32", "the question"),
        Column("type", "dict8", "search, repository, file, commit, or unknown for what names nothing that was found"),
        Column("label", "string", "what the source is, for a reader"),
        Column("link", "string", "its address, relative to the service where that is not known"),
        Column("repository", "dict32", "name of the repository", _OTHER),
        Column("commit", "dict32", "commit, 40 hex digits", _OTHER),
        Column("path", "string", "path in the repository", _OTHER),
        Column("line_number", "int32", "1-based first line", _OTHER, summable=False),
        Column("last_line_number", "int32", "1-based last line", _OTHER, summable=False),
        Column("role", "dict8", "definition, body, usage, test, doc, history or read", f"{_OTHER}, or {_UNSAID}"),
        Column(
            "status", "dict8", "verified, moved or rejected: how the citation's check ended", f"{_OTHER}, or {_UNSAID}"
        ),
    ),
    "conversations": (
        Column("id", "int64", "number of the conversation, for its owner", summable=False),
        Column("title", "string", "its title"),
        Column("status", "dict8", "state of its last question"),
        Column("questions", "int32", "how many questions"),
        Column("starred", "bool", "whether its owner starred it"),
        Column("shared", "bool", "whether its link can be read by others"),
        Column("created", "timestamp", "when it was opened, UTC"),
        Column("updated", "timestamp", "when it last changed, UTC"),
        Column("url", "string", "its address"),
    ),
}

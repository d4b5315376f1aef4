"""Columns of tables about files, repositories and text found in them."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

_REPOSITORY = Column("repository", "dict32", "name of the repository")
_REVISION = Column("revision", "dict32", "revision as it was asked for; empty for the default branch")
_COMMIT = Column("commit", "dict32", "resolved commit, 40 hex digits", "the service did not say")

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "files": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        Column("path", "string", "path in the repository; that of a folder ends with /; invalid UTF-8 as U+FFFD"),
        Column("is_directory", "bool", "whether it is a folder or a submodule"),
        Column("kind", "dict8", "file, directory, symlink or submodule", "the service did not say"),
    ),
    "file_lines": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD"),
        Column("line_number", "int32", "1-based line in the file", summable=False),
        Column("line", "string", "text of the line without its newline; invalid UTF-8 as U+FFFD"),
    ),
    "repository_list": (
        _REPOSITORY,
        Column("description", "string", "what its owner says of it; may be empty"),
        Column("stars", "int32", "stars at its code host; 0 when unknown"),
        Column("private", "bool", "whether only some may see it", "the service did not say"),
        Column("fork", "bool", "whether it is a fork", "the service did not say"),
        Column("archived", "bool", "whether it is archived", "the service did not say"),
        Column("url", "string", "its address at the service, or relative to it", "the service did not say"),
    ),
    "found_chunks": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD"),
        Column(
            "line_number", "int32", "1-based line on which the chunk starts", "only the path matched", summable=False
        ),
        Column(
            "last_line_number", "int32", "1-based line on which the chunk ends", "only the path matched", summable=False
        ),
        Column("chunk", "string", "the matched lines with those around them", "only the path matched"),
        Column("match_count", "int32", "matches in the chunk; 0 when only the path matched", "the service did not say"),
        Column("score", "float64", "rank of the chunk, higher is better", "not a ranked search", summable=False),
        Column("truncated", "bool", "whether a limit cut the chunk or one of its lines"),
        Column("chunks_left_out", "int32", "chunks of the same file that a limit kept out"),
        Column("url", "string", "address of the file at the service, or relative to it"),
    ),
}

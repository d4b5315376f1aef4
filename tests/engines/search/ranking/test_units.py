"""Chunks of real files begin at statements: never within a comment, and never between the lines of a signature."""

from __future__ import annotations

import os
import sysconfig
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcelight.engines.search.ranking.terms.chunker import MAX_CHUNK_LINES, cut_chunks, lead_start
from sourcelight.engines.search.ranking.terms.table_builder import definition_spans
from sourcelight.engines.symbols import definitions, parse_tree

_LANGUAGES = {
    ".py": "Python",
    ".js": "JavaScript",
    ".mjs": "JavaScript",
    ".ts": "TypeScript",
    ".h": "C",
    ".c": "C",
    ".hpp": "C++",
    ".cc": "C++",
    ".sh": "Shell",
    ".rb": "Ruby",
    ".go": "Go",
    ".java": "Java",
    ".rs": "Rust",
    ".php": "PHP",
}
_SIGNATURES = frozenset({"parameters", "formal_parameters", "parameter_list", "method_parameters"})
_FILES = 5
"""Files of each suffix."""
_MAX_BYTES = 120_000

MADE = {
    ".go": ("// {}", "func {}(", "\t{} string,", ") error {{", "\tlog.Print({})", "}}"),
    ".java": ("/* {}", "  void {}(", "      String {},", "      int last) {{", "    log.print({});", "  }}"),
    ".rs": ("/// {}", "fn {}(", "    {}: &str,", ") -> u32 {{", "    log::info!({});", "}}"),
    ".php": ("# {}", "function {}(", "    string ${},", "    int $last) {{", "    print(${});", "}}"),
    ".rb": ("# {}", "def {}(", "  {},", "  last)", "  puts({})", "end"),
    ".c": ("/* {}", "int {}(", "    const char *{},", "    int last)\n{{", "    puts({});", "}}"),
}
"""Comment, head, parameter, end of the head, statement and end of a function in languages that no package brings."""


def make_source(suffix: str) -> bytes:
    """Write a file of functions with long comments, long signatures and long bodies."""
    comment, head, parameter, close, statement, end = MADE[suffix]
    lines: list[str] = ["<?php"] if suffix == ".php" else ["class A {"] if suffix == ".java" else []
    for function in range(6):
        block = comment.startswith("/* ")
        lines += [
            comment.format("what it does"),
            *(("words of it" if block else comment.format("words")) for _ in range(9)),
        ]
        lines += ["*/"] if block else []
        lines += [head.format(f"act{function}"), *(parameter.format(f"p{n}") for n in range(20)), close.format()]
        lines += [statement.format(f"p{n}") if n % 7 else "" for n in range(90)]
        lines += [end.format(), ""]
    return "\n".join([*lines, "}" if suffix == ".java" else "", ""]).encode()


def real_files() -> Iterator[tuple[str, bytes]]:
    """Give some of the files of the packages installed, the same ones each time they are the same."""
    folder = Path(sysconfig.get_paths()["purelib"])
    packages = [entry for entry in os.scandir(folder) if entry.is_dir()]
    names = [
        os.path.relpath(os.path.join(directory, name), folder)  # noqa: PTH118 - ten thousands of them
        for package in packages
        for directory, _, names in os.walk(package.path)
        for name in names
        if os.path.splitext(name)[1] in _LANGUAGES  # noqa: PTH122
    ]
    names.sort(key=lambda name: zlib.crc32(name.encode()))
    by_suffix: dict[str, int] = {}
    for file in (folder / name for name in names):
        size = file.stat().st_size
        if 3_000 < size < _MAX_BYTES and by_suffix.setdefault(file.suffix, 0) < _FILES:
            by_suffix[file.suffix] += 1
            yield file.suffix, file.read_bytes()


def check(suffix: str, data: bytes) -> int:
    """Check the chunks of a file; return how many there are."""
    language = _LANGUAGES[suffix]
    lines = data.split(b"\n")
    chunks = cut_chunks(lines, definition_spans(definitions(language, data))[0], language=language)
    assert [line for start, end in chunks for line in range(start, end)] == list(range(chunks[-1][1]))
    tree = parse_tree(language, data, time.monotonic() + 30.0)
    assert tree is not None
    # Where macros confuse the parser it guesses, up to a signature of a thousand lines: such a file has no judge.
    nodes = [] if tree.root_node.has_error else [tree.root_node]
    within: set[int] = set()
    while nodes:
        node = nodes.pop()
        first, last = node.start_point[0], node.end_point[0]
        # The node of a Rust doc comment holds the end of its line.
        last -= node.end_point[1] == 0
        if last > first:
            if node.type in _SIGNATURES or "comment" in node.type:
                within.update(range(first + 1, last + 1))
            nodes += node.children
    # A comment longer than four chunks is cut all the same.
    starts = [start for start, end in chunks if end - start < 4 * MAX_CHUNK_LINES]
    wrong = [(start + 1, lines[start - 1 : start + 1]) for start in starts if start in within]
    assert not wrong, (language, wrong)
    return len(chunks)


def test_chunks_of_installed_files_begin_at_statements() -> None:
    """Of files in several languages, with the parser as the judge."""
    counts: dict[str, int] = {}
    for suffix, data in real_files():
        counts[suffix] = counts.get(suffix, 0) + check(suffix, data)
    assert counts[".py"] > 20
    assert len(counts) > 2


@pytest.mark.parametrize("suffix", sorted(MADE))
def test_chunks_of_long_functions_begin_at_statements(suffix: str) -> None:
    """Of files of functions that are longer than a chunk."""
    assert check(suffix, make_source(suffix)) > 6


def test_a_comment_is_with_what_it_is_about_or_left_out_whole() -> None:
    """Its first line opens it; one that is too long stays with what is above."""
    short = [b"x = 1;", b"/* Opens", b"   and has no stars", b"   and closes. */", b"int f(void) {"]
    assert lead_start(short, 4) == 1
    assert lead_start([b"int a;", *[b"// words"] * 90, b"int f(void) {"], 91) == 91
    assert lead_start([b"int a; /* of a", b" */", b"int f(void) {"], 2) == 2
    assert lead_start([b"# %%", b"# Read it.", b"def read():"], 2) == 1  # the marker of a cell is no comment


def test_sections_and_cells_are_chunks() -> None:
    """A comment in a block of code is no heading, and each cell of a notebook begins a chunk."""
    block = b"```sh\n# not a heading\n" + b"run\n" * 9 + b"```\n\n"
    text = b"# One\n\n" + b"words\n" * 9 + block + b"# Two\n" + b"words\n" * 9
    lines = text.split(b"\n")
    assert [lines[start] for start, _ in cut_chunks(lines, [], prose=True)] == [b"# One", b"# Two"]
    cell = b'  {\n   "cell_type": "code",\n   "source": [\n' + b'    "x",\n' * 9 + b"   ]\n  },\n"
    lines = (b'{\n "cells": [\n' + cell * 3 + b" ]\n}\n").split(b"\n")
    assert [lines[start].strip() for start, _ in cut_chunks(lines, [], prose=True)] == [b"{"] * 3

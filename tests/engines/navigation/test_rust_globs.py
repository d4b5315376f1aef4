"""Imports by `*` of Rust: each name of a file is followed once, however many imports lead on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import make_repo

GATES = "pub fn open_gate() {}\n"


@pytest.fixture
def canal(tmp_path: Path) -> Path:
    """A crate whose files import twelve modules by `*`, each of which begins with a name that any of them may have."""
    globs = "".join(f"use core::arch{number}::*;\n" for number in range(12))
    files = {
        "Cargo.toml": '[package]\nname = "canal"\n',
        "src/lib.rs": f"mod gates;\n{globs}use gates::*;\npub fn lift() {{\n    wheel::turn();\n    open_gate();\n}}\n",
        "src/gates.rs": f"{globs}{GATES}",
    }
    make_repo(tmp_path / "canal", files)
    return tmp_path


def test_imports_that_lead_nowhere_are_followed_in_time(canal: Path) -> None:
    with sl.open(canal) as code:
        # Before the definitions are indexed, files are parsed instead, and a warning says so.
        assert len(code.search("type:symbol lift", progress=False)) == 1
        began = time.perf_counter()
        definitions = code.go_to_definition(repo="canal", path="src/lib.rs", symbol="wheel")

    # With each name followed anew, four such imports took more than a minute.
    assert time.perf_counter() - began < 20
    assert definitions.empty


def test_a_name_behind_imports_by_star_is_found(canal: Path) -> None:
    with sl.open(canal) as code:
        assert len(code.search("type:symbol open_gate", progress=False)) == 1
        definitions = code.go_to_definition(repo="canal", path="src/lib.rs", symbol="open_gate")

    assert list(definitions["path"]) == ["src/gates.rs"]

"""Texts of repositories and queries that made an expression take quadratic or cubic time.

Each has 200,000 characters: in quadratic time that takes minutes, in cubic time days.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sourcelight
from sourcelight.core.batches.commit_messages import co_authors
from sourcelight.core.cells.json_lines import cell_text, item_text
from sourcelight.core.cells.scripts import read_script
from sourcelight.core.query.dates import duration_s
from sourcelight.engines.deepsearch.facts.unparsed_definitions import UNPARSED_LANGUAGES, reader_of
from sourcelight.engines.deepsearch.lookups.calls.callees import is_call
from sourcelight.engines.deepsearch.lookups.definitions.declarations import ends_declaration
from sourcelight.engines.deepsearch.lookups.manifests.fields import package_name
from sourcelight.engines.deepsearch.redaction import frame_text, redact
from sourcelight.engines.deepsearch.source.line_kinds import IMPORT_STATEMENT, VARIABLE
from sourcelight.engines.execution.natural_language import split_filters
from sourcelight.engines.history.people import parse_mailmap
from sourcelight.repos import Catalog
from sourcelight.repos.handles import included_files
from sourcelight.testing import make_repo

LENGTH = 200_000
MAX_CPU_S = 5.0

ATTACKS: dict[str, Callable[[], object]] = {
    "spaces in a trailer": lambda: co_authors(f"t\n\nCo-authored-by: x{' ' * LENGTH}y\n"),
    "spaces that git does not strip": lambda: co_authors(f"t\n\nCo-authored-by: {chr(0xA0) * LENGTH}y\n"),
    "brackets in a trailer": lambda: co_authors(f"t\n\nCo-authored-by: {'<' * LENGTH}\n"),
    "a marker of a cell": lambda: read_script(b"# %% " + b"%%" * (LENGTH // 2) + b"\nx = 1\n", "Python"),
    "a kind without its end": lambda: read_script(b"# %% " + b"%%[" * (LENGTH // 3) + b"\nx = 1\n", "Python"),
    "spaces behind a string": lambda: item_text('"a"' + " " * LENGTH + "x"),
    "spaces around a string": lambda: cell_text(" " * LENGTH + "x"),
    "spaces behind a value": lambda: cell_text('"key": "a"' + " " * LENGTH + "x"),
    "digits of a duration": lambda: duration_s("1" * LENGTH),
    "underscores before a secret": lambda: redact("_" * LENGTH),
    "secrets in one word": lambda: redact("token" * (LENGTH // 5)),
    "a frame that is closed from within": lambda: frame_text("<" + " " * LENGTH, "x", "0"),
    "spaces of an artifact": lambda: [package_name("pom.xml", ["<artifactId>" + " " * 1_000] * (LENGTH // 1_000))],
    "letters behind the parameters of a declaration": lambda: ends_declaration([f"int f(int a) {'A' * 100}x"], 1),
    "spaces of a mailmap": lambda: parse_mailmap(
        "a" + " " * LENGTH + "<a@example.org>" + " " * LENGTH + "<b@example.org>"
    ),
    "an open group of filters": lambda: split_filters('(repo:"' + " " * LENGTH),
    "words before the head of a function": lambda: is_call({"line": "fun " * (LENGTH // 4)}, "open_gate"),
    "spaces before a variable": lambda: VARIABLE.search("lookupEnv" + " " * LENGTH),
    "commas before a variable": lambda: VARIABLE.search("getEnvVarOwned(" * (LENGTH // 15)),
    "spaces of an import": lambda: IMPORT_STATEMENT.match("require" + " " * LENGTH),
    "digits of many durations": lambda: duration_s("1s" * (LENGTH // 2) + "x"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_long_text_takes_linear_time(name: str) -> None:
    start_s = time.process_time()
    ATTACKS[name]()
    assert time.process_time() - start_s < MAX_CPU_S


HOSTILE_LINES = [
    *(f"{word}{blank * LENGTH}" for word in ("", "type", "data instance", "const a", "A", "static const ", "function")
      for blank in (" ", "\t")),
    " open_gate*:" + " " * LENGTH,
    ".open_gate," * (LENGTH // 11),
]  # fmt: skip


@pytest.mark.parametrize("language", [name for name in sorted(UNPARSED_LANGUAGES) if reader_of(name, "x") is not None])
def test_forms_of_definitions_take_linear_time(language: str) -> None:
    read = reader_of(language, "open_gate")
    assert read is not None
    start_s = time.process_time()
    for line in HOSTILE_LINES:
        read(line)
    assert time.process_time() - start_s < MAX_CPU_S


def test_a_configuration_of_blank_lines_takes_linear_time(tmp_path: Path) -> None:
    """Each blank line was read to the last one: a configuration of 4 MB held up all that open the repository."""
    repo = make_repo(tmp_path / "r", {"a.txt": "x\n"})
    config = repo.path / ".git" / "config"
    (repo.path / ".git" / "more").write_text("[user]\nname = Ada\n")
    config.write_text(f"{config.read_text()}[include]{chr(10) * LENGTH}\tpath = more\n")
    start_s = time.process_time()
    assert len(Catalog.open([repo.path]).repositories) == 1
    assert time.process_time() - start_s < MAX_CPU_S
    git_dir = str(repo.path / ".git")
    assert included_files(git_dir, git_dir) == (os.path.realpath(repo.path / ".git" / "more"),)


def test_a_message_that_matches_everywhere_takes_linear_time(tmp_path: Path) -> None:
    """A message may have 8 MiB. Each match was counted from its start: an hour of CPU for one commit."""
    repo = make_repo(tmp_path / "src" / "r", {"a.txt": "x\n"})
    message = tmp_path / "message"
    message.write_text("é x " * 100_000 + "\n" + "x\n" * 200_000, "utf-8")
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    repo.git(*person, "commit", "-q", "--allow-empty", "-F", str(message))
    with sourcelight.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        start_s = time.process_time()
        rows = code.search("x type:commit count:all", pattern_type="regexp").matches
        assert time.process_time() - start_s < 20
    assert rows["match_count"].sum() == 300_000


@pytest.mark.parametrize(
    ("value", "person"),
    [
        ("Ada <ada@example.org>", ("Ada", "ada@example.org")),
        ("A < B <a@example.org>", ("A < B", "a@example.org")),
        ("\u3000Ada\u00a0 < a b > <c>", ("Ada", "a b")),
        ("<>", ("", "")),
        ("Ada >", None),
        ("Ada <a", None),
    ],
)
def test_a_person_is_what_precedes_the_first_address(value: str, person: tuple[str, str] | None) -> None:
    assert co_authors(f"t\n\nCo-authored-by: {value}\n") == ([] if person is None else [person])


@pytest.mark.parametrize(
    ("marker", "kind"),
    [
        (b"# %% [markdown]", "markdown"),
        (b"# %% title [md] {}", "markdown"),
        (b"# %% [raw]", "raw"),
        (b"# %% [x]", "code"),
        (b"# %%", "code"),
        (b"# %% %% [raw]", "raw"),
    ],
)
def test_the_kind_of_a_cell_is_in_its_marker(marker: bytes, kind: str) -> None:
    (cell,) = read_script(marker + b"\n# x\n", "Python").texts
    assert cell.kind == kind

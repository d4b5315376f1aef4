"""One rule says whether an answer is all there is: the same cause has the same status in every call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from git_output import git
from sourcelight.cli import main
from sourcelight.core.completeness import call_status, status_of, without_code
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.testing import RepositoryBuilder

Ask = Callable[[sl.Client], tuple[str, str]]


def builder(folder: Path) -> Path:
    files: dict[str, str | bytes] = {f"src/{name}.py": f"def needle_{name}():\n    return 1\n" for name in "abc"}
    RepositoryBuilder(folder / "one").commit(files | {"lost.py": "def needle_lost():\n    return 2\n"})
    RepositoryBuilder(folder / "two").commit({"b.py": "needle = 1\n"})
    return folder


def missing_blob(folder: Path) -> str:
    blob = git(folder / "one", "rev-parse", "HEAD:lost.py").strip()
    (folder / "one" / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return blob


def unreadable(folder: Path) -> str:
    (folder / "two" / ".git" / "config").write_text("[core\n")
    return "two"


def binary(folder: Path) -> str:
    RepositoryBuilder(folder / "three").commit({"x.bin": b"needle\0"})
    return ""


def too_large(folder: Path) -> str:
    RepositoryBuilder(folder / "three").commit({"x.txt": "needle\n" * 200_000})
    return ""


def nothing(folder: Path) -> str:
    del folder
    return ""


CAUSES = {
    "nothing": (nothing, "complete"),
    "binary": (binary, "complete"),
    "too large": (too_large, "complete"),
    "missing blob": (missing_blob, "limited"),
    "unreadable repository": (unreadable, "limited"),
}


def _search(query: str, **options: Any) -> Ask:
    def ask(code: sl.Client) -> tuple[str, str]:
        result = code.search(query, **options)
        return result.status, "; ".join(result.reasons)

    return ask


def _count_call(by: str | None) -> Ask:
    def ask(code: sl.Client) -> tuple[str, str]:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            frame = None if by is None else code.count_by("needle", by)
            if by is None:
                code.count("needle")
        reply = "; ".join(str(warning.message) for warning in noted)
        if frame is None:
            return ("limited" if noted else "complete"), reply
        assert bool(noted) == (frame.attrs["status"] == "limited")
        return frame.attrs["status"], frame.attrs["reasons"]

    return ask


def _called(call: Callable[[sl.Client], Any]) -> Ask:
    def ask(code: sl.Client) -> tuple[str, str]:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            frame = call(code)
        assert bool(noted) == (frame.attrs["status"] == "limited"), noted
        return frame.attrs["status"], " ".join(frame.attrs["notices"])

    return ask


CALLS: dict[str, Ask] = {
    "search": _search("needle"),
    "search of definitions": _search("type:symbol needle"),
    "search for files": _search("select:file needle"),
    "count": _count_call(None),
    "count by repository": _count_call("repository"),
    "count by language": _count_call("language"),
    "count by line": _count_call("line"),
    "keyword_search": _called(lambda code: code.keyword_search("needle")),
    "nls_search": _called(lambda code: code.nls_search("needle return")),
}
OF_ONE: dict[str, Ask] = {
    "go_to_definition": _called(lambda code: code.go_to_definition("one", "src/a.py", "needle_lost")),
    "find_references": _called(lambda code: code.find_references("one", "src/a.py", "needle_a")),
    "symbols": _called(lambda code: code.symbols("one")),
    "imports": _called(lambda code: code.imports("one")),
    "outline": _called(lambda code: code.outline("one", "lost.py")),
    "repo_map": _called(lambda code: code.repo_map("one")),
}
OF_OTHERS: dict[str, Ask] = {
    "symbols of a folder": _called(lambda code: code.symbols("one", path="src")),
    "outline of another file": _called(lambda code: code.outline("one", "src/a.py")),
    "list_files": _called(lambda code: code.list_files("one")),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_has_one_status_in_every_call(cause: str, tmp_path: Path) -> None:
    folder = builder(tmp_path / "src")
    harm, expected = CAUSES[cause]
    subject = harm(folder)
    with sl.open(folder, progress=False) as code:
        code.search("type:symbol needle count:all")  # definitions are known
        results = {name: ask(code) for name, ask in CALLS.items()}
    assert {name: status for name, (status, _) in results.items()} == dict.fromkeys(CALLS, expected)
    if cause == "missing blob":
        for name, (_, message) in results.items():
            assert "lost.py" in message, (name, message)
            assert subject in message, (name, message)


def test_navigation_names_the_contents_that_it_lacks(tmp_path: Path) -> None:
    """A definition in a missing file was said to stand nowhere in the repository, and the answer to be complete."""
    folder = builder(tmp_path / "src")
    blob = missing_blob(folder)
    with sl.open(folder, progress=False) as code:
        for name, ask in OF_ONE.items():
            status, message = ask(code)
            assert status == "limited", name
            assert f"lost.py (blob {blob})" in message, name
        assert {name: ask(code)[0] for name, ask in OF_OTHERS.items()} == dict.fromkeys(OF_OTHERS, "complete")
        with pytest.raises(sl.PathNotFound, match=r"lost\.py"):
            code.read_file("one", "lost.py")


def test_lists_of_repositories_name_those_that_can_not_be_read(tmp_path: Path) -> None:
    folder = builder(tmp_path / "src")
    unreadable(folder)
    with sl.open(folder, progress=False) as code:
        for query in ("", "o"):
            with pytest.warns(sl.IncompleteResultWarning, match="two"):
                assert code.list_repos(query).attrs["status"] == "limited"


CELLS = """
%%cell
code.count("needle"); code.count("needle")
%%cell
for by in ("repository", "language"):
    code.count_by("needle", by)
code.count("needle")
%%cell
code.count("repo:two needle count:1")
"""


def test_a_warning_is_shown_once_for_each_run_of_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    folder = builder(tmp_path / "src")
    missing_blob(folder)
    shell: Any = InteractiveShell.instance()
    displayed: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: displayed.append(str(message)))
    try:
        with sl.open(folder, progress=False) as code, warnings.catch_warnings():
            warnings.simplefilter("default")
            monkeypatch.setattr(warnings, "showwarning", lambda message, *_: displayed.append(str(message)))
            shell.push({"code": code})
            cells = CELLS.split("%%cell\n")[1:]
            for cell, expected in ((cells[0], 1), (cells[0], 1), (cells[1], 1), (cells[2], 0)):
                displayed.clear()
                shell.run_cell(cell, store_history=True).raise_error()
                assert len(displayed) == expected, (cell, displayed)
    finally:
        InteractiveShell.clear_instance()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[sl.Client]:
    with sl.open(builder(tmp_path / "src"), progress=False) as code:
        yield code


def test_a_part_that_was_asked_for_is_no_limit(client: sl.Client) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query, limit in (("needle count:2", None), ("needle", 2), ("(needle count:2)", None)):
            result = client.search(query, limit=limit)
            assert result.status == "partial", query
            assert result.attrs["limit_hit"]
            assert "Limited" not in result._repr_mimebundle_()["text/html"]
            assert "warn-color" not in result._repr_mimebundle_()["text/html"].rpartition("</style>")[2]
        assert "first 2 matches, limited by count:" in repr(client.search("needle count:2"))
        assert client.count("needle count:2") == 2
        assert client.count_by("needle count:2", "repository").attrs["status"] == "partial"
        assert client.search("needle count:50").status == "complete"
        assert client.commit_search(repos=["one", "two"], limit=1).attrs["status"] == "partial"


def test_what_is_missing_beside_a_part_is_told(tmp_path: Path) -> None:
    folder = builder(tmp_path / "src")
    missing_blob(folder)
    with sl.open(folder, progress=False) as code:
        result = code.search("needle select:file count:100")
        assert (result.status, len(result.reasons)) == ("limited", 1)


def test_a_count_says_how_many_repositories_have_matches(client: sl.Client) -> None:
    """The bar said 0 repositories above two rows."""
    for by in (None, "repository", "language", ["repository", "path"]):
        events: list[Any] = []
        if by is None:
            client.count("needle", progress=events.append)
        else:
            client.count_by("needle", by, progress=events.append)
        assert ("repositories", "2") in events[-1].fields, by
    assert client.count_by("no such text", "language").empty


def test_the_command_line_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = builder(tmp_path / "src")
    blob = missing_blob(folder)
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    for options in ((), ("--format", "csv"), ("--count-by", "repository")):
        main(["search", "needle", str(folder), *options])
        output = capsys.readouterr().err
        assert output.startswith("sourcelight: limited: ")
        assert "lost.py" in output
        assert blob in output
    main(["search", "needle count:2", str(folder / "two")])
    main(["search", "needle count:1", str(folder / "two")])
    assert capsys.readouterr().err.startswith("sourcelight: partial: first match, limited by count:")


LIMIT = Skipped("shard-match-limit", "result limit hit", "")
MISSING = Skipped("document-missing", "1 file missing: one: a (blob 1)", "", "warn")
FORK = Skipped("repository-fork", "1 forked", "")
LATE = Skipped("shard-timeout", "1 timed out", "", "warn")
DISPLAY = Skipped("display", "display limit hit", "")


@pytest.mark.parametrize(
    ("query", "matches", "skipped", "display", "status", "reasons"),
    [
        ("a", 3, (), -1, "complete", ()),
        ("a", 3, (FORK,), -1, "complete", ()),
        ("a", 10_000, (LIMIT,), -1, "limited", ("shard-match-limit: result limit hit",)),
        ("a count:5", 5, (LIMIT,), -1, "partial", ("first 5 matches, limited by count:",)),
        ("a count:all", 10_000, (LIMIT,), -1, "limited", ("shard-match-limit: result limit hit",)),
        # A service has one item for all of its limits: fewer matches than asked for are another limit's work.
        ("a count:500", 5, (LIMIT,), -1, "limited", ("shard-match-limit: result limit hit",)),
        ("(a count:5) or (b count:7)", 8, (LIMIT,), -1, "partial", ("first 8 matches, limited by count:",)),
        ("(a count:5) or b", 9_000, (LIMIT,), -1, "limited", ("shard-match-limit: result limit hit",)),
        ('"count:5"', 5, (LIMIT,), -1, "limited", ("shard-match-limit: result limit hit",)),
        ("a", 9, (DISPLAY,), 4, "partial", ("4 of 9 matches shown, limited by limit=",)),
        ("a", 9, (DISPLAY,), -1, "limited", ("display: display limit hit",)),
        ("a", 3, (LATE,), -1, "limited", ("shard-timeout: 1 timed out",)),
        (
            "a count:5",
            5,
            (LIMIT, MISSING),
            -1,
            "limited",
            ("document-missing: 1 file missing: one: a (blob 1)", "first 5 matches, limited by count:"),
        ),
    ],
)
def test_the_rule(
    query: str, matches: int, skipped: tuple[Skipped, ...], display: int, status: str, reasons: tuple[str, ...]
) -> None:
    kind = "keyword" if '"' in query else "standard"
    assert status_of(query, kind, matches, skipped, (), display=display) == (status, reasons)
    error = Alert("broken", "", "error")
    assert status_of(query, kind, matches, skipped, (error,), display=display)[0] == "failed"


@pytest.mark.parametrize(
    "alert",
    [
        Alert("Some repositories could not be searched", "", ""),
        Alert("Too many matching repositories", "", ""),
        Alert("Structural search needs more memory", "", ""),
        Alert("Invalid revision syntax", "", "warning"),
        Alert("Permissions syncing in progress", "", ""),
        Alert("Unable To Process Query", "", ""),
        Alert("Timed out while searching", "", ""),
        Alert("", "", "ownership-search-error"),
    ],
)
def test_an_alert_in_place_of_a_skipped_item_limits_the_answer(alert: Alert) -> None:
    reason = f"alert: {alert.title or alert.kind}"
    assert status_of("a", "standard", 3, (), (alert,)) == ("limited", (reason,))
    reasons = status_of("a", "standard", 3, (MISSING,), (alert,))[1]
    assert reasons[0].startswith("document-missing")
    assert status_of("a", "standard", 3, (), (Alert("A filter has no effect", "", "warning"),))[0] == "complete"


def test_the_rule_of_calls() -> None:
    assert call_status(complete=True, rows=3, limit=3) == "complete"
    assert call_status(complete=False, rows=3, limit=3) == "partial"
    assert call_status(complete=False, rows=2, limit=3) == "limited"
    assert call_status(complete=False, rows=2, limit=None) == "limited"


def test_what_a_search_of_several_left_out_is_said_with_its_name(tmp_path: Path) -> None:
    binary(builder(tmp_path))
    with sl.open(tmp_path, progress=False) as code:
        many = code.search_many({"a": "needle", "b": "return"}, progress=False)

    assert list(many.skipped["title"]) == ["1 binary file (search a)", "1 binary file (search b)"]
    assert "skipped 1 binary file (search a)" in many._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("document-missing: 3 files missing", "3 files missing"),
        ("repository-unreadable: 1 unreadable (a: damaged)", "1 repository unreadable (a: damaged)"),
        ("repository-missing: 1,200 not indexed", "1,200 repositories not indexed"),
        ("repository-missing: some are not indexed", "some are not indexed"),
        ("shard-timedout", "shard-timedout"),
        ("5 of 9 matches shown, limited by limit=", "5 of 9 matches shown, limited by limit="),
        ("alert: Search timed out", "alert: Search timed out"),
    ],
)
def test_people_read_reasons_without_the_codes_of_the_protocol(reason: str, words: str) -> None:
    assert without_code(reason) == words

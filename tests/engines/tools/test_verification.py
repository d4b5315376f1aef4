"""Citations of texts against git: what is verified, moved and rejected, and what is no citation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.engines.tools.verification import code_references
from sourcelight.testing.repositories import RepositoryBuilder

ONE = "example.org/cite/one"
LAMP = "def light(level):\n    return level\n\n\ndef shine():\n    return light(1)\n\n\nTWICE = 1\nTWICE = 1\n"


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("cite")
    builder = RepositoryBuilder(folder / "one", origin=f"https://{ONE}.git")
    first = builder.commit({"src/lamp.py": LAMP, "src/a/same.py": "a = 1\n", "src/b/same.py": "b = 1\n"}, "start")
    second = builder.commit({"src/lamp.py": f"# A lamp.\n{LAMP}", "notes.md": "x\n"}, "comment")
    other = RepositoryBuilder(folder / "two", origin="https://example.org/cite/two.git")
    other.commit({"own.go": "package two\n", "notes.md": "y\n"}, "start")
    return folder, [first, second]


@pytest.fixture(scope="module")
def folder(commits: tuple[Path, list[str]]) -> Path:
    return commits[0]


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("see src/lamp.py:3", "verified", ""),
        ("see `src/lamp.py:2-3`.", "verified", ""),
        ("see [lamp](src/lamp.py#L2-L3)", "verified", ""),
        ("see src/lamp.py#L11", "verified", ""),
        ("lamp.py:2 is enough where the name is unique", "verified", ""),
        ("see own.go:1, of another repository", "verified", ""),
        ("see src/lamp.py:12", "rejected", "the file has 11 lines"),
        ("see src/lamp.py:5-3", "rejected", "before its first"),
        ("see src/lantern.py:3", "rejected", "no such file"),
        ("see same.py:1", "rejected", "2 files have this path"),
        ("see notes.md:1", "rejected", "2 files have this path"),
        (f"{ONE}@{{first}}:src/lamp.py#L1-2", "verified", ""),
        (f"{ONE}@{{first}}:src/lamp.py#L11", "rejected", "has 10 lines"),
        (f"{ONE}@{'0' * 40}:src/lamp.py#L1", "rejected", "no revision"),
        ("example.org/cite/none@{first}:src/lamp.py#L1", "rejected", "no such repository"),
        (f"[x](https://host/{ONE}@{{first}}/-/blob/src/lamp.py?L1-2)", "verified", ""),
        (f"[x](https://host/{ONE}/-/blob/src/lamp.py?L99)", "rejected", "has 11 lines"),
        ("https://example.org/cite/one/blob/{first}/src/lamp.py#L1-L10", "verified", ""),
        ("https://example.org/cite/one/-/blob/{first}/src/lamp.py#L1-11", "rejected", "has 10 lines"),
        ("src/lamp.py:2-3\n```py\ndef light(level):\n    return level\n```", "verified", ""),
        ("src/lamp.py:2-3\n\n~~~\n    def light(level):\n        return level\n~~~", "verified", ""),
        ("```py src/lamp.py:2-3\ndef light(level):\n    return level\n```", "verified", ""),
        ("```py\ndef light(level):\n    return level\n```\nsrc/lamp.py:2-3", "verified", ""),
        ("src/lamp.py:1-2\n```py\ndef shine():\n    return light(1)\n```", "moved", "on lines 6 to 7"),
        ("src/lamp.py:1\n```py\nTWICE = 1\n```", "rejected", "several places: lines 10, 11"),
        ("src/lamp.py:2-3\n```py\ndef dark():\n    return level\n```", "rejected", "no such code"),
        ("src/lamp.py:1-11\n```py\n    return light(1)\n```", "verified", ""),
    ],
)
def test_a_citation_is_judged_by_git(
    code: sl.Client, commits: tuple[Path, list[str]], text: str, status: str, reason: str
) -> None:
    frame = code.verify(text.replace("{first}", commits[1][0]))
    assert frame["status"].tolist() == [status], frame.to_dict("records")
    assert reason in frame["reason"][0]
    assert (frame["reason"][0] == "") == (status == "verified")


def test_a_moved_quote_says_where_it_is(code: sl.Client) -> None:
    (row,) = code.verify("src/lamp.py:1-2\n```\ndef shine():\n    return light(1)\n```").to_dict("records")
    assert (row["new_path"], row["new_start_line"], row["new_end_line"]) == ("src/lamp.py", 6, 7)


@pytest.mark.parametrize(
    "text",
    [
        "at 12:30, version 1.2.3, or host:8080",
        "https://example.org/index.html and https://example.org/a.py:3",
        "name@example.org wrote 10.0.0.1:80",
        "```sh\npip install x\n```",
        "",
    ],
)
def test_other_text_is_no_citation(text: str) -> None:
    assert code_references(text) == []


def test_several_citations_of_a_line_are_found_in_order() -> None:
    result = code_references("a.py:1, then b/c.py#L2-L4 and\n[d](e.py#L5)")
    assert [(item.text_line, item.path, item.first, item.last) for item in result] == [
        (1, "a.py", 1, 1),
        (1, "b/c.py", 2, 4),
        (2, "e.py", 5, 5),
    ]


def test_a_repository_or_revision_beside_the_text_decides(code: sl.Client, commits: tuple[Path, list[str]]) -> None:
    assert code.verify("notes.md:1", repo=ONE)["repository"].tolist() == [ONE]
    assert code.verify("src/lamp.py:11", revision=commits[1][0])["status"].tolist() == ["rejected"]
    with pytest.raises(sl.RepositoryNotFound):
        code.verify("notes.md:1", repo="example.org/cite/none")


@pytest.mark.timeout(10)
def test_text_that_nests_without_end_costs_little() -> None:
    unit = 20_000
    lines = ["a/" * unit + "x:1", "a" * unit + "@" + "b." * unit, "https://h" + "/a" * unit, "[" * unit, "#L1" * unit]
    assert code_references("\n".join([*lines, *["```"] * 2001])) == []
    assert code_references("x.py:1 " * unit)[-1].path == "x.py"


@pytest.mark.usefixtures("code")
def test_the_command_and_the_function_give_the_same(commits: tuple[Path, list[str]], tmp_path: Path) -> None:
    answer = tmp_path / "answer.md"
    answer.write_text("see src/lamp.py:3\nand src/lamp.py:99\n", "utf-8")
    frame = sl.verify(answer.read_text("utf-8"), commits[0])
    assert frame["status"].tolist() == ["verified", "rejected"]
    program = "import sys; from sourcelight.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "verify", str(answer), str(commits[0])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "1: verified src/lamp.py:3",
        "2: rejected src/lamp.py:99: the file has 11 lines",
    ]
    assert "1 verified, 0 moved, 1 rejected" in done.stderr

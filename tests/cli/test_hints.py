"""A hint is said once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sourcelight.cli import main
from sourcelight.cli.output import for_terminals
from sourcelight.testing import RepositoryBuilder, make_repo


def test_a_refusal_names_its_hint_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    assert main(["search", "x timeout:5", str(tmp_path / "src")]) == 2
    assert capsys.readouterr().err.count("add a unit") == 1


@pytest.mark.parametrize("options", [[], ["--format", "csv"]])
def test_no_repository_and_what_to_try_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    make_repo(tmp_path / "src" / "click", {"a.txt": "isatty\n"})
    assert main(["search", "repo:clik isatty", str(tmp_path / "src"), *options]) == 1
    output = capsys.readouterr().err
    assert "No repositories found" in output
    assert "no match" in output
    assert main(["search", "ISATTY case:yes", str(tmp_path / "src"), *options]) == 1
    assert "try: " in capsys.readouterr().err


def test_no_match_names_what_was_not_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    repo.git("worktree", "add", "-q", "-b", "side", "../one-side")
    (tmp_path / "src" / "one" / "a.txt").write_text("uncommitted\n", "utf-8")
    assert main(["search", "uncommitted", str(tmp_path / "src")]) == 1
    output = capsys.readouterr().err
    assert "not searched: 1 changed file; add --worktree to search work trees\n" in output
    assert "not searched: 1 linked work tree\n" in output
    assert main(["search", "uncommitted", str(tmp_path / "src"), "--worktree"]) == 0
    assert "not searched" not in capsys.readouterr().err


def test_matches_name_the_text_that_was_not_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = "needle and more text\n" * 200_000  # 4.2 MB: above the default of `search.maxFileSize`
    make_repo(tmp_path / "src" / "one", {"a.txt": "needle\n", "large.txt": large, "binary": "needle\0\n"})
    assert main(["search", "needle", str(tmp_path / "src")]) == 0
    printed = capsys.readouterr()
    assert "large.txt" not in printed.out
    assert printed.err.count("not searched: 1 large file") == 1
    assert "binary" not in printed.err
    assert main(["search", "and", str(tmp_path / "src")]) == 1
    assert "not searched: 1 binary file" in capsys.readouterr().err


def test_a_missing_revision_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    assert main(["search", "repo:one@nope x", str(tmp_path / "src")]) == 2
    output = capsys.readouterr().err
    assert "Requested, but not searched: `one@nope`: no such revision\n" in output
    limited = next(line for line in output.splitlines() if "limited" in line)
    assert "one@nope: no such revision" in limited


@pytest.mark.parametrize("options", [["-o", "o.csv"], ["-o", "o.txt", "--format", "table"],
                                     ["-o", "o.csv", "--count-by", "repository"]])  # fmt: skip
def test_a_folder_to_write_to_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    target = tmp_path / "nowhere" / options[1]
    assert main(["search", "x", str(tmp_path / "src"), "-o", str(target), *options[2:]]) == 2
    assert f"{target.parent}: this directory does not exist" in capsys.readouterr().err


def test_hints_name_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": "needle\n"}, "begin", author="Ada One <ada@example.org>")
    repo.commit({"a.txt": "needle\nneedle\n"}, "more", author="A. One <ada@example.org>")
    page = tmp_path / "out.md"
    arguments = ["report", "contributors", str(tmp_path / "src"), "-o", str(page)]
    assert main(arguments) == 0
    for text in (capsys.readouterr().err, page.read_text(encoding="utf-8").replace("\\", "")):
        assert "--no-join-addresses keeps the names separate" in text
        assert "join_addresses=" not in text
    tables = [*arguments[:3], "-o", f"{tmp_path / 'tables'}/", "--tables", "csv"]  # figures take seconds
    assert main([*tables, "--no-join-addresses"]) == 0
    assert "join_addresses" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 file was not searched. Open with worktree=True to search it", "Pass --worktree to search it"),
        ("set SRC_ACCESS_TOKEN or pass token=", "set SRC_ACCESS_TOKEN"),
        ("2 files are not proven; exact=True proves it.", "in Python, ownership(exact=True) proves it."),
    ],
)
def test_parameters_of_python_become_options(text: str, expected: str) -> None:
    assert for_terminals(text).endswith(expected)


def test_citations_lead_to_the_code_host_or_name_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = {}
    for name, origin in (("hosted", "https://github.com/acme/demo"), ("local", "")):
        repo = RepositoryBuilder(tmp_path / name / "demo", origin=origin)
        repo.commit({"a.py": "def needle():\n    return 1\n"}, "begin")
        assert main(["ask", "Where is needle defined?", str(tmp_path / name)]) == 0
        messages[name] = capsys.readouterr().out
    assert "a.py#L1-L2](<https://github.com/acme/demo/blob/" in messages["hosted"]
    assert "a.py#L1-L2)" in messages["local"]
    assert "](/" not in "".join(messages.values())


def test_a_warning_is_a_message_and_shows_no_code(tmp_path: Path) -> None:
    make_repo(tmp_path / "src" / "inner" / "one", {"a.txt": "x\n"})
    (tmp_path / "src" / "inner" / "repos.toml").write_text("", "utf-8")
    command = [sys.executable, "-c", "from sourcelight.cli import main; raise SystemExit(main())", "search", "x"]
    environment = {**os.environ, "SOURCELIGHT_HOME": str(tmp_path / "home")}
    process = subprocess.run(
        [*command, str(tmp_path / "src")], env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0
    root = tmp_path / "src"
    message = f"{root}/inner/repos.toml is not read: settings of repositories belong in {root}/repos.toml"
    assert process.stderr == f"sourcelight: {message}\n"


def test_a_fork_that_was_not_searched_is_named_with_its_filter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "forked"):
        make_repo(tmp_path / "src" / name, {"a.txt": "needle\n"})
    (tmp_path / "src" / "repos.toml").write_text("[repositories.forked]\nfork = true\n", "utf-8")
    assert main(["search", "nothing", str(tmp_path / "src")]) == 1
    assert "not searched: 1 forked repository; add fork:yes to the query\n" in capsys.readouterr().err


def test_many_warnings_about_repositories_leave_room_for_matches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A home directory with hundreds of clones of one name printed as many lines before the first match."""
    for number in range(9):
        make_repo(tmp_path / "src" / f"copy{number}" / "demo", {"a.txt": "x\n"})
    assert main(["search", "x count:1", str(tmp_path / "src")]) == 0
    error = capsys.readouterr().err
    assert error.count("both named demo") == 5
    assert "3 more warnings about repositories; `sourcelight repos` prints all\n" in error

    assert main(["repos", str(tmp_path / "src")]) == 0
    assert capsys.readouterr().err.count("both named demo") == 8

"""Commands as a shell runs them: exit status, standard output, standard error, files."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.conftest import Run
from server.loopback_tls import TLS
from server.running_service import BOUND_S, TOKEN, ScriptedEngine, running
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Done, Progress
from sourcelight.testing.repositories import RepositoryBuilder

COMMAND = [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    RepositoryBuilder(folder / "one", origin="https://example.org/a/one.git").commit(
        {"src/main.py": "def needle():\n    return 1\n", "evil\x1b[31m.txt": "needle \x1b[2J\n"}, "start"
    )
    RepositoryBuilder(folder / "two", origin="https://example.org/a/two.git").commit(
        {"main.go": "package needle\n", "more.go": "needle needle\n" * 30}, "start"
    )
    return folder


def test_matches_are_printed_under_their_file_and_made_harmless(run: Run, folder: Path) -> None:
    status, out, err = run("search", "needle repo:one", folder)
    assert (status, err) == (0, "")
    assert "example.org/a/one  src/main.py\n      1  def needle():\n" in out
    assert "\x1b" not in out
    assert "␛[2J" in out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("search",), "QUERY"),
        (("nonsense",), "nonsense"),
        (("search", "x", "--format", "xml"), "xml"),
        (("search", "x", ".", "--url", "http://h"), "not both"),
        (("search", "x", "-o", "file.unknown"), "--format"),
        (("search", "-retry"), "; put -- before a text that starts with a dash (see"),
        (("search", "x", "--count-by", "colour"), "repository, language, path"),
        (("search", "x", "--timeout", "soon"), "--timeout"),
        (("index", "--prune"), "--prune"),
        (("index", "--kind", "text"), "--prune"),
        (("index", "--prune", "--kind", "everything"), "kind"),
        (("search", "x", "-n", "0"), "-n"),
        (("index", ".", "--workers", "0"), "workers"),
        (("serve", ".", "--port", "70000"), "port"),
        (("serve", ".", "--port", "0", "--config", "absent.json"), "absent.json"),
        (("clone",), "URL"),
    ],
)
def test_wrong_usage_is_status_2_and_one_line(run: Run, arguments: tuple[str, ...], word: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("sourcelight: ")
    assert err.count("\n") == 1
    assert not re.search("Value error|Input should|unable to parse", err), "words of the library that checks options"
    assert word in err


@pytest.mark.parametrize("query", ["/[/", "count:0 x", "lang:klingon x"])
def test_a_query_at_fault_is_status_2_and_one_line(run: Run, folder: Path, query: str) -> None:
    status, out, err = run("search", query, folder)
    assert (status, out) == (2, "")
    assert err.startswith("sourcelight: ")
    assert err.count("\n") == 1


def test_a_folder_that_is_absent_is_status_2_and_one_line(run: Run, tmp_path: Path) -> None:
    status, _, err = run("search", "x", tmp_path / "absent")
    assert status == 2
    assert err.startswith("sourcelight: no repository found")
    assert err.count("\n") == 1


def test_an_answer_that_is_not_complete_says_so(run: Run, folder: Path) -> None:
    status, _, err = run("search", "needle count:2", folder)
    assert status == 0
    assert err == "sourcelight: partial: first 2 matches, limited by count:\n"


@pytest.mark.parametrize("options", [(), ("--format", "jsonl"), ("--count-by", "repository")])
def test_no_match_is_status_1_and_said(run: Run, folder: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    status, _, err = run("search", "nothing-of-this", folder, *options)
    assert (status, err) == (1, "sourcelight: no match\n")
    file = tmp_path / "none.csv"
    status, out, err = run("search", "nothing-of-this", folder, "-o", file)
    assert (status, out, err) == (1, "", f"sourcelight: wrote 0 rows to {file}\nsourcelight: no match\n")


def test_no_match_in_a_part_is_a_failure(run: Run, folder: Path) -> None:
    """A script that takes status 1 for "it is not there" is right only when everything was searched."""
    status, _, err = run("search", "nothing-of-this timeout:1us", folder)
    assert status == 2, err
    assert "limited" in err
    assert err.endswith("no match in the part that was searched\n")


def test_a_question_without_an_answer_is_status_1(run: Run, folder: Path) -> None:
    status, out, err = run("ask", "What is the quokkafoo?", folder)
    assert (status, err) == (
        1,
        "sourcelight: no answer: found no evidence; name a file, a symbol or a text in the question\n",
    )
    assert out
    assert run("ask", "Where is needle defined?", folder)[0] == 0


def test_a_question_that_fails_says_why_once_and_suggests_names(run: Run, folder: Path) -> None:
    name = run("search", "needle select:repo", folder)[1].split()[0]
    status, out, err = run("ask", "Where is needle defined?", folder, "--repo", f"{name}x")
    assert (status, out) == (2, "")
    assert err.count("no repository of this name can be searched") == 1
    assert "`sourcelight repos` lists" in err
    assert f"did you mean {name}" in err
    status, out, err = run("ask", "Where is needle defined?", folder, "--revision", "v99")
    assert (status, out, err.count("can't be answered")) == (2, "", 1)
    assert err.count("revision not found") == 2  # one for each repository


def test_an_unknown_kind_of_result_is_said_once(run: Run, folder: Path) -> None:
    for word in ("needle", "haystack"):
        err = run("search", f"type:bla {word}", folder)[2]
        assert err.count("type:bla isn't a kind of result") == 1
        assert "has no kind of result" not in err


@pytest.mark.parametrize(
    ("options", "rows", "notice"),
    [
        ((), 2, "partial: 2 of 63 matches shown, limited by -n"),
        (("--format", "jsonl"), 2, "partial: 2 of 63 matches shown, limited by -n"),
        (("--count-by", "path"), 2, "partial: 2 of 4 groups shown, limited by -n"),
    ],
)
def test_a_limit_says_what_it_holds_back(
    run: Run, folder: Path, options: tuple[str, ...], rows: int, notice: str
) -> None:
    status, out, err = run("search", "needle", folder, "-n", "2", *options)
    assert (status, err) == (0, f"sourcelight: {notice}\n")
    assert len([line for line in out.splitlines() if "needle" in line or ".go" in line or "evil" in line]) >= rows
    status, _, err = run("search", "needle", folder, "-n", "1000", *options)
    assert (status, err) == (0, "")


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_files_hold_every_match(run: Run, folder: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"out.{form}"
    status, out, err = run("search", "needle count:all", folder, "-o", file)
    assert (status, out, err) == (0, "", f"sourcelight: wrote 33 rows to {file}\n")
    if form == "parquet":
        assert sum(pq.read_table(file).column("match_count").to_pylist()) == 63
    else:
        assert len(file.read_text(encoding="utf-8").splitlines()) == 33 + (form == "csv")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_csv_is_for_programs_unless_it_is_for_a_spreadsheet(run: Run, tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "one").commit({"=a.txt": "=needle()\n\tneedle\n"})
    for options in ((), ("--count-by", "path")):
        results = []
        for extra in ((), ("--spreadsheet",)):
            status, out, err = run("search", "needle", tmp_path / "src", "--format", "csv", *options, *extra)
            assert (status, err) == (0, "")
            results.append(list(csv.DictReader(io.StringIO(out, newline=""))))
        raw_rows, safe = results
        assert {row["path"] for row in raw_rows} == {"=a.txt"}
        assert {row["path"] for row in safe} == {"'=a.txt"}
        assert [row.get("line") for row in raw_rows] in ([None], ["=needle()", "\tneedle"])
    status, _, err = run("search", "needle", tmp_path / "src", "--spreadsheet")
    assert status == 2
    assert "--spreadsheet needs the format csv, got table" in err


def test_a_table_can_go_into_a_file(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("search", "needle file:main.py", folder, "--format", "table", "-o", tmp_path / "x.txt")[0] == 0
    assert "def needle" in (tmp_path / "x.txt").read_text(encoding="utf-8")


def test_counts_are_added_up(run: Run, folder: Path) -> None:
    status, out, _ = run("search", "needle", folder, "--count-by", "repository")
    assert status == 0
    assert re.search(r"^example.org/a/two +61 +2$", out, re.MULTILINE)
    status, out, _ = run("search", "needle", folder, "--count-by", "repository,path", "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert {"repository": "example.org/a/two", "path": "more.go", "matches": 60, "files": 1} in rows


def test_a_count_without_a_match_says_why(run: Run, folder: Path) -> None:
    """Counts say what a search says of its query."""
    status, _, err = run("search", "repo:nowhere needle", folder, "--count-by", "repository")
    assert status == 1
    assert "No repository passes the filters of this query" in err
    assert err.endswith("sourcelight: no match\n")


def test_rows_of_commits_name_their_commit(run: Run, tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "src" / "one")
    repository.commit({"a.txt": "needle\n"}, "add a needle\n\nAnother needle.")
    commit = repository.git("rev-parse", "HEAD").strip()[:12]
    message = run("search", "type:commit needle", tmp_path / "src")[1].splitlines()
    assert commit in message[0]
    assert [line.strip() for line in message[1:]] == ["1  add a needle", "3  Another needle."]
    changed = run("search", "type:diff needle", tmp_path / "src")[1].splitlines()
    assert commit in changed[0]
    assert changed[0].endswith("  a.txt")


def test_repositories_are_listed(run: Run, folder: Path) -> None:
    status, out, _ = run("repos", folder)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["example.org/a/one", "example.org/a/two"]


def test_the_index_is_built_shown_and_pruned(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    assert run("index", folder, "--max-index-size", "2GB")[1].startswith("indexed 2 repositories")
    assert "2 already current" in run("index", folder)[1]
    assert "example.org/a/one" in run("index", "--status")[1]
    assert "example.org/a/one" not in run("index", "--status", folder / "two")[1]
    assert "kept the indexes of 1 repository" in run("index", "--prune", folder / "two")[1]
    assert "example.org/a/one" not in run("index", "--status")[1]


def test_a_clone_is_made_and_brought_up_to_date(run: Run, folder: Path, tmp_path: Path) -> None:
    status, out, _ = run("clone", folder / "one", "--dest", tmp_path)
    assert status == 0
    assert (Path(out.strip()) / "HEAD").exists()
    assert run("clone", folder / "one", "--dest", tmp_path)[:2] == (0, out)
    status, out, err = run("clone", folder / "absent", folder / "two", "--dest", tmp_path)
    assert status == 2
    assert err.count("\n") == 1
    assert out.count("\n") == 1


@pytest.mark.parametrize("command", ["", "index", "search", "serve", "repos", "clone", "lab"])
def test_help_is_complete(run: Run, command: str) -> None:
    status, out, err = run(*([command] if command else []), "--help")
    assert (status, err) == (0, "")
    for part in re.split(r"\n(?=  -|  [A-Za-z.]+(?: <[^>]*>)? {2})", out.partition("Options:")[2])[1:]:
        assert re.search(r"\S {2,}\S|\n {10,}\S", part), part


@pytest.mark.parametrize(
    "command",
    [
        *("index", "search", "explain", "verify", "ask", "serve", "worker", "mcp", "repos", "clone", "sync", "lab"),
        *("samples", "report contributors", "report changes", "admin token create", "admin audit"),
    ],
)
def test_help_shows_no_type_of_python(run: Run, command: str) -> None:
    out = run(*command.split(), "--help")[1]
    assert re.search(r"<(?:str|int|float|bool|Path|list\b)|\b(?:list|tuple)\[", out) is None, out


def test_no_line_of_the_list_of_commands_is_cut_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in [[], ["admin"], ["report"]]:
        listing = run(*words, "--help")[1].partition("Commands:\n")[2]
        assert listing
        assert [line for line in listing.splitlines() if line.endswith("...")] == []


@pytest.mark.parametrize(
    ("arguments", "current"),
    [
        (("index", "--max-bytes", "5"), "--max-index-size"),
        (("index", "--work", "x"), "--build-dir"),
        (("worker", "--cache", "x"), "--cache-dir"),
        (("worker", "--threads=2"), "--build-threads"),
        (("clone", "u", "--into", "x"), "--dest"),
        (("lab", "--into", "x"), "--dest"),
        (("report", "contributors", "--since", "2024-01-01"), "--after"),
        (("report", "contributors", "--until=2024-01-01"), "--before"),
        (("report", "contributors", "--by", "year"), "--period"),
        (("admin", "oauth-client", "create", "x", "--redirect", "http://h"), "--redirect-uri"),
        (("admin", "oauth-client", "end-grant", "7"), "admin oauth-client revoke-grant"),
        (("query", "explain", "x"), "sourcelight explain"),
    ],
)
def test_a_former_name_is_wrong_usage_and_names_the_current_one(
    run: Run, arguments: tuple[str, ...], current: str
) -> None:
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "is now" in err
    assert current in err


@pytest.mark.parametrize("size", ["5 apples", "-1", "0", ""])
def test_a_size_that_is_none_is_wrong_usage(run: Run, folder: Path, size: str) -> None:
    status, _, err = run("index", folder, f"--max-index-size={size}")
    assert (status, err.count("\n")) == (2, 1)
    assert "--max-index-size" in err


def test_version(run: Run) -> None:
    assert re.fullmatch(r"sourcelight \d+\.\d+\.\d+\n", run("--version")[1])


def test_the_command_line_loads_nothing_heavy() -> None:
    script = (
        "import sys; from sourcelight.cli import main; main(['--version']);"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'pygit2', 'starlette', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_is_no_fault(folder: Path) -> None:
    with _process(*COMMAND, "search", "needle count:all", str(folder), "--format", "jsonl") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(30) == 0


def test_a_terminal_gets_highlights(folder: Path) -> None:
    ours, theirs = pytest.importorskip("pty").openpty()
    command = [*COMMAND, "search", "needle file:main.py", str(folder)]
    environment = os.environ | {"TERM": "xterm", "NO_COLOR": ""}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        text = b""
        # The end of a terminal is an error on Linux.
        with contextlib.suppress(OSError):
            while portion := os.read(ours, 4096):
                text += portion
        os.close(ours)
        assert process.wait(30) == 0
    assert b"def \x1b[1;31mneedle\x1b[0m()" in text


def _batch(line: str = "needle") -> MatchBatch:
    batch = pa.record_batch(
        {
            "type": pa.array(["content"]).dictionary_encode(),
            "repository": pa.array(["r"]).dictionary_encode(),
            "path": pa.array(["p"]).dictionary_encode(),
            "line_number": pa.array([1], pa.int32()),
            "line": pa.array([line]),
            "start": pa.array([[0]], pa.list_(pa.int32())),
            "end": pa.array([[6]], pa.list_(pa.int32())),
            "match_count": pa.array([1], pa.int32()),
        }
    )
    return MatchBatch(batch, (RepositoryInfo("r"),))


def test_an_interrupt_is_status_130_and_keeps_what_arrived(tmp_path: Path) -> None:
    # Long enough to leave the buffer of the file, which tells that it has arrived.
    line = "needle" * 100_000

    def endless(_: Any, __: Any, cancellation: Cancellation) -> Iterator[Event]:
        yield _batch(line)
        yield Progress(done=False, match_count=1, duration_ms=1)
        bound = Cancellation(2 * BOUND_S)
        while not (cancellation.stopped or bound.expired):
            threading.Event().wait(0.01)

    engine = ScriptedEngine(endless)
    with running(engine) as service:
        command = [*COMMAND, "search", "needle", "--url", service.url, "-o", str(tmp_path / "x.jsonl")]
        with _process(*command, SRC_ACCESS_TOKEN=TOKEN) as process:
            assert engine.begun.wait(BOUND_S)
            _eventually(lambda: any(path.stat().st_size for path in tmp_path.iterdir()))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=BOUND_S)
        assert engine.released.wait(BOUND_S)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in err
    assert "Traceback" not in err
    (partial_file,) = tmp_path.iterdir()
    assert partial_file.name == "x.partial.jsonl"
    assert json.loads(partial_file.read_text(encoding="utf-8"))["line"] == line


@pytest.mark.parametrize("group", [("admin",), ("admin", "user"), ("report",)])
def test_a_group_of_commands_prints_its_help(run: Run, group: tuple[str, ...]) -> None:
    assert run(*group) == run(*group, "--help")


def test_a_directory_in_the_place_of_the_query_is_named(run: Run, folder: Path, tmp_path: Path) -> None:
    status, out, err = run("ask", folder)
    assert (status, out) == (2, "")
    assert f"{folder} is a directory, and the question is missing" in err
    status, _, err = run("search", folder, "needle")
    assert status == 2
    assert f"{folder} is a directory: write QUERY before PATH" in err
    hint = f"sourcelight: no match\nsourcelight: {tmp_path} is a directory: write QUERY before PATH\n"
    for options in ([], ["--count-by", "path"], ["--format", "csv"]):
        with contextlib.chdir(folder):
            status, _, err = run("search", tmp_path, *options)
        assert (status, err) == (1, hint), options


def test_what_is_searched_in_place_of_the_path_is_said(run: Run, folder: Path, tmp_path: Path) -> None:
    below = folder / "one" / "src"
    status, out, err = run("search", "needle file:main", below)
    assert (status, out.splitlines()[-1]) == (0, "      1  def needle():")
    assert err == f"sourcelight: {below} is part of {folder / 'one'}: the whole repository is searched\n"

    unborn = RepositoryBuilder(tmp_path / "unborn")
    unborn.commit({"a.txt": "needle\n"})
    unborn.git("symbolic-ref", "HEAD", "refs/heads/nothing")
    status, _, err = run("search", "needle", tmp_path)
    assert status == 0
    assert "HEAD names a branch that does not exist; main is searched instead\n" in err


def test_a_missing_scip_file_is_said_once(run: Run, folder: Path, tmp_path: Path) -> None:
    status, out, err = run("index", folder, "--scip", tmp_path / "absent.scip")
    assert (status, out) == (2, "")
    assert err.count("absent.scip") == 1


def test_a_file_as_path_is_told_from_a_missing_one(run: Run, folder: Path) -> None:
    status, _, err = run("search", "needle", folder / "one" / "src" / "main.py")
    assert status == 2
    assert "this is a file; pass its directory, and filter by file: in the query" in err


def test_what_could_not_be_read_is_named(run: Run, tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "good").commit({"a.txt": "needle\n", "large.txt": "needle\n" * 400_000})
    bad = RepositoryBuilder(tmp_path / "bad")
    bad.commit({"a.txt": "needle\n"})
    (bad.path / ".git" / "config").write_text("[core\n")
    status, out, err = run("search", "needle", tmp_path)
    assert (status, out) == (0, "good  a.txt\n      1  needle\n")
    assert f"limited: 1 repository unreadable ({bad.path}: " in err
    assert "not searched: 1 large file\n" in err


def test_a_dash_and_the_device_of_standard_output_are_standard_output(folder: Path, tmp_path: Path) -> None:
    device = tmp_path / "stdout"
    device.symlink_to("/dev/fd/1")
    for output in ("-", device):
        done = subprocess.run(
            [*COMMAND, "search", "needle repo:one", str(folder), "-o", str(output), "--format", "csv"],
            cwd=tmp_path, capture_output=True, text=True, timeout=BOUND_S, check=True,
        )  # fmt: skip
        assert {row["path"] for row in csv.DictReader(io.StringIO(done.stdout))} == {"evil\x1b[31m.txt", "src/main.py"}
    assert list(tmp_path.iterdir()) == [device]
    assert device.is_symlink()


def test_a_service_is_asked_by_url_or_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def events(*_: Any) -> Iterator[Event]:
        yield _batch()
        yield Progress(done=True, match_count=1, duration_ms=1)
        yield Done()

    with running(ScriptedEngine(events)) as service:
        monkeypatch.setenv("SRC_ACCESS_TOKEN", TOKEN)
        assert run("search", "needle", "--url", service.url)[:2] == (0, "r  p\n      1  needle\n")
        monkeypatch.setenv("SRC_ENDPOINT", service.url)
        assert run("search", "needle")[:2] == (0, "r  p\n      1  needle\n")
        monkeypatch.setenv("SRC_ACCESS_TOKEN", "wrong")
        status, out, err = run("search", "needle")
        assert (status, out) == (2, "")
        assert "wrong" not in err
        assert err.count("\n") == 1


def test_ctrl_c_while_modules_load_is_no_traceback() -> None:
    """A person who stopped a command in its first third of a second saw a traceback of an import."""
    interrupt = (
        "import sys; from sourcelight.cli import main\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'sourcelight.cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt()); sys.exit(main())"
    )
    with _process(sys.executable, "-c", interrupt, "repos", "src") as process:
        out, err = process.communicate(timeout=BOUND_S)
    assert (process.returncode, out, err) == (130, "", "sourcelight: interrupted\n")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_serve_prints_its_address_and_token_and_stops_in_order(
    folder: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    config = tmp_path / "site.json"
    config.write_text('{"auth.public": false}', encoding="utf-8")
    command = [*COMMAND, "serve", str(folder), "--port", "0", "--config", str(config)]
    with _process(*command, SOURCELIGHT_HOME=str(tmp_path / "home")) as process:
        assert process.stdout is not None
        first, second, third = (process.stdout.readline() for _ in range(3))
        url = re.search(r"serves 2 repositories on (http://127\.0\.0\.1:\d+)$", first.strip())
        token = re.search(r"owner token \(shown only once\): (\S+)$", second.strip())
        assert url is not None
        assert token is not None
        headers = {"Authorization": f"token {token[1]}"}
        answer = httpx2.get(
            f"{url[1]}/.api/search/stream", params={"q": "needle"}, headers=headers, trust_env=False, verify=TLS
        )
        assert answer.content.endswith(b"event: done\ndata: {}\n\n")
        assert httpx2.get(f"{url[1]}/.api/search/stream?q=x", trust_env=False, verify=TLS).status_code == 401
        process.send_signal(number)
        out, err = process.communicate(timeout=BOUND_S)
    assert process.returncode == status
    assert third == f"MCP clients connect to {url[1]}/.api/mcp\n"
    assert out == ""
    assert token[1] not in err
    assert "needle" not in err
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_told_before_anything_is_indexed(run: Run, tmp_path: Path) -> None:
    with running(ScriptedEngine(lambda *_: iter(()))) as service:
        status, out, err = run("serve", tmp_path, "--port", service.url.rpartition(":")[2])
    assert (status, out) == (2, "")
    assert "--port" in err


def test_lab_names_the_missing_extra(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    status, _, err = run("lab", "--dest", tmp_path)
    assert status == 2
    assert "sourcelight[lab]" in err
    assert "pip install -e '.[lab]'" in err  # this is a checkout


def test_notebooks_are_copied_once_and_never_over_the_readers_own(tmp_path: Path) -> None:
    from sourcelight.cli.lab import copy_notebooks, shipped_notebooks

    copy_notebooks(tmp_path / "mine")
    names = {path.name for path in (tmp_path / "mine").iterdir()}
    assert names == {path.name for path in shipped_notebooks().glob("*.ipynb")}
    for name in names:
        (tmp_path / "mine" / name).write_text("my work", encoding="utf-8")
    copy_notebooks(tmp_path / "mine")
    assert all((tmp_path / "mine" / name).read_text(encoding="utf-8") == "my work" for name in names)


@contextlib.contextmanager
def _process(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ | environment) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_sample_repositories_are_built_once(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    assert run("samples", folder) == (0, f"{folder}\n", "")
    result = (folder / "hub" / ".git").stat().st_mtime_ns
    status, out, err = run("samples", folder)
    assert (status, out) == (0, f"{folder}\n")
    assert err == f"sourcelight: {folder} already exists and stays unchanged\n"
    assert (folder / "hub" / ".git").stat().st_mtime_ns == result


def _eventually(claim: Callable[[], bool]) -> None:
    bound = Cancellation(BOUND_S)
    while not claim():
        assert not bound.expired
        threading.Event().wait(0.01)


def test_a_query_is_explained_without_a_search(run: Run, folder: Path) -> None:
    status, out, err = run("explain", "needle lang:go or x\x1b", folder)
    assert (status, err) == (0, "")
    assert "lang:go" in out
    assert "example.org/a/one" in out
    assert "\x1b" not in out
    status, _, err = run("explain", "/(/", folder)
    assert status == 2
    assert err.startswith("sourcelight: ")
    assert run("explain", "x", folder, "--url", "http://127.0.0.1:9")[0] == 2


def test_the_list_of_commands_cuts_no_sentence(run: Run) -> None:
    for words in ((), *(("admin", name) for name in ("user", "role", "token", "oauth-client", "repo")), ("report",)):
        _, out, _ = run(*words, "--help")
        assert not [line for line in out.splitlines()[1:] if line.endswith("...")], words

"""Magics hand their text to a client untouched, keep what was asked to be kept, and say what is wrong in a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import sourcelight as sl
from client.scripted import COMPLETE, ScriptedBackend, shorten_waits
from sourcelight.client import Client
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import table_of
from sourcelight.lab.magics.magics import SourcelightMagics

pytestmark = pytest.mark.filterwarnings("default")  # of the shell's own making


@pytest.fixture(scope="module")
def interactive_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        shell = InteractiveShell()
        shell.history_manager.end_session()
        yield shell
        shell.restore_sys_module_state()


@pytest.fixture
def shell(interactive_shell: Any) -> Iterator[Any]:
    """A shell with the extension newly loaded, and a scripted client `code`."""
    before = set(interactive_shell.user_ns)
    sl.load_ipython_extension(interactive_shell)
    interactive_shell.user_ns["code"] = Client(ScriptedBackend(COMPLETE))
    yield interactive_shell
    sl.unload_ipython_extension(interactive_shell)
    for name in set(interactive_shell.user_ns) - before:
        del interactive_shell.user_ns[name]


def run(shell: Any, cell: str) -> Any:
    """The value of a cell's last expression."""
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


def last_query(shell: Any, name: str = "code") -> str:
    """The query that a scripted client got last."""
    return str(shell.user_ns[name].backend.requests[-1].query)


def test_a_query_reaches_the_client_as_it_stands(shell: Any) -> None:
    shell.user_ns |= {"x": "expanded", "foo": "expanded"}
    result = run(shell, r"%search -file:vendor foo{2} $x {foo} a\.b 'c'  ?")
    assert last_query(shell) == r"-file:vendor foo{2} $x {foo} a\.b 'c'  ?"
    assert isinstance(result, sl.SearchResult)
    run(shell, "%%search -o kept repo:r1\n  foo{2}  bar\n\n(a or b)\n")
    assert last_query(shell) == "repo:r1 foo{2}  bar (a or b)"
    assert shell.user_ns["kept"].match_count == 20


def test_a_query_may_end_with_a_question_mark(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%search colou?")
    assert last_query(shell) == "colou?"
    run(shell, "x = 1\ny = %search -o z it's {x}?")
    assert last_query(shell) == "it's {x}?"
    run(shell, 'text = """\n%search inside?\n"""')
    assert shell.user_ns["text"] == "\n%search inside?\n"
    capsys.readouterr()
    run(shell, "%search?")
    assert "--exhaustive" in capsys.readouterr().out


def test_what_is_kept_and_what_is_shown(shell: Any) -> None:
    assert run(shell, "%search -o kept -q foo") is None
    assert len(shell.user_ns["kept"]) == 20
    run(shell, "taken = %search foo")
    assert len(shell.user_ns["taken"]) == 20
    assert "12 of 20 rows" in repr(run(shell, "%search -n 12 foo"))
    run(shell, "%config SourcelightMagics.rows = 3")
    assert "3 of 20 rows" in repr(run(shell, "%search foo"))
    explorer = run(shell, "%search --explore -o kept foo")
    assert explorer.result is shell.user_ns["kept"]


def test_variables_are_put_in_when_they_are_named(shell: Any) -> None:
    shell.user_ns["name"] = "redis"
    run(shell, "%search --var name repo:{name} {2} {other}")
    assert last_query(shell) == "repo:redis {2} {other}"


def test_options_become_those_of_the_client(shell: Any) -> None:
    run(shell, "%search --pattern-type regexp --timeout 2.5 --context 3 foo")
    request = shell.user_ns["code"].backend.requests[-1]
    assert (request.pattern_type, request.timeout_s, request.chunk_matches, request.context_lines) == (
        "regexp", 2.5, True, 3,
    )  # fmt: skip


def test_commits_and_diffs_are_searched_for(shell: Any) -> None:
    run(shell, '%commits author:ann after:"2 weeks ago" fix')
    assert last_query(shell) == 'type:commit author:ann after:"2 weeks ago" fix'
    run(shell, "%%commits --diff\nfix or mend")
    assert last_query(shell) == "type:diff fix or mend"
    run(shell, "%commits repo:r1 fix")
    assert last_query(shell) == "type:commit repo:r1 fix"


def test_questions_are_asked(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    shorten_waits(monkeypatch)
    url = "https://host/deepsearch/0b1f2c3d-0000-4000-8000-000000000001"
    rows = table_of("conversation", 0)
    answers = [
        ToolResult("conversation", rows, {"status": "processing", "url": url}),
        ToolResult(
            "conversation", rows, {"status": "completed", "questions": [{"question": "q", "answer": "It is lit."}]}
        ),
    ]
    shell.user_ns["wise"] = Client(ScriptedBackend([], answers=answers * 2))
    answer = run(shell, "%%ask -c wise -o told\nHow is the lamp lit?\nAnd by {whom}?")
    assert shell.user_ns["told"] is answer
    assert answer.text == "It is lit."
    calls = shell.user_ns["wise"].backend.calls
    assert calls[0] == ("deepsearch", {"question": "How is the lamp lit?\nAnd by {whom}?"})
    run(shell, "%ask -c wise --continue Why?")
    assert url in str(calls[2])


def test_the_newest_open_client_is_used_unless_one_is_chosen(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["late"] = Client(ScriptedBackend(COMPLETE))
    run(shell, "%search one")
    assert last_query(shell, "late") == "one"
    run(shell, "%search -c code two")
    assert last_query(shell) == "two"
    run(shell, "%sourcelight use code")
    run(shell, "%search three")
    assert last_query(shell) == "three"
    run(shell, "%sourcelight")
    assert "of the variable code, chosen" in capsys.readouterr().out
    shell.user_ns["code"].close()
    with pytest.raises(UsageError, match="the client code is closed; open clients: late"):
        run(shell, "%search four")
    run(shell, "%sourcelight use late")
    run(shell, "%search five")
    assert last_query(shell, "late") == "five"


def test_repositories_are_opened_by_magic(shell: Any, fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = next(path for path in fleet.iterdir() if (path / ".git").exists())
    run(shell, f"%sourcelight open -o mine {folder}")
    assert isinstance(shell.user_ns["mine"], Client)
    assert "of the variable mine, chosen" in capsys.readouterr().out
    assert run(shell, "%search -n 1 type:file .").status == "complete"
    shell.user_ns["mine"].close()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%search", "needs a query"),
        ("%search --rows x foo", "--rows needs a number"),
        ("%search --timeout never foo", "--timeout needs seconds"),
        ("%search -q foo", "needs -o"),
        ("%search -o 1x foo", "needs the name of a variable"),
        ("%search -c absent foo", "absent isn't a variable; open clients: code"),
        ("%search -c shell_name foo", "is str, no Client"),
        ("%ask --continue why", "no earlier answer"),
        ("%ask --more why", "use --continue"),
        ("%search --lines 3 x", "use --context"),
        ("%sourcelight frobnicate", "has the commands open, connect, use, status"),
        ("%sourcelight open", "needs a path"),
        ("%sourcelight connect a b", "a token doesn't belong in a notebook"),
        ("%sourcelight connect --token-var absent https://x.example", "names no text variable: absent; assign"),
        ("%commits repo:[ x", "missing closing"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(shell: Any, cell: str, message: str) -> None:
    shell.user_ns["shell_name"] = "x"
    with pytest.raises(UsageError, match=message):
        run(shell, cell)


def test_without_a_client_the_way_to_one_is_told(shell: Any) -> None:
    del shell.user_ns["code"]
    with pytest.raises(UsageError, match="no open client: %sourcelight open PATH"):
        run(shell, "%search foo")


def test_the_extension_is_loaded_once_and_unloaded_whole(shell: Any) -> None:
    matchers = len(shell.Completer.custom_matchers)
    sl.load_ipython_extension(shell)
    assert len(shell.Completer.custom_matchers) == matchers
    sl.unload_ipython_extension(shell)
    assert len(shell.Completer.custom_matchers) == matchers - 1
    assert shell.find_line_magic("search") is None
    sl.unload_ipython_extension(shell)
    sl.load_ipython_extension(shell)
    assert shell.find_cell_magic("search") is not None


def test_help_tells_every_option() -> None:
    assert "--exhaustive" in str(SourcelightMagics.search.__doc__)
    assert "-o, --out NAME" in str(SourcelightMagics.ask.__doc__)


def complete(shell: Any, cell: str) -> list[str]:
    """What is offered at ``|`` in a cell."""
    index = cell.index("|")
    code = cell.replace("|", "")
    with provisionalcompleter():  # its interface is called provisional; which of its users warns first depends on order
        return [code[: c.start] + c.text + code[c.end :] for c in shell.Completer.completions(code, index)]


@pytest.mark.parametrize(
    ("cell", "offered"),
    [
        ("%search rep|", "%search repo:"),
        ("%search -o x -rep|", "%search -o x -repo:"),
        ("x = %search repo:r|", "x = %search repo:^r1$"),
        ("%search --pat|", "%search --pattern-type"),
        ("%search --pattern-type re|", "%search --pattern-type regexp"),
        ("%search -c co|", "%search -c code"),
        ("%%search -o x\nfoo repo:r|", "%%search -o x\nfoo repo:^r1$"),
        ("%%search repo:r|\nfoo", "%%search repo:^r1$\nfoo"),
        ("%sourcelight u|", "%sourcelight use"),
        ("%sourcelight use c|", "%sourcelight use code"),
        ('code.search("foo repo:r|")', 'code.search("foo repo:^r1$")'),
        ("r = [code.count('lan|')]", "r = [code.count('lang:')]"),
        ('code.search("author:x or author:Ann|', 'code.search("author:x or author:\\"Ann O\'B\\"'),
    ],
)
def test_cells_are_completed(shell: Any, cell: str, offered: str) -> None:
    run(shell, "%search -q -o x foo")
    shell.user_ns["code"].completions.add("author", ["Ann O'B"])
    assert complete(shell, cell)[0] == offered


@pytest.mark.parametrize("cell", ['re.search("rep|', 'code.absent("rep|', "repo:r|", '"%search repo:r|', "%ask rep|"])
def test_elsewhere_completion_is_that_of_the_shell(shell: Any, cell: str) -> None:
    assert not [text for text in complete(shell, cell) if "^r1" in text or "repo:" in text.split("r|")[-1][-5:]]


def test_completion_asks_nobody(shell: Any) -> None:
    backend = shell.user_ns["code"].backend
    complete(shell, "%search repo:|")
    complete(shell, 'code.search("repo:|")')
    assert (backend.requests, backend.calls) == ([], [])

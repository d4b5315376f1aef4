"""The magics ``%search``, ``%commits``, ``%ask`` and ``%sourcelight``. Loads IPython."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from os.path import expanduser
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Bool, Enum, Float, Int

import sourcelight
from sourcelight.client import Client, DeepSearchAnswer, SearchResult
from sourcelight.core.errors import ClientNotFound, QueryError, ToolError
from sourcelight.core.query import PATTERN_TYPES
from sourcelight.core.query.narrowing import add_filter_text
from sourcelight.display.notebook.cell_messages import show_in_full
from sourcelight.lab.magics.arguments import MagicLine, MagicOption, replace_variables, split, table
from sourcelight.lab.magics.client_choice import ClientChoice

_OUT = MagicOption("out", "o", "name", "store the result in this variable")
_QUIET = MagicOption("quiet", "q", "", "show nothing; needs -o")
_CLIENT = MagicOption("client", "c", "name", "use the client of this variable")
_VAR = MagicOption("var", "", "name", "replace {name} by the variable's value; may be repeated", repeats=True)
_ROWS = MagicOption("rows", "n", "number", "number of rows to show")
_TIMEOUT = MagicOption("timeout", "", "seconds", "stop the search after this time")
_EXHAUSTIVE = MagicOption("exhaustive", "", "", "return all matches, even from a service that caps its answers")
_TB = MagicOption("tb", "", "", "show the whole traceback of an error")
_EXPLORE = MagicOption("explore", "", "", "show an explorer of all rows")
SEARCH = (
    _OUT,
    _QUIET,
    _CLIENT,
    _ROWS,
    _EXPLORE,
    MagicOption("context", "", "number", "show this many lines around each match"),
    MagicOption(
        "pattern-type", "", "type", f"how to read patterns: {', '.join(PATTERN_TYPES)}", choices=tuple(PATTERN_TYPES)
    ),
    _TIMEOUT,
    _EXHAUSTIVE,
    _VAR,
    _TB,
)
COMMITS = (
    _OUT,
    _QUIET,
    _CLIENT,
    _ROWS,
    _EXPLORE,
    MagicOption("diff", "", "", "search the lines that commits changed, instead of their messages"),
    _TIMEOUT,
    _EXHAUSTIVE,
    _VAR,
    _TB,
)
ASK = (
    _OUT,
    _QUIET,
    _CLIENT,
    MagicOption("continue", "", "", "continue the conversation of the last answer"),
    _TIMEOUT,
    _VAR,
    _TB,
)
OPEN = (_OUT, MagicOption("worktree", "", "", "search work trees as they are on disk, instead of HEAD"))
CONNECT = (
    _OUT,
    MagicOption("token-var", "", "name", "read the access token from this variable, to keep it out of the notebook"),
    MagicOption("sign-in", "", "", "sign in by OAuth in the browser"),
)
OPTIONS = {"search": SEARCH, "commits": COMMITS, "ask": ASK}
COMMANDS = ("open", "connect", "use", "status")


def _document(*options: MagicOption) -> Callable[[Any], Any]:
    def add(method: Any) -> Any:
        # IPython shows this text for `%search?`. It is generated, so it can't differ from the parser's options.
        method.__doc__ = f"{method.__doc__.rstrip()}\n\n    Options, in front of the rest:\n\n{table(options)}\n    "
        return method

    return add


@magics_class
class SourcelightMagics(Magics):  # type: ignore[misc]  # IPython's base ships no types
    """Search, commits and questions in cells; ``%config SourcelightMagics`` shows the defaults."""

    rows = Int(10, min=0, help="Rows that %search and %commits show.").tag(config=True)
    explore = Bool(default_value=False, help="Show an explorer instead of a table.").tag(config=True)
    exhaustive = Bool(
        default_value=False, help="Return all matches, even from a service that caps its answers."
    ).tag(config=True)  # fmt: skip
    pattern_type = Enum(
        list(PATTERN_TYPES), default_value="standard", help="Pattern type, unless the query has one."
    ).tag(config=True)  # fmt: skip
    timeout_s = Float(None, allow_none=True, help="Timeout of a search, in seconds; None: no limit.").tag(config=True)

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.client_choice = ClientChoice(shell.user_ns)
        self._answer: DeepSearchAnswer | None = None

    def remove(self) -> None:
        """Remove the magics from the shell."""
        for kind in ("line", "cell"):
            for name in (*OPTIONS, "sourcelight"):
                self.shell.magics_manager.magics[kind].pop(name, None)

    @_document(*SEARCH)
    @no_var_expand  # type: ignore[untyped-decorator]
    @line_cell_magic  # type: ignore[untyped-decorator]
    def search(self, line: str, cell: str | None = None) -> Any:
        """Search code: the query is taken verbatim, in a cell over several lines.

        ``%search -o found repo:redis lang:c TODO`` keeps a `SearchResult` in `found` and shows it.
        """
        return self._run_magic("search", SEARCH, line=line, cell=cell, answer=self._search)

    @_document(*COMMITS)
    @no_var_expand  # type: ignore[untyped-decorator]
    @line_cell_magic  # type: ignore[untyped-decorator]
    def commits(self, line: str, cell: str | None = None) -> Any:
        """Search commits by message, author, date and file: ``%commits author:ann after:"2 weeks ago" fix``.

        What is given is a `SearchResult` with a row per commit, of ``--diff`` per changed line.
        """
        return self._run_magic("commits", COMMITS, line=line, cell=cell, answer=self._commits)

    @_document(*ASK)
    @no_var_expand  # type: ignore[untyped-decorator]
    @line_cell_magic  # type: ignore[untyped-decorator]
    def ask(self, line: str, cell: str | None = None) -> Any:
        """Ask a question about the code, in words; the answer cites code."""
        return self._run_magic("ask", ASK, line=line, cell=cell, answer=self._ask)

    @no_var_expand  # type: ignore[untyped-decorator]
    @line_magic  # type: ignore[untyped-decorator]
    def sourcelight(self, line: str) -> Any:
        """Choose the client that the magics use.

        ``%sourcelight`` tells; ``%sourcelight open PATH…`` opens repositories, ``connect [URL]`` a service (address
        and token from SRC_ENDPOINT and SRC_ACCESS_TOKEN unless given), ``use NAME`` takes that of a variable. With
        ``-o NAME``, open and connect keep the client in a variable. Without a choice it is the newest client that a
        variable holds.
        """
        command, _, remaining = line.strip().partition(" ")
        commands = {"": self._status, "status": self._status, "use": self._use, "open": self._open,
                    "connect": self._connect}  # fmt: skip
        if command not in commands:
            raise UsageError(f"%sourcelight has the commands {', '.join(COMMANDS)}, not {command!r}")

        try:
            commands[command](remaining)
        except (ToolError, ClientNotFound, ValueError) as exc:
            raise UsageError(str(exc)) from None

    def _status(self, _line: str) -> None:
        print(self.client_choice.describe())  # noqa: T201 - a magic answers on the screen

    def _use(self, line: str) -> None:
        self.client_choice.use(line.strip())

    def _open(self, line: str) -> None:
        options = split(line, OPEN, "sourcelight open")
        paths = shlex.split(options.rest)
        if not paths:
            raise ToolError("%sourcelight open needs a path", tool="sourcelight open")
        self._keep(sourcelight.open(*map(expanduser, paths), worktree="worktree" in options), options)

    def _connect(self, line: str) -> None:
        options = split(line, CONNECT, "sourcelight connect")
        addresses = shlex.split(options.rest)
        if len(addresses) > 1:
            raise ToolError("%sourcelight connect takes one address; a token doesn't belong in a notebook; name a "
                            "variable with --token-var", tool="sourcelight connect")  # fmt: skip

        token, name = None, options.last("token-var")
        if name:
            if not isinstance(self.shell.user_ns.get(name), str):
                raise ToolError(
                    f"%sourcelight connect: --token-var names no text variable: {name}; assign the token to it first",
                    tool="sourcelight",
                )
            token = self.shell.user_ns[name]

        url = addresses[0] if addresses else None
        self._keep(sourcelight.connect(url, token, sign_in="sign-in" in options), options)

    def _keep(self, client: Client, options: MagicLine) -> None:
        name = options.last("out")
        if name:
            self._store(name, client)
            self.client_choice.use(name)
        else:
            self.client_choice.keep(client)
        print(self.client_choice.describe())  # noqa: T201 - a magic answers on the screen

    def _store(self, name: str, value: Any) -> None:
        if not name.isidentifier():
            raise ToolError(f"-o needs the name of a variable, not {name!r}", argument="out")
        self.shell.user_ns[name] = value

    def _run_magic(
        self,
        magic: str,
        options: Sequence[MagicOption],
        *,
        line: str,
        cell: str | None,
        answer: Callable[[Client, str, MagicLine], Any],
    ) -> Any:
        has_traceback = False
        try:
            line_parts, text = self._understand(magic, options, line, cell)
            has_traceback = "tb" in line_parts
            result = answer(self.client_choice.client(line_parts.last("client")), text, line_parts)
        except Exception as exc:
            if has_traceback:
                raise show_in_full(exc)  # noqa: B904 - the same exception
            if not isinstance(exc, ToolError | ClientNotFound | QueryError):
                raise
            raise UsageError("\n".join([*getattr(exc, "__notes__", ()), str(exc)])) from None

        name = line_parts.last("out")
        if name is not None:
            # Of an explorer, the variable gets the result that it displays.
            self._store(name, result if isinstance(result, SearchResult | DeepSearchAnswer) else result.result)

        return None if "quiet" in line_parts else result

    def _understand(
        self, magic: str, options: Sequence[MagicOption], line: str, cell: str | None
    ) -> tuple[MagicLine, str]:
        """Return the options of a magic, and its query or question."""
        line_parts = split(line, options, magic)
        text = _text(line_parts.rest, cell, "\n" if magic == "ask" else " ")
        text = replace_variables(text, line_parts.values.get("var", ()), self.shell.user_ns, magic)
        if not text:
            raise ToolError(f"%{magic} needs a query; %{magic}? shows its options", tool=magic)

        name = line_parts.last("out")
        if name is not None and not name.isidentifier():
            raise ToolError(f"%{magic}: -o needs the name of a variable, not {name!r}", argument="out")
        if "quiet" in line_parts and name is None:
            raise ToolError(f"%{magic}: -q shows nothing and needs -o", tool=magic)

        return line_parts, text

    def _search(self, client: Client, query: str, options: MagicLine) -> Any:
        lines = _number(options, "context")
        context = {} if lines is None else {"context_lines": lines}
        return self._show(
            client,
            query,
            options=options,
            pattern_type=options.last("pattern-type") or self.pattern_type,
            context=context,
        )

    def _commits(self, client: Client, query: str, options: MagicLine) -> Any:
        kind = "diff" if "diff" in options else "commit"
        return self._show(
            client,
            _with_type(kind, query, self.pattern_type),
            options=options,
            pattern_type=self.pattern_type,
            context={},
        )

    def _show(
        self, client: Client, query: str, *, options: MagicLine, pattern_type: str, context: dict[str, Any]
    ) -> Any:
        timeout = options.last("timeout")
        result = client.search(
            query,
            pattern_type=pattern_type,
            timeout_s=_seconds(timeout) if timeout is not None else self.timeout_s,
            exhaustive="exhaustive" in options or self.exhaustive,
            **context,
        )
        rows = _number(options, "rows")
        result.display_rows = self.rows if rows is None else rows
        explore = ("explore" in options or self.explore) and "quiet" not in options
        return result.explore() if explore else result

    def _ask(self, client: Client, question: str, options: MagicLine) -> Any:
        timeout = options.last("timeout")
        conversation = self._answer if "continue" in options else None
        if "continue" in options and conversation is None:
            raise ToolError(
                "%ask --continue: no earlier answer; ask a question without it first", tool="ask", argument="continue"
            )

        try:
            return client.deepsearch(
                question, conversation=conversation, timeout_s=_seconds(timeout) if timeout is not None else None
            )
        finally:
            # Also after an interrupt: the conversation exists at the service, and `--continue` should find it.
            last = client.last
            if isinstance(last, DeepSearchAnswer):
                self._answer = last


def _text(remaining: str, cell: str | None, between: str) -> str:
    """Return the query: the rest of the line, and the lines of the cell."""
    parts = [remaining, *(part.strip() for part in (cell or "").split("\n"))]
    return between.join(part for part in parts if part).strip()


def _with_type(kind: str, query: str, pattern_type: str) -> str:
    """Return the query with a type in every alternative: behind an ``or``, a filter in front would not reach."""
    return add_filter_text(query, pattern_type, f"type:{kind}")


def _number(options: MagicLine, name: str) -> int | None:
    value = options.last(name)
    if value is None:
        return None
    if not value.isdecimal():
        raise ToolError(f"--{name} needs a number, not {value!r}", argument=name)
    return int(value)


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = -1.0

    # Refuses NaN and infinity as well, since every comparison with NaN is false.
    if not 0 < seconds < 1e9:
        raise ToolError(f"--timeout needs seconds, not {text!r}", argument="timeout")

    return seconds


__all__ = ["COMMANDS", "CONNECT", "OPEN", "OPTIONS", "SourcelightMagics"]

"""Completion in cells: of the magics' options and queries, and of queries in calls of a client. Loads IPython.

One matcher of IPython's completer serves line magics, cell magics and strings. It looks at what answers have brought;
it asks no service, no index and no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from sourcelight.client import AsyncClient, Client
from sourcelight.client.completions import Completions
from sourcelight.lab.magics.arguments import MagicOption, cursor_context
from sourcelight.lab.magics.magics import COMMANDS, CONNECT, OPEN, OPTIONS
from sourcelight.lab.magics.suggestions import Completion, decode_literal, encode_literal, literal_at, suggest

if TYPE_CHECKING:
    from sourcelight.lab.magics.magics import SourcelightMagics

_LINE = re.compile(r"^\s*(?:[A-Za-z_]\w*\s*=\s*)?%(?P<magic>search|commits|ask|sourcelight)\s(?P<rest>.*)$", re.DOTALL)
"""A line magic, also with an assignment: ``result = %search TODO``."""

_CELL = re.compile(r"^\s*%%(?P<magic>search|commits|ask)(?P<line>[^\n]*)(?P<body>\n.*)?$", re.DOTALL)
"""A cell magic and the text below it."""

_QUERIES = {"search": "0", "stream": "0", "count": "0", "explain": "0", "explore": "0", "search_many": "0",
            "export": "0", "count_by": "0"}  # fmt: skip


class Completer:
    """The matcher of a shell.

    Parameters
    ----------
    shell
        The shell.
    magics
        Knows which client the magics use.
    """

    def __init__(self, shell: Any, magics: SourcelightMagics) -> None:
        self.shell = shell
        self.magics = magics

        @context_matcher()  # type: ignore[untyped-decorator]
        def sourcelight_queries(context: Any) -> dict[str, Any]:
            return self.complete(context.full_text, context.cursor_line, context.cursor_position)

        self._matcher = sourcelight_queries

    def add(self) -> None:
        """Install the matcher in first position."""
        self.shell.Completer.custom_matchers.insert(0, self._matcher)

    def remove(self) -> None:
        """Remove the matcher."""
        if self._matcher in self.shell.Completer.custom_matchers:
            self.shell.Completer.custom_matchers.remove(self._matcher)

    def complete(self, code: str, line: int, column: int) -> dict[str, Any]:
        """Return completions at a position in a cell, in the form of IPython's matchers."""
        lines = code.split("\n")
        before = "\n".join([*lines[:line], lines[line][:column]])
        cell = _CELL.match(before)
        if cell:
            if cell["body"] is None:
                if cell["line"][:1].isspace():
                    return self._in_magic(cell["magic"], cell["line"].lstrip())
                return _nothing()
            if cell["magic"] != "ask":
                return self._in_query(cell["body"].split("\n")[-1], self._completions())
            return _nothing()

        magic = _LINE.match(lines[line][:column])
        if magic:
            return self._in_magic(magic["magic"], magic["rest"])

        return self._in_call(before)

    def _in_magic(self, magic: str, text: str) -> dict[str, Any]:
        if magic == "sourcelight":
            return self._in_command(text.lstrip())

        context = cursor_context(text, OPTIONS[magic])
        if context.position == "option":
            return _result(
                context.text, [Completion(name, "option") for name in _spellings(OPTIONS[magic], context.text)]
            )

        if context.position == "value":
            return _result(
                context.text,
                [
                    Completion(choice, "value")
                    for choice in self._choices(context.option)
                    if choice.startswith(context.text)
                ],
            )

        if magic != "ask":
            return self._in_query(context.text, self._completions())
        return _nothing()

    def _in_command(self, text: str) -> dict[str, Any]:
        command, blank, remaining = text.partition(" ")
        if not blank:
            return _result(text, [Completion(name, "command") for name in COMMANDS if name.startswith(text)])
        if command == "use":
            names = self.magics.client_choice.names()
            return _result(remaining, [Completion(name, "client") for name in names if name.startswith(remaining)])

        options = {"open": OPEN, "connect": CONNECT}.get(command, ())
        context = cursor_context(remaining, options)
        if context.position == "option":
            return _result(context.text, [Completion(name, "option") for name in _spellings(options, context.text)])

        return _nothing()

    def _choices(self, option: MagicOption | None) -> Iterator[str]:
        if option is None:
            return
        yield from option.choices
        if option.name == "client":
            yield from self.magics.client_choice.names()
        elif option.name == "var":
            yield from (name for name in self.shell.user_ns if not name.startswith("_"))

    def _in_call(self, before: str) -> dict[str, Any]:
        literal = literal_at(before)
        if literal is None:
            return _nothing()

        name, _, method = literal.callee.rpartition(".")
        client = self.shell.user_ns.get(name)
        if method not in _QUERIES or not isinstance(client, Client | AsyncClient):
            return _nothing()
        if literal.argument not in {_QUERIES[method], "query", "queries"}:
            return _nothing()

        fragment, completions = suggest(decode_literal(literal.text, raw=literal.raw), _names(client.completions))
        typed = literal.text[len(literal.text) - _length(literal.text, fragment, raw=literal.raw) :]
        texts = [
            Completion(text, completion.kind)
            for completion in completions
            if (text := encode_literal(completion.text, literal.quote, raw=literal.raw)) is not None
        ]
        return _result(typed, texts)

    def _in_query(self, query: str, cached_names: Completions | None) -> dict[str, Any]:
        fragment, completions = suggest(query, _names(cached_names))
        return _result(fragment, completions)

    def _completions(self) -> Completions | None:
        client = self.magics.client_choice.client_or_none()
        return client.completions if client is not None else None


def _nothing() -> dict[str, Any]:
    """Leave it to others; new each time, since IPython writes into it."""
    return {"completions": [], "suppress": False}


def _length(text: str, fragment: str, *, raw: bool) -> int:
    """Return the length of the typed text that a completion replaces."""
    for length in range(len(text) + 1):
        if decode_literal(text[len(text) - length :], raw=raw) == fragment:
            return length
    return len(fragment)


def _names(completions: Completions | None) -> Any:
    return completions.names if completions is not None else lambda _kind: ()


def _spellings(options: tuple[MagicOption, ...], typed: str) -> list[str]:
    return [f"--{option.name}" for option in options if f"--{option.name}".startswith(typed)]


def _result(fragment: str, completions: list[Completion]) -> dict[str, Any]:
    if not completions:
        return _nothing()

    return {
        "completions": [SimpleCompletion(text=completion.text, type=completion.kind) for completion in completions],
        "matched_fragment": fragment,
        "suppress": True,
        "ordered": True,
    }

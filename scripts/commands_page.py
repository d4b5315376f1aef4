"""The page of commands, from the functions that typer makes commands of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from sourcelight.cli.app import app

INTRODUCTION = """\
# Commands

`scripts/docs` generates this page from the commands in the code. `sourcelight COMMAND --help` shows the same text, and
`sourcelight --install-completion` adds completion to your shell.

Exit statuses follow grep: 0 for a match and for every command that succeeded, 1 if a search has no match or a question
no answer, 2 for errors and wrong usage, 130 after an interrupt, which keeps the rows written so far. A search that is
incomplete and has no match exits with 2. Results go to standard output, everything else to standard error.
See also [environment variables](environment.md).
"""


def commands(group: typer.Typer = app, prefix: str = "sourcelight") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each command as it is typed, with its function, in the order of the help."""
    for command in group.registered_commands:
        if command.callback is not None:
            yield f"{prefix} {command.name or command.callback.__name__.replace('_', '-')}", command.callback
    for nested in group.registered_groups:
        if nested.typer_instance is not None:
            yield from commands(nested.typer_instance, f"{prefix} {nested.name}")


def parameters(callback: Callable[..., Any]) -> Iterator[tuple[str, str, bool]]:
    """Each argument and option of a command: how it is typed, what it means, and whether it is an argument."""
    hints = get_type_hints(callback, include_extras=True)
    for parameter in inspect.signature(callback).parameters.values():
        if hints[parameter.name] is typer.Context:
            continue
        kind, info = _annotated(hints[parameter.name])
        default = parameter.default
        if isinstance(info, ArgumentInfo):
            name = (info.metavar or parameter.name.upper()).strip("[]")
            label = f"{name}…" if get_origin(kind) is list else name
            yield label if default is inspect.Parameter.empty else f"[{label}]", info.help or "", True
            continue
        # In an annotation the first name stands where a default would.
        first = [info.default] if isinstance(info.default, str) and info.default.startswith("-") else []
        names = ", ".join([*first, *(info.param_decls or ())]) or f"--{parameter.name.replace('_', '-')}"
        if default is True and "/" not in names:
            names += f"/{names.replace('--', '--no-')}"
        takes = "" if kind is bool else f" {info.metavar or _values(kind)}"
        unsaid = default in (None, False, "", inspect.Parameter.empty) or "[default:" in (info.help or "")
        reply = "" if unsaid else f" Default: `{_value(default, names)}`."
        yield names + takes, f"{info.help or ''}{reply}", False


def page() -> str:
    """Return the whole text of the page."""
    return INTRODUCTION + "".join(_section(name, callback) for name, callback in commands())


def _section(name: str, callback: Callable[..., Any]) -> str:
    doc = inspect.cleandoc(callback.__doc__ or "")
    rows = list(parameters(callback))
    words = [name for name, _, is_argument in rows if is_argument]
    table = "".join(f"| `{_cell(name)}` | {_cell(text)} |\n" for name, text, _ in rows)
    usage = " ".join([name, *(["[OPTIONS]"] if len(words) < len(rows) else []), *words])
    head = f"\n## `{name}`\n\n{_cell(doc)}\n\n```text\n{usage}\n```\n"
    return f"{head}\n| argument or option | meaning |\n| --- | --- |\n{table}" if rows else head


def _annotated(hint: Any) -> tuple[Any, Any]:
    kind, *notes = get_args(hint)
    info = next(note for note in notes if isinstance(note, ArgumentInfo | OptionInfo))
    inner = [item for item in get_args(kind) if item is not type(None)]
    return (inner[0] if inner and get_origin(kind) is not list else kind), info


def _values(kind: Any) -> str:
    """Return the choices of an option, or its kind."""
    if get_origin(kind) is list:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return " or ".join(item.value for item in kind)
    return {int: "NUMBER", float: "NUMBER", str: "TEXT"}.get(kind, "PATH")


def _value(default: Any, names: str) -> str:
    if isinstance(default, bool):
        return names.split("/")[not default]
    return str(default.value if isinstance(default, StrEnum) else default)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

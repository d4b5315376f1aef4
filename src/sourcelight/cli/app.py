"""The application: its commands, and the names of former options."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from sourcelight.cli import ask, cluster, doctor, index, lab, mirrors, search, serve
from sourcelight.cli.admin_commands import admin_app
from sourcelight.cli.output import DONE, USAGE, exit_status, say
from sourcelight.cli.report import report_app

if TYPE_CHECKING:
    from sourcelight.server.mcp.handshake import EarlyAnswers

app = typer.Typer(
    name="sourcelight",
    help="Search, explore and report on git repositories.",
    epilog="Environment: SRC_ENDPOINT and SRC_ACCESS_TOKEN (the service to search without PATH), "
    "SOURCELIGHT_HOME (directory of indexes and state), SOURCELIGHT_OWNER_TOKEN (serve). "
    "Exit status: 0 done, 1 no match, 2 error or wrong usage, 130 interrupted (keeps what was written).",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("index")(index.index_command)
app.command("search")(search.search_command)
app.command("explain")(search.explain_command)
app.command("verify")(ask.verify_command)
app.command("ask")(ask.ask_command)
app.command("serve")(serve.serve_command)
app.command("worker")(cluster.worker_command)
app.command("mcp")(serve.mcp_command)
app.command("repos")(index.repos_command)
app.command("clone")(mirrors.clone_command)
app.command("sync")(mirrors.sync_command)
app.command("doctor")(doctor.doctor_command)
app.command("lab")(lab.lab_command)
app.command("samples")(lab.samples_command)
app.add_typer(admin_app, name="admin")
app.add_typer(report_app, name="report")

#: Former options of each command, and the former names of commands. They go after one release.
FORMER_OPTIONS = {
    ("index", "--work"): "--build-dir",
    ("index", "--max-bytes"): "--max-index-size",
    ("worker", "--cache"): "--cache-dir",
    ("worker", "--threads"): "--build-threads",
    ("clone", "--into"): "--dest",
    ("lab", "--into"): "--dest",
    ("report contributors", "--since"): "--after",
    ("report contributors", "--until"): "--before",
    ("report contributors", "--by"): "--period",
    ("admin oauth-client create", "--redirect"): "--redirect-uri",
}
FORMER_COMMANDS = {
    ("query",): "explain",
    ("admin", "oauth-client", "end-grant"): "admin oauth-client revoke-grant",
}
"""Former names of commands, with the current ones."""


#: What the validation of typer says, and shorter words for it.
_VALIDATION_WORDS = (
    ("Value error, ", ""),
    ("Input should be greater than or equal to", "it must be at least"),
    ("Input should be less than or equal to", "it must be at most"),
    ("Input should be", "it must be"),
    (", unable to parse string as a number", ""),
    (", unable to parse string as an integer", ""),
)
_COMMANDS_WITH_TEXT = frozenset({"search", "explain", "ask"})
"""Commands with an argument that may start with a dash."""


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            is_eager=True,
            callback=lambda value: _print_version(requested=value),
        ),
    ] = False,
) -> None:
    """Search, explore and report on git repositories."""
    del version


def _print_version(*, requested: bool) -> None:
    if requested:
        from sourcelight import __version__

        typer.echo(f"sourcelight {__version__}")
        raise typer.Exit


def run(words: Sequence[str], early: EarlyAnswers | None = None) -> int:
    """Run the command line; an error is one line on standard error, never a traceback.

    `early` answers the client of ``mcp`` already.
    """
    # The class of all usage errors; its module differs between versions of the framework.
    usage_error: Any = typer.BadParameter.__bases__[0]

    def run_command() -> object:
        try:
            return _make_command()(list(words) or ["--help"], prog_name="sourcelight", standalone_mode=False, obj=early)
        except usage_error as exc:
            if type(exc).__name__ == "NoArgsIsHelpError":
                # A group without a subcommand: its message is the help, which `sourcelight` alone prints as well.
                typer.echo(exc.ctx.get_help())
                return DONE
            say(_usage_message(exc, words))
            return USAGE
        except typer.Abort:
            raise KeyboardInterrupt from None

    return exit_status(run_command)


@functools.cache
def _make_command() -> Any:
    """Return the command of `app`; to make it, which `app` does for each call, takes 25 ms."""
    command = typer.main.get_command(app)
    _hide_types(command)
    return command


def _hide_types(command: Any) -> None:
    """Leave Python types such as ``list[Path]`` out of the help of arguments, whose names say what they are."""
    for parameter in command.params:
        if isinstance(parameter, typer.core.TyperArgument):
            parameter.display_type_rich = lambda ctx: None  # type: ignore[method-assign] # noqa: ARG005 - as called

    if isinstance(command, typer.core.TyperGroup):
        for subcommand in command.commands.values():
            _hide_types(subcommand)


def _usage_message(exc: BaseException, words: Sequence[str]) -> str:
    """Describe a usage error; for a former name, give the current one."""
    for former_name, current in FORMER_COMMANDS.items():
        if tuple(words[: len(former_name)]) == former_name:
            return f"'{' '.join(former_name)}' is now 'sourcelight {current}'"

    path = str(getattr(getattr(exc, "ctx", None), "command_path", "sourcelight"))
    command = path.removeprefix("sourcelight").strip()
    option = str(getattr(exc, "option_name", ""))
    if current := FORMER_OPTIONS.get((command, option), ""):
        return f"{option} is now {current} (see {path} --help)"

    format_message = getattr(exc, "format_message", None)
    text = str(format_message() if format_message is not None else exc).rstrip(".")
    for words_of_library, ours in _VALIDATION_WORDS:
        text = text.replace(words_of_library, ours)
    if type(exc).__name__ == "NoSuchOption" and command in _COMMANDS_WITH_TEXT:
        text += "; put -- before a text that starts with a dash"
    return f"{text} (see {path} --help)"

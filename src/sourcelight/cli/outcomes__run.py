"""Part of a module."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from sourcelight.cli.outcomes import DONE, FAILED, INTERRUPTED, USAGE, say
from sourcelight.core.errors import BadParameter, ConfigurationError, SourcelightError


def run(arguments: Sequence[str] | None) -> int:  # noqa: PLR0911 - one for each outcome
    """Run the command line; every fault is one line on standard error, never a traceback."""
    import typer

    from sourcelight.cli.commands import app

    # The framework's own class for usage faults, wherever the installed version keeps it.
    usage_fault: Any = typer.BadParameter.__bases__[0]
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        status = app(words or ["--help"], prog_name="sourcelight", standalone_mode=False)
        sys.stdout.flush()
    except usage_fault as fault:
        say(f"{_text(fault)} (see {_path(fault)} --help)")
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        _mute()
        return DONE
    except SystemExit as leaving:
        # The framework turns a closed pipe into this.
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        _mute()
        return DONE
    except (ConfigurationError, BadParameter) as fault:
        say(str(fault))
        return USAGE
    except SourcelightError as fault:
        hint = getattr(fault, "hint", "")
        say(f"{fault}: {hint}" if hint and hint not in str(fault) else str(fault))
        return FAILED
    except OSError as fault:
        name = f"{fault.filename}: " if fault.filename else ""
        say(f"{name}{fault.strerror or fault}")
        return FAILED
    except Exception as fault:
        if os.environ.get("SOURCELIGHT_TRACEBACK"):
            raise
        say(f"internal error: {type(fault).__name__}: {fault} (SOURCELIGHT_TRACEBACK=1 shows where)")
        return FAILED
    if status == INTERRUPTED:
        say("interrupted")
    return status if isinstance(status, int) else DONE


def _text(fault: BaseException) -> str:
    form = getattr(fault, "format_message", None)
    return str(form() if form is not None else fault).rstrip(".")


def _path(fault: BaseException) -> str:
    context = getattr(fault, "ctx", None)
    return str(getattr(context, "command_path", "sourcelight"))


def _mute() -> None:
    # The interpreter flushes standard output at exit, which would fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

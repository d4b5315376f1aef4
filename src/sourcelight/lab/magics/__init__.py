"""IPython magics and completion of queries: ``%load_ext sourcelight``.

A magic passes the text of a cell to a client unchanged; searching itself is in `client`. Completion uses values of
earlier results and asks no service. Start reading in `magics`.
"""

from __future__ import annotations

from typing import Any

from sourcelight.core.extras import require_notebook
from sourcelight.lab.magics.suggestions import keep_question_marks


def load(shell: Any) -> None:
    """Add the magics and the completion to a shell; a second time changes nothing."""
    require_notebook("pandas", "%load_ext sourcelight")
    from sourcelight.lab.magics.completion import Completer
    from sourcelight.lab.magics.magics import SourcelightMagics

    if any(isinstance(magic, Completer) for magic in _loaded_magics(shell)):
        return

    magics = SourcelightMagics(shell)
    shell.register_magics(magics)
    completion = Completer(shell, magics)
    completion.add()
    shell.input_transformers_cleanup.append(keep_question_marks)
    shell.sourcelight = completion


def unload(shell: Any) -> None:
    """Remove the magics and the completion from a shell."""
    for completion in _loaded_magics(shell):
        completion.remove()
        shell.input_transformers_cleanup.remove(keep_question_marks)
        completion.magics.remove()
        del shell.sourcelight


def _loaded_magics(shell: Any) -> list[Any]:
    magics = getattr(shell, "sourcelight", None)
    return [] if magics is None else [magics]


__all__ = ["load", "unload"]

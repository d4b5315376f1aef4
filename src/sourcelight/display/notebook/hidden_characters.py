"""Frames on a screen: characters that act without being seen are shown."""

from __future__ import annotations

import sys
from typing import Any

from sourcelight.core.markup import visible


def show_hidden_characters() -> None:
    """Have IPython show them in DataFrames and Series, as HTML and as text; nothing without IPython.

    pandas escapes tags and lets through escape sequences of terminals and marks that turn the direction of text round,
    which whoever committed a file may have put into it. Its own switch for such a thing is missing, so what it made is
    changed; nothing but these characters is.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return
    import pandas as pd

    formatter.formatters["text/html"].for_type(pd.DataFrame, _html)
    for kind in (pd.DataFrame, pd.Series):
        formatter.formatters["text/plain"].for_type(kind, _text)


def _html(frame: Any) -> str | None:
    text = frame._repr_html_()
    return None if text is None else visible(text)


def _text(frame: Any, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - as IPython calls it
    del cycle
    printer.text(visible(repr(frame)))

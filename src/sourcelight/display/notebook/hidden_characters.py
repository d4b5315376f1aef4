"""DataFrames in IPython: those of answers with their own view, all with visible hidden characters."""

from __future__ import annotations

import sys
from typing import Any

from sourcelight.core.markup import visible
from sourcelight.display.notebook import frame_views
from sourcelight.display.notebook.frame_views.table import frame_html, frame_text, is_answer


def show_hidden_characters() -> None:
    """Make IPython show hidden characters in DataFrames and Series, as HTML and text; does nothing without IPython.

    Frames of answers get the view of `frame_views.table`; a plain ``print`` shows every frame as pandas does.

    pandas escapes tags and lets through escape sequences of terminals and marks that turn the direction of text round,
    which the author of a file may have put into it. Its own switch for such a thing is missing, so what it made is
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
    import pandas as pd

    if _has_view(frame) and pd.get_option("display.notebook_repr_html"):
        try:
            return frame_html(frame, frame_views.places_of)
        except Exception:  # noqa: BLE001, S110 - a frame that was changed in an unforeseen way still has pandas' view
            pass
    text = frame._repr_html_()
    return None if text is None else visible(text)


def _text(frame: Any, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - as IPython calls it
    del cycle
    try:
        text = frame_text(frame) if _has_view(frame) else repr(frame)
    except Exception:  # noqa: BLE001 - as above
        text = repr(frame)
    printer.text(visible(text))


def _has_view(frame: Any) -> bool:
    """Whether a frame is of an answer and no other library has taken over how pandas' frames are displayed."""
    import pandas as pd

    displayed_by = getattr(pd.DataFrame, "_repr_html_", None)
    is_pandas = getattr(displayed_by, "__module__", "") == "pandas.core.frame"
    return is_pandas and isinstance(frame, pd.DataFrame) and is_answer(frame)

"""Programs and styles of the widgets for the browser: one of each per widget, plain files without a build step.

`parts.js` and `theme.css` are shared: every program begins with the parts, every style with the theme. Nothing is
loaded from another host. Start reading in ``parts.js``.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def program(name: str) -> str:
    """Return the JavaScript module of a widget.

    Parameters
    ----------
    name
        Its file, without the ending.
    """
    return _text("parts.js") + _text(f"{name}.js")


def style(name: str) -> str:
    """Return the style sheet of a widget, and of its plain HTML page if it has one.

    Parameters
    ----------
    name
        Its file, without the ending.
    """
    return _text("theme.css") + _text(f"{name}.css")


def _text(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")

"""Pages of plain HTML as files: they need nothing else, run nothing, and are light or dark as their reader has it."""

from __future__ import annotations

from sourcelight.core.markup import escape, one_line

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# The colors of JupyterLab's themes, by the names that its cells use.
_STYLE = """:root{color-scheme:light dark}
body{margin:0 auto;padding:1.5rem 1rem;font:1rem/1.55 system-ui,sans-serif;background:Canvas;color:CanvasText}
a{overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){:root{--jp-content-link-color:#90caf9;--jp-brand-color1:#90caf9;
--jp-ui-font-color2:#bdbdbd;--jp-success-color1:#66bb6a;--jp-warn-color0:#ffb74d;--jp-warn-color1:#ffb74d;
--jp-error-color1:#ef9a9a}}"""


def whole_page(title: str, body: str, *, width: str = "60rem") -> str:
    """Return a page that needs nothing else and runs nothing.

    Parameters
    ----------
    title
        Plain text.
    body
        HTML with its own styles, escaped.
    width
        How wide it may be, in CSS.
    """
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(one_line(title, 120))}</title><style>{_STYLE}\nbody{{max-width:{width}}}</style></head>"
        f"<body>{body}</body></html>\n"
    )

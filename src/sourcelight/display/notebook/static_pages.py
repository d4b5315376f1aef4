"""A page of plain HTML beside a widget: for exported notebooks and others without a kernel, where widgets stay empty.

The page is an output of its own, since an export takes the widget of an output and drops its HTML. The widget's program
hides the page once its kernel has answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.display.notebook.painter import in_notebook

_WIDGET = "application/vnd.jupyter.widget-view+json"


def display_widget(bundle: Mapping[str, Any], text: str, html: str) -> Any:
    """Display a widget and its page; only `text` where there are no widgets. Returns the handle of the page, if any.

    Parameters
    ----------
    bundle
        MIME bundle of the widget.
    text
        Plain text of the same.
    html
        The page, escaped.
    """
    from IPython.display import display

    if not in_notebook() or _WIDGET not in bundle:
        display({"text/plain": text}, raw=True)
        return None
    display({_WIDGET: bundle[_WIDGET], "text/plain": text.partition("\n")[0]}, raw=True)
    return display(_page(text, html), raw=True, display_id=True)


def replace_page(handle: Any, text: str, html: str) -> None:
    """Show another page in the place of one that is displayed; from any thread."""
    handle.update(_page(text, html), raw=True)


def _page(text: str, html: str) -> dict[str, str]:
    return {"text/html": f'<div class="sl-static">{html}</div>', "text/plain": text}

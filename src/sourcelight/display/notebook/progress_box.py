"""The live progress box of a notebook. Loads ipywidgets; only the calling thread touches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets
from IPython.display import display
from ipywidgets.widgets.widget_string import HTMLStyle

from sourcelight.core.markup import escape, one_line
from sourcelight.display.notebook.state import Phase, ProgressSnapshot

_WORDS: dict[Phase, tuple[str, str]] = {
    "running": ("Searching", "\u2026"),
    "complete": ("Complete", "\u2713"),
    "partial": ("Partial", "\u2713"),
    "limited": ("Limited", "\u26a0"),
    "unparsed": ("Unparsed", "\u26a0"),
    "interrupted": ("Interrupted", "\u25a0"),
    "failed": ("Failed", "\u2717"),
}
_COLORS: dict[Phase, str] = {
    "running": "var(--jp-brand-color1, #1976d2)",
    "complete": "var(--jp-success-color1, #388e3c)",
    "partial": "var(--jp-ui-font-color2, #616161)",
    "limited": "var(--jp-warn-color1, #f57c00)",
    "unparsed": "var(--jp-warn-color1, #f57c00)",
    "interrupted": "var(--jp-warn-color1, #f57c00)",
    "failed": "var(--jp-error-color1, #d32f2f)",
}
_STYLE = """<style>
.sl-bar{height:6px;border-radius:3px;overflow:hidden;background:var(--jp-layout-color3,#bdbdbd)}
.sl-bar div{height:100%;border-radius:3px}
.sl-bar .sl-unknown{width:30%;animation:sl-slide 1.2s ease-in-out infinite alternate}
@keyframes sl-slide{from{margin-left:0}to{margin-left:70%}}
@media (prefers-reduced-motion:reduce){.sl-bar .sl-unknown{animation:none;width:100%;opacity:.5}}
</style>"""
_TEXT = "color:var(--jp-ui-font-color1,inherit);font-family:var(--jp-ui-font-family,sans-serif);font-size:13px"
_MUTED = "color:var(--jp-ui-font-color2,inherit)"
_SEVERITIES = {"warn": "warning", "warning": "warning", "error": "error"}
_MAX_NOTICES = 8


def bar_html(snapshot: ProgressSnapshot) -> str:
    """The bar: determinate only where a total is known, full at the end."""
    color = _COLORS[snapshot.phase]
    word = snapshot.activity if snapshot.phase == "running" else _WORDS[snapshot.phase][0]
    label = escape(f"{word}: {one_line(snapshot.title, 80)}")
    fraction = snapshot.fraction
    if snapshot.phase == "complete":
        fraction = 1.0
    if snapshot.phase == "running" and fraction is None:
        return (
            f'{_STYLE}<div class="sl-bar" role="progressbar" aria-label="{label}" aria-busy="true">'
            f'<div class="sl-unknown" style="background:{color}"></div></div>'
        )
    percent = round(100 * (1.0 if fraction is None else fraction))
    return (
        f'{_STYLE}<div class="sl-bar" role="progressbar" aria-label="{label}" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{percent}"><div style="background:{color};width:{percent}%"></div></div>'
    )


def status_html(snapshot: ProgressSnapshot) -> str:
    """The line of words and numbers, announced politely to screen readers."""
    word, sign = _WORDS[snapshot.phase]
    word = snapshot.activity if snapshot.phase == "running" else word
    of = f" of {snapshot.total:,}" if snapshot.total else ""
    fields = " \u00b7 ".join(f"{escape(value)}\u202f{escape(name)}" for name, value in snapshot.fields)
    return (
        f'<div class="sl-status tex2jax_ignore" role="status" aria-live="polite" style="{_TEXT}">'
        f'<b style="color:{_COLORS[snapshot.phase]}"><span aria-hidden="true">{sign}</span> {word}</b> '
        f"<b>{snapshot.done:,}</b>{of} {escape(snapshot.unit)} \u00b7 {fields}"
        f'<br><code style="{_MUTED}">{escape(one_line(snapshot.title, 200))}</code></div>'
    )


def notices_html(snapshot: ProgressSnapshot) -> str:
    """Skipped work and alerts; empty when there are none."""
    if not snapshot.notices:
        return ""
    items = []
    for severity, text in snapshot.notices[:_MAX_NOTICES]:
        kind = _SEVERITIES.get(severity, "info")
        color = {"info": _MUTED, "warning": f"color:{_COLORS['limited']}", "error": f"color:{_COLORS['failed']}"}
        items.append(f'<li style="{color[kind]}"><b>{kind}</b> {escape(one_line(text, 400))}</li>')
    if len(snapshot.notices) > _MAX_NOTICES:
        items.append(f'<li style="{_MUTED}">and {len(snapshot.notices) - _MAX_NOTICES} more</li>')
    style = f"{_TEXT};margin:2px 0"
    label = "Skipped work and alerts"
    return f'<ul class="sl-notes tex2jax_ignore" aria-label="{label}" style="{style}">{"".join(items)}</ul>'


class ProgressBox(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """A bar, a line of numbers, notices, and a Stop button where one can work.

    Parameters
    ----------
    stop
        Called when Stop is pressed, on whatever thread the kernel uses; None: no button.
    """

    def __init__(self, stop: Callable[[], None] | None = None) -> None:
        # Each model costs a millisecond or two to make, so that the parts share those of their looks.
        looks = {"layout": ipywidgets.Layout(width="100%"), "style": HTMLStyle()}
        self.bar, self.status, self.notices = (ipywidgets.HTML(**looks) for _ in range(3))
        self.button: Any = None
        children = [self.bar, self.status, self.notices]
        if stop is not None:
            self.button = ipywidgets.Button(
                description="Stop", icon="stop", tooltip="Stop and keep what arrived", layout={"width": "90px"}
            )
            self.button.on_click(lambda _: stop())
            children.append(self.button)
        self._shown = False
        super().__init__(children=children, layout=ipywidgets.Layout(max_width="720px"))

    def __repr__(self) -> str:
        return "sourcelight progress"  # stored notebooks compare this text, so it never changes

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Show a moment; the first one displays the box."""
        for part, text in (
            (self.bar, bar_html(snapshot)),
            (self.status, status_html(snapshot)),
            (self.notices, notices_html(snapshot)),
        ):
            # Traits that stay as they are send nothing, so the sliding bar is not restarted by every paint.
            with part.hold_sync():
                part.value = text
        if self.button is not None and snapshot.phase != "running":
            self.button.layout.display = "none"
        if not self._shown:
            self._shown = True
            display(self)

"""Colors of figures, light and dark, and drawings as SVG elements that follow the theme of their page.

Colors were chosen by search. Any two of a palette are at least 15 apart (CIE 1976) in each of the three common kinds of
color blindness, and each has a contrast of at least 3 to its background (WCAG 1.4.11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ThemeName = Literal["light", "dark"]

IN_DARK_NOTEBOOKS = (
    '[data-jp-theme-light="false"]',  # JupyterLab and Notebook 7
    ".vscode-dark",
    'html[theme="dark"]',  # Colab
)
"""CSS selectors of notebooks that are dark by their own switch."""

_VARIABLES: Mapping[str, str] = {
    "text": "text", "muted": "muted", "grid": "grid", "background": "back", "rest": "rest",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Theme:
    """Colors of a figure: `series` for groups, `rest` for all others, `steps` from few to many."""

    background: str
    text: str
    muted: str
    grid: str
    empty: str
    series: tuple[str, ...]
    rest: str
    steps: tuple[str, ...]


THEMES: dict[str, Theme] = {
    "light": Theme(
        background="#FFFFFF",
        text="#1B1B1F",
        muted="#55585F",
        grid="#E2E4E8",
        empty="#EEF0F3",
        series=("#0C3AA0", "#BB8E1A", "#0E8A43", "#7B1A60", "#432F19"),
        rest="#8C8C8C",
        steps=("#BFD3F2", "#86ACE3", "#4C82CD", "#1F59B0", "#0A2F73"),
    ),
    "dark": Theme(
        background="#15181C",
        text="#E9EAED",
        muted="#AAB0B9",
        grid="#333940",
        empty="#22272D",
        series=("#5B9BFF", "#E8A13A", "#1FA97C", "#F2B5DA", "#FFF3A6"),
        rest="#777D86",
        steps=("#1F3A66", "#2F5FA6", "#4C87DB", "#86B2F5", "#CFE1FF"),
    ),
}


def theme_of(name: str | None) -> Theme:
    """Return the theme of a name, light for None; raises ValueError for an unknown one."""
    if name is None:
        return THEMES["light"]
    if name not in THEMES:
        raise ValueError(f"theme must be {' or '.join(THEMES)}, got {name!r}")
    return THEMES[name]


def text_on(color: str, theme: Theme) -> str:
    """Return the text color that reads best on a color: white, or the darkest of the theme."""
    dark = min(theme.text, theme.background)
    return max(("#FFFFFF", dark), key=lambda ink: contrast(ink, color))


def contrast(color: str, other_color: str) -> float:
    """Return the contrast of two colors, 1 to 21, as WCAG 2 defines it."""
    darker, lighter = sorted(_luminance(name) for name in (color, other_color))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def mix_colors(color: str, other_color: str, share: float) -> str:
    """Return `share` of the first color and the rest of the second."""
    channels = (
        round(int(color[i : i + 2], 16) * share + int(other_color[i : i + 2], 16) * (1 - share)) for i in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def theme_variables(name: str) -> str:
    """Return the CSS declarations of a theme, ``light`` or ``dark``, for drawings of `clean_svg`."""
    return "".join(f"--sl-{role}:{color};" for role, color in _colors(THEMES[name]).items())


def clean_svg(text: str, name: str) -> str:
    """Return an SVG file of matplotlib, drawn in the light theme, as an element for a page.

    Its colors become the variables of `theme_variables`, and `name` prefixes its ids, as a page has several drawings.
    Comments (which repeat texts), metadata and styles (which would be the page's) are removed.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    for role, color in _colors(THEMES["light"]).items():
        text = re.sub(f"{color}(?![0-9a-fA-F])", f"var(--sl-{role},{color})", text, flags=re.IGNORECASE)
    return _prefix_ids(text, f"sl-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-")


def _prefix_ids(svg: str, prefix: str) -> str:
    """Keep the ids that the drawing refers to, under a prefix."""
    used_ids = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{prefix}{match[1]}"' if match[1] in used_ids else "", svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)


def _colors(theme: Theme) -> dict[str, str]:
    """Return the colors of a theme by the names of their CSS variables."""
    colors = {variable: str(getattr(theme, name)) for name, variable in _VARIABLES.items()}
    return colors | {f"series-{number}": color for number, color in enumerate(theme.series, 1)}

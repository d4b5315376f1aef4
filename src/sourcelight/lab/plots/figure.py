"""`Figure`, its files, and the decorator with which a figure follows the theme of the notebook."""

from __future__ import annotations

import io
import logging
import os
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.markup import NO_MATH, escape, visible
from sourcelight.display.notebook.cell_messages import short_in_cells
from sourcelight.lab.plots.themes import IN_DARK_NOTEBOOKS

_SCREEN_DPI = 80
_FILE_DPI = 144
"""Dots per inch of a figure in a notebook, and of one in a file, which may be printed."""

FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Source Han Sans SC",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic",
    "PingFang SC", "Hiragino Sans GB", "Arial Unicode MS",
)  # fmt: skip
"""Fonts of systems with Chinese, Japanese and Korean, for names of people; the first that is installed counts."""

MatplotlibFigure = Any
F = TypeVar("F", bound=Callable[..., Any])

# The dark image is hidden by its own attribute, so that a page which removes styles shows one of them.
_THEMED_STYLE = (
    f"<style>{','.join(f'{selector} .sl-figure .sl-light' for selector in IN_DARK_NOTEBOOKS)}{{display:none}}"
    f"{','.join(f'{selector} .sl-figure .sl-dark' for selector in IN_DARK_NOTEBOOKS)}{{display:block !important}}"
    ".sl-figure img{max-width:100%;height:auto}</style>"
)


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """A figure that draws itself on demand and describes itself in words for people who can't see it.

    In a notebook it shows itself. `draw` gives a new matplotlib figure each time.

    Attributes
    ----------
    name, title
        Name for programs, title for readers.
    description
        Description of the figure, in one sentence.
    draw
        Makes the matplotlib figure, without global state.
    draw_dark
        Makes the figure for dark notebooks; None: the same.
    """

    name: str
    title: str
    description: str
    draw: Callable[[], MatplotlibFigure]
    draw_dark: Callable[[], MatplotlibFigure] | None = None

    def __repr__(self) -> str:
        return visible(f"<Figure {self.title!r}: {self.description}>")

    def to_png(self, *, dots_per_in: float = _FILE_DPI) -> bytes:
        """Return the figure as PNG.

        Parameters
        ----------
        dots_per_in
            Resolution.

        Returns
        -------
        bytes
            The image.
        """
        return self._render("png", dots_per_in)

    def to_svg(self) -> str:
        """Return the figure as SVG; text is drawn as shapes, so it looks the same everywhere and nothing in it acts."""
        return self._render("svg", _FILE_DPI).decode()

    def save(self, path: str | os.PathLike[str], *, dots_per_in: float = _FILE_DPI) -> str:
        """Write the figure to a ``.png`` or ``.svg`` file.

        Parameters
        ----------
        path
            Path of the file; its suffix selects the format.
        dots_per_in
            Resolution of a PNG.

        Returns
        -------
        str
            The path.

        Raises
        ------
        ValueError
            When the suffix is another one.
        """
        target = Path(path).expanduser()
        format = target.suffix.lower().removeprefix(".")  # noqa: A001 - matplotlib's name
        if format not in {"png", "svg"}:
            raise ValueError(f"can't save a figure as {target.suffix or target.name!r}; use .png or .svg")
        target.write_bytes(self._render(format, dots_per_in))
        return str(target)

    def _render(self, format: str, dots_per_in: float) -> bytes:  # noqa: A002 - matplotlib's name
        file = io.BytesIO()
        write_figure(self.draw, file, format, dots_per_in)
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self._render("png", _SCREEN_DPI)

    def _repr_html_(self) -> str | None:
        if self.draw_dark is None:
            return None

        dark = io.BytesIO()
        write_figure(self.draw_dark, dark, "png", _SCREEN_DPI)
        light_image, dark_image = (_image(png, self.description) for png in (self._repr_png_(), dark.getvalue()))
        return (
            f'{_THEMED_STYLE}<div class="sl-figure {NO_MATH}"><div class="sl-light">{light_image}</div>'
            f'<div class="sl-dark" style="display:none">{dark_image}</div></div>'
        )


def _image(png: bytes, description: str) -> str:
    return f'<img src="data:image/png;base64,{b64encode(png).decode()}" alt="{escape(visible(description))}">'


def follows_theme(function: F) -> F:
    """Decorate a function that makes a `Figure` in a theme: with ``theme=None``, the figure follows the notebook.

    In a cell, errors about its arguments are short, like all errors of this package.
    """
    function = checks_arguments(function)

    @wraps(function)
    def chart(*args: Any, **options: Any) -> Figure:
        theme = options.pop("theme", None)
        try:
            figure: Figure = function(*args, theme=theme or "light", **options)
            if theme is not None:
                return figure
            return replace(figure, draw_dark=function(*args, theme="dark", **options).draw)
        except (TypeError, ValueError) as exc:
            short_in_cells(exc)
            raise

    return cast("F", chart)


@contextmanager
def _no_font_log() -> Iterator[None]:
    """Keep matplotlib from logging that a font has no regular weight: the nearest one is used."""
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@lru_cache(maxsize=4)
def installed_fonts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fonts among `names` that this machine has, in their order."""
    from matplotlib.font_manager import fontManager

    fonts = {font.name for font in fontManager.ttflist}
    return tuple(name for name in names if name in fonts)


def write_figure(
    draw: Callable[[], MatplotlibFigure],
    file: IO[bytes],
    format: str,  # noqa: A002 - matplotlib's name
    dots_per_in: float = _FILE_DPI,
) -> None:
    """Draw a figure and write it as ``svg`` or ``png``: the same bytes for the same figure and fonts."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # A fixed salt, because ids in an SVG are random otherwise, and equal figures would differ.
    fonts = [*mpl.rcParams["font.family"], *installed_fonts(FALLBACK_FONTS)]
    options = {"svg.hashsalt": "sourcelight", "font.family": fonts}
    with warnings.catch_warnings(), mpl.rc_context(options), _no_font_log():
        # A script that no font has is drawn as boxes; the table next to the figure has the names.
        warnings.filterwarnings("ignore", message=r".*[Gg]lyph.*")
        figure = draw()
        # `savefig` draws a figure twice, the first time for its layout alone, which drawing it once does too.
        if format == "svg":
            FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
        else:
            figure.dpi = dots_per_in
            FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})

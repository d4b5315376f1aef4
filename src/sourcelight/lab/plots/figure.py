"""`Figure`, the data that it is drawn from, and the sheet that all figures share: title, counts, limits."""

from __future__ import annotations

import io
import os
import textwrap
import warnings
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.extras import require_notebook
from sourcelight.core.markup import NO_MATH, escape, one_line, visible
from sourcelight.display.notebook.cell_messages import short_in_cells
from sourcelight.lab.plots.data import check_column
from sourcelight.lab.plots.themes import IN_DARK_NOTEBOOKS, Theme

if TYPE_CHECKING:
    from pandas import DataFrame, Series


WIDTH_IN = 9.0
MAX_LABEL_CHARS = 44
_MAX_HEIGHT_IN = 14.0
_LINE_CHARS = 118
_MAX_LINES = 3
_SCREEN_DPI = 80
_FILE_DPI = 144
MatplotlibFigure = Any
F = TypeVar("F", bound=Callable[..., Any])
# The dark image is hidden by its own attribute, so that a page which removes styles shows one of them.
_THEMED_STYLE = (
    f"<style>{','.join(f'{selector} .sl-figure .sl-light' for selector in IN_DARK_NOTEBOOKS)}{{display:none}}"
    f"{','.join(f'{selector} .sl-figure .sl-dark' for selector in IN_DARK_NOTEBOOKS)}{{display:block !important}}"
    ".sl-figure img{max-width:100%;height:auto}</style>"
)

_AUTHORS = frozenset({"author", "blame_author", "last_author"})
_SINGULARS = {"matches": "match", "commits": "commit", "lines": "line", "rows": "row"}


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
        write_figure(self.draw(), file, format, dots_per_in)
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self._render("png", _SCREEN_DPI)

    def _repr_html_(self) -> str | None:
        if self.draw_dark is None:
            return None

        dark = io.BytesIO()
        write_figure(self.draw_dark(), dark, "png", _SCREEN_DPI)
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


def write_figure(
    figure: MatplotlibFigure,
    file: IO[bytes],
    format: str,  # noqa: A002 - matplotlib's name
    dots_per_in: float = _FILE_DPI,
) -> None:
    """Write a figure as ``svg`` or ``png``: the same bytes for the same figure."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # A fixed salt, because ids in an SVG are random otherwise, and equal figures would differ.
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "sourcelight"}):
        # The font lacks some scripts and draws boxes for them; the table next to the figure has the names.
        warnings.filterwarnings("ignore", message=r".*[Gg]lyph.*")
        # `savefig` draws a figure twice, the first time for its layout alone, which drawing it once does too.
        if format == "svg":
            FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
        else:
            figure.dpi = dots_per_in
            FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})


def text_column(frame: DataFrame, name: str) -> Series[Any]:
    """Return a column as texts, ``unknown`` for null; raises ValueError if there is none.

    Authors are distinguished by address, as in tables: of several with one name, all but the first show the address.
    """
    check_column(frame, name)
    texts = frame[name].astype("object").where(frame[name].notna(), "unknown").astype("str")
    addresses = f"{name}_email"
    if name not in _AUTHORS or addresses not in frame.columns or not frame[addresses].notna().any():
        return texts

    keys = frame[addresses].astype("object").where(frame[addresses].notna(), texts).astype("str").str.casefold()
    # A person may have several names: the most frequent one, which comes first, becomes the label.
    pairs = texts.groupby([keys, texts], sort=False).size().sort_values(ascending=False, kind="stable")
    labels: dict[str, str] = {}
    existing_names: set[str] = set()
    for key, text in pairs.index:
        if key not in labels:
            labels[key] = f"{text} <{key}>" if text in existing_names else text
            existing_names.add(labels[key])

    return keys.map(labels)


def largest_first(totals: Series[Any], limit: int) -> tuple[list[str], Sequence[str]]:
    """Return the names with the largest totals, at most `limit`, and the remaining ones."""
    names = [str(name) for name in totals.sort_values(ascending=False, kind="stable").index]
    return names[:limit], names[limit:]


def format_number(value: float) -> str:
    """Return a number with separators, and one decimal if it has any."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def format_amount(value: float, unit: str) -> str:
    """Return a number with its unit, a plural: ``1 match``, ``2 matches``, ``1 added line``."""
    head, _, last = unit.rpartition(" ")
    unit_text = f"{head} {_SINGULARS.get(last, last)}".strip() if value == 1 else unit
    return f"{format_number(value)} {unit_text}"


def others_label(count: int) -> str:
    """Return the name of a series of everything else: ``1 other``, ``2 others``."""
    return f"{count:,} other{'' if count == 1 else 's'}"


def note_if_empty(axes: Any, theme: Theme, unit: str, *, is_empty: bool) -> None:
    """Replace empty axes with a note, such as ``No matches``."""
    if is_empty:
        axes.set_axis_off()
        axes.text(0.5, 0.5, f"No {unit}", transform=axes.transAxes, ha="center", va="center", color=theme.muted)


def short_label(text: Any, width: int = MAX_LABEL_CHARS) -> str:
    """Return a name as a label: one line, without its middle where it is long, since names differ at their ends."""
    line = one_line(str(text), 10 * width)
    if len(line) <= width:
        return line
    tail = (width - 1) * 2 // 3
    return f"{line[: width - 1 - tail]}…{line[-tail:]}"


def new_sheet(theme: Theme, height_in: float, title: str, counts: str, limits: str = "") -> tuple[Any, Any]:
    """Return a figure with a header and a footer, and the axes between them.

    Parameters
    ----------
    theme
        The colors.
    height_in
        Height of the axes with their labels, in inches.
    title, counts, limits
        The title, what the numbers count, and what they exclude. The texts may be untrusted; they are shortened.
    """
    require_notebook("matplotlib", "a figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as MatplotlibSheet

    head_lines, foot_lines = _wrap(counts), _wrap(limits)
    head_in = 0.48 + 0.19 * len(head_lines)
    foot_in = 0.1 + 0.17 * len(foot_lines)
    total_in = min(height_in, _MAX_HEIGHT_IN) + head_in + foot_in
    figure = MatplotlibSheet(figsize=(WIDTH_IN, total_in), layout="constrained", facecolor=theme.background)

    # Attached directly rather than through pyplot, which would keep each figure in a global list.
    FigureCanvasAgg(figure)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.012, foot_in / total_in, 0.976, (total_in - head_in - foot_in) / total_in))
    _add_text(figure, one_line(title, 90), 1 - 0.10 / total_in, theme.text, size=13, weight="bold", va="top")
    for index, line in enumerate(head_lines):
        _add_text(figure, line, 1 - (0.36 + 0.19 * index) / total_in, theme.muted, size=9, va="top")

    for index, line in enumerate(foot_lines):
        _add_text(figure, line, (foot_in - 0.06 - 0.17 * index) / total_in, theme.muted, size=8, va="top")

    axes = figure.add_subplot()
    axes.set_facecolor(theme.background)
    return figure, axes


def _wrap(text: str) -> list[str]:
    if not text:
        return []
    line = one_line(text, _MAX_LINES * _LINE_CHARS)
    return textwrap.wrap(line, _LINE_CHARS, max_lines=_MAX_LINES, placeholder=" …")


def _add_text(figure: Any, text: str, y: float, color: str, **style: Any) -> None:
    # Dollar signs in repository names and queries are text: as formulas they fail or draw nonsense.
    figure.text(0.014, y, text, color=color, ha="left", parse_math=False, **style)


def style_axes(axes: Any, theme: Theme, *, grid: str = "", series: int = 0) -> None:
    """Remove the frame, draw a grid along one axis, and a legend above if there are several series."""
    for spine in axes.spines.values():
        spine.set_visible(False)

    axes.tick_params(colors=theme.muted, length=0, labelsize=9)
    axes.xaxis.label.set_color(theme.muted)
    axes.yaxis.label.set_color(theme.muted)
    if grid:
        axes.grid(visible=True, axis=grid, color=theme.grid, linewidth=0.8)

    axes.set_axisbelow(True)
    if series > 1:
        legend = axes.legend(
            frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, labelcolor=theme.text,
            handlelength=1.0, handleheight=1.0, borderaxespad=0.2,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def use_whole_numbers(axis: Any) -> None:
    """Set ticks of counts: whole numbers, each once."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter("{x:,.0f}")


def use_dates(axes: Any, max_ticks: int = 9) -> None:
    """Set ticks of dates along the x axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=max_ticks)
    axes.xaxis_date()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))

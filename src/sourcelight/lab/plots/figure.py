"""A figure that shows and saves itself."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sourcelight.core.markup import visible

MatplotlibFigure = Any
_SCREEN_DPI = 80
_FILE_DPI = 144


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """A figure: drawn when it is asked for, and described in words for those who can't see it.

    In a notebook it shows itself. `draw` gives the matplotlib figure, anew each time.

    Attributes
    ----------
    name, title
        Name for programs, title for readers.
    description
        What it shows, in a sentence.
    draw
        Makes the matplotlib figure, which no global state knows.
    """

    name: str
    title: str
    description: str
    draw: Callable[[], MatplotlibFigure]

    def __repr__(self) -> str:
        return visible(f"<Figure {self.title!r}: {self.description}>")

    def to_png(self, *, dots_per_in: float = _FILE_DPI) -> bytes:
        """The figure as PNG."""
        return self._as("png", dots_per_in)

    def to_svg(self) -> str:
        """The figure as SVG; text is drawn as shapes, so that it looks the same everywhere and nothing in it acts."""
        return self._as("svg", _FILE_DPI).decode()

    def save(self, path: str | os.PathLike[str], *, dots_per_in: float = _FILE_DPI) -> str:
        """Write the figure to a file ending in ``.png`` or ``.svg``; gives its path.

        Raises
        ------
        ValueError
            For another ending.
        """
        target = Path(path).expanduser()
        format = target.suffix.lower().removeprefix(".")  # noqa: A001 - matplotlib's name
        if format not in {"png", "svg"}:
            raise ValueError(f"a figure is saved as .png or .svg, not as {target.suffix or 'a file without an ending'}")
        target.write_bytes(self._as(format, dots_per_in))
        return str(target)

    def _as(self, format: str, dots_per_in: float) -> bytes:  # noqa: A002 - matplotlib's name
        file = io.BytesIO()
        saved(self.draw(), file, format, dots_per_in)
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self._as("png", _SCREEN_DPI)


def saved(figure: MatplotlibFigure, file: IO[bytes], format: str, dots_per_in: float = _FILE_DPI) -> None:  # noqa: A002
    """Write a figure as ``svg`` or ``png``: the same bytes for the same figure."""
    import matplotlib as mpl

    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "sourcelight"}):
        # A name in a script that the font lacks is drawn as boxes; the table beside the figure has it in full.
        warnings.filterwarnings("ignore", message=r".*[Gg]lyph.*")
        metadata = {"Date": None} if format == "svg" else {"Software": None}
        figure.savefig(file, format=format, dpi=dots_per_in, metadata=metadata, facecolor=figure.get_facecolor())

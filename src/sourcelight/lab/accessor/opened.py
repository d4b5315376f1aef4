"""One file, shown at a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sourcelight.client import Backend
from sourcelight.client.portal import call
from sourcelight.core.markup import escape, highlight, link, one_line, visible
from sourcelight.display.frames.answers import answer_frame
from sourcelight.display.notebook.views import Link
from sourcelight.lab.accessor.linking import places_of, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

AROUND = 20
_LONGEST = 500
_STYLE = """<style>
.sl-file{color:var(--jp-ui-font-color1,inherit);font-size:13px}
.sl-file pre{font-family:var(--jp-code-font-family,monospace);tab-size:4;margin:4px 0;padding:4px;overflow-x:auto;
background:var(--jp-layout-color2,rgba(127,127,127,.12))}
.sl-file .sl-number{color:var(--jp-ui-font-color2,inherit);user-select:none}
.sl-file .sl-here{background:var(--jp-layout-color3,rgba(127,127,127,.25))}
.sl-file mark{background:rgba(255,170,0,.4);color:inherit;font-weight:bold}
</style>"""


class OpenedFile:
    """A file with a line marked; made by `DataFrame.code.open`. It shows the 20 lines on each side, `lines` has all.

    Attributes
    ----------
    repository, commit, path
        Which file it is.
    line_number
        The marked line, from 1; None where there is none.
    lines
        DataFrame of all lines; columns as in ``columns_of("file_lines")``.
    links
        Where it can be opened, the best place first: each has `kind`, `words` and `href`.
    """

    def __init__(
        self, row: dict[str, Any], lines: DataFrame, links: tuple[Link, ...], spans: tuple[list[int], list[int]]
    ) -> None:
        self.repository: str = row["repository"]
        self.path: str = row["path"]
        self.line_number: int | None = row.get("line_number")
        self.lines = lines
        self.links = links
        self.commit: str = row.get("commit") or (str(lines["commit"].iloc[0]) if len(lines) else "")
        self._spans = spans

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def _title(self) -> str:
        at = f":{self.line_number}" if self.line_number else ""
        return one_line(f"{self.repository} {self.path}{at}", 200)

    def _shown(self) -> Iterator[tuple[int, str]]:
        here = self.line_number or 1
        numbers = self.lines["line_number"]
        near = self.lines[(numbers >= here - AROUND) & (numbers <= here + AROUND)]
        yield from zip(near["line_number"].tolist(), near["line"].astype("object"), strict=True)

    def __repr__(self) -> str:
        shown = list(self._shown())
        width = len(str(shown[-1][0])) if shown else 1
        body = [
            f"{'>' if number == self.line_number else ' '} {number:>{width}} {visible(text)[:_LONGEST]}"
            for number, text in shown
        ]
        return "\n".join([self._title, *body, self._rest(len(shown))])

    def _rest(self, shown: int) -> str:
        total = len(self.lines)
        return f"{shown:,} of {total:,} lines" if shown < total else f"{total:,} {'line' if total == 1 else 'lines'}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        shown = list(self._shown())
        width = len(str(shown[-1][0])) if shown else 1
        rows = []
        for number, text in shown:
            here = number == self.line_number
            line = highlight(text[:_LONGEST], *self._spans) if here else escape(text[:_LONGEST])
            more = "\u2026" if len(text) > _LONGEST else ""
            mark = ' class="sl-here"' if here else ""
            rows.append(f'<span{mark}><span class="sl-number">{number:>{width}}</span> {line}{more}</span>\n')
        places = " \u00b7 ".join(link(each.words, each.href) for each in self.links if each.kind != "lab")
        html = (
            f'{_STYLE}<div class="sl-file tex2jax_ignore"><b>{escape(self._title)}</b> {places}'
            f"<pre>{''.join(rows)}</pre><div>{self._rest(len(shown))}</div></div>"
        )
        return {"text/plain": repr(self), "text/html": html}


def opened(frame: DataFrame, row: int, backend: Backend) -> OpenedFile:
    """The file of a row; see `CodeAccessor.open`."""
    place = row % len(frame)
    told = rows_of(frame.iloc[[place]])[0]
    spans: tuple[list[int], list[int]] = ([], [])
    if {"start", "end"} <= set(frame.columns) and frame["start"].iloc[place] is not None:
        try:
            spans = (list(frame["start"].iloc[place]), list(frame["end"].iloc[place]))
        except TypeError:  # one span as two numbers, as `groups` gives them, or a null of another kind
            spans = ([], [])
    arguments = {"repo": told["repository"], "path": told["path"]}
    if told.get("commit"):
        arguments["revision"] = told["commit"]
    answer = call(backend.call, "read_file", arguments, None)
    return OpenedFile(told, answer_frame(answer), places_of(backend).of(told), spans)

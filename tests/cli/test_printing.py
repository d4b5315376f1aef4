import io
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.cli.ask import without_escapes
from sourcelight.cli.matches.printer import MatchPrinter
from sourcelight.cli.output import StatusLine, print_line, print_table
from sourcelight.core.markup.clean_markdown import literal
from sourcelight.core.markup.counts import size_text


def _batch(**columns: list[Any]) -> Any:
    return pa.record_batch(dict(columns))


def _printed(batch: Any, *, use_color: bool = False) -> str:
    stream = io.StringIO()
    MatchPrinter(stream, use_color=use_color).write(batch)
    return stream.getvalue()


CONTENT: dict[str, list[Any]] = {
    "type": ["content", "content", "content"],
    "repository": ["a/b", "a/b", "a/b"],
    "revision": ["", "", "v1"],
    "path": ["x.py", "x.py", "x.py"],
    "line_number": [3, 12, 3],
    "line": ["def f():\r", "\x1b]0;evil\x07 f\u202e", "f f"],
    "start": [[4], [8], [0, 2]],
    "end": [[5], [9], [1, 3]],
}


def test_lines_stand_below_the_heading_of_their_file() -> None:
    assert _printed(_batch(**CONTENT)) == (
        "a/b  x.py\n      3  def f():\n     12  ␛]0;evil␇ f⟨U+202E⟩\na/b@v1  x.py\n      3  f f\n"
    )


def test_colours_are_the_only_escapes_that_reach_a_terminal() -> None:
    text = _printed(_batch(**CONTENT), use_color=True)
    assert "def \x1b[1;31mf\x1b[0m():" in text
    assert "\x1b[1;31mf\x1b[0m \x1b[1;31mf\x1b[0m" in text
    assert "\x1b]" not in text
    assert "\x07" not in text


def test_a_match_that_goes_past_its_line_ends_with_it() -> None:
    batch = _batch(type=["content"], repository=["r"], path=["p"], line_number=[1], line=["ab"], start=[[1]], end=[[3]])
    assert "a\x1b[1;31mb\x1b[0m\n" in _printed(batch, use_color=True)


def test_paths_and_repositories_are_one_line_each() -> None:
    spans: dict[str, list[Any]] = {"name_start": [[0], []], "name_end": [[1], []]}
    paths = _batch(type=["path", "path"], repository=["r", "r"], path=["a\nb", "c"], **spans)
    assert _printed(paths) == "r  a␊b\nr  c\n"
    assert _printed(paths, use_color=True) == "r  \x1b[1;31ma\x1b[0m␊b\nr  c\n"
    assert _printed(_batch(type=["repo"], repository=["a/b"])) == "a/b\n"


def test_a_table_has_text_left_and_numbers_right() -> None:
    stream = io.StringIO()
    print_table(("name", "n"), [("a", 1), ("long\x1b", 12_345), (None, 0)], stream)
    assert stream.getvalue() == "name        n\na           1\nlong␛  12,345\n            0\n"


def test_a_table_without_rows_is_its_heads() -> None:
    stream = io.StringIO()
    print_table(("a", "b"), [], stream)
    assert stream.getvalue() == "a  b\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_status_line_is_silent_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    line = StatusLine(stream)
    line.show("x")
    line.clear()
    assert stream.getvalue() == ""


def test_a_status_line_is_painted_over_and_wiped() -> None:
    stream = _Terminal()
    line = StatusLine(stream)
    line.show("first \x1b[2J")
    line.show("too soon")
    line.clear()
    line.clear()
    assert stream.getvalue() == "\r\x1b[Kfirst ␛[2J\r\x1b[K"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (3_200_000, "3.2 MB"), (5 * 10**12, "5.0 TB")]
)
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"dependabot\[bot\] wrote it \(\#10469\)", "dependabot[bot] wrote it (#10469)"),
        (r"`a\[b` and c\[d", r"`a\[b` and c[d"),
        (r"``a`\[`` \*", r"``a`\[`` *"),
        (r"a \` b \[ c \` d", "a ` b [ c ` d"),
        ("```\na\\[\n```\n\\[", "```\na\\[\n```\n["),
        (r"a ` b \[", "a ` b ["),
        ("&lt;b> `&lt;`", "<b> `&lt;`"),
    ],
)
def test_a_terminal_shows_no_escapes_outside_of_code(markdown: str, text: str) -> None:
    assert without_escapes(markdown) == text


@given(st.text(alphabet="ab \\\\`*[]()#_<&!|~1.", max_size=30))
def test_escaped_text_reads_as_it_was(text: str) -> None:
    assert without_escapes(literal(text)) == text


def test_a_line_of_an_answer_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("repo \x1b[2J\x9b31m\u202e")
    assert capsys.readouterr().out == "repo \u241b[2J\u27e8U+009B\u27e931m\u27e8U+202E\u27e9\n"

"""The face of a result is stable, complete about what is missing, and safe."""

from __future__ import annotations

import html as html_
import re
from typing import Any

import pyarrow as pa
import pytest

from display.batches_for_tests import lines, paths, record_batch, repos
from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.completeness import Status
from sourcelight.core.wire.events import Alert, ProposedQuery, QuerySuggestion, Skipped
from sourcelight.display.notebook.result_text import ResultView, result_text
from sourcelight.display.notebook.result_view import result_html
from sourcelight.display.notebook.views import LinkResolver

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table><iframe srcdoc=x>",
    "<a href='javascript:alert(1)'>x</a>",
    "<button data-commandlinker-command=x>",
    "\x1b[31mred\x1b]8;;http://x\x07",
    "abc\u202edcba\u2066",
]
TAGS = {
    "style",
    "div",
    "b",
    "br",
    "wbr",
    "code",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "mark",
    "ul",
    "li",
    "pre",
    "span",
}


def result_info(
    *batches: Any, status: Status = "complete", reasons: tuple[str, ...] = (), query: str = "foo", **fields: Any
) -> ResultView:
    """Facts of a result over some batches."""
    matches = sum(pa.compute.sum(b["match_count"]).as_py() for b in batches)
    arguments = {"skipped": (), "alerts": (), "infos": (RepositoryInfo("r1"),)} | fields
    arguments.setdefault("links", LinkResolver(hosts={fact.name: fact.url for fact in arguments["infos"]}))
    return ResultView(query=query, status=status, reasons=reasons, matches=matches, batches=batches, **arguments)


MANY = lines("r1", "a.go", [(i, f"foo {i}", [(0, 3)]) for i in range(1, 26)])
LIMIT = Skipped("shard-match-limit", "result limit hit", "", "info", QuerySuggestion("increase limit", "count:all"))


def test_text_is_stable_and_says_what_is_missing() -> None:
    displayed = result_info(
        MANY,
        status="limited",
        reasons=("shard-match-limit: result limit hit", "alert: slow"),
        skipped=(LIMIT,),
        alerts=(Alert("slow", "", "warning", (ProposedQuery("repo:x foo"),)),),
    )
    text = result_text(displayed)
    assert text.splitlines()[:4] == [
        "SearchResult: 25 matches in 25 rows of 1 repository: limited",
        "  query: foo",
        "  warning: result limit hit (add count:all to the query)",
        "  warning: slow — try repo:x foo",
    ]
    assert text.splitlines()[4] == "  r1/a.go:1  foo 1"
    assert text.splitlines()[-1] == "  10 of 25 rows"
    assert "0x" not in text


def test_what_was_asked_for_is_no_warning_and_what_limits_is_one() -> None:
    """A file that was parsed in part makes an answer incomplete, whatever the service thinks of it."""
    unparsed = Skipped("symbols-incomplete", "2 files parsed in part", "", "info")
    asked_for = "first 25 matches, limited by count:"
    reasons = ("symbols-incomplete: 2 files parsed in part", asked_for)
    limited = result_info(MANY, status="limited", reasons=reasons, skipped=(unparsed, LIMIT))
    assert result_text(limited).splitlines()[2:5] == [
        "  warning: 2 files parsed in part",
        "  info: result limit hit (add count:all to the query)",
        f"  info: {asked_for}",
    ]
    assert "warning" not in result_text(result_info(MANY, status="partial", reasons=(asked_for,), skipped=(LIMIT,)))


def test_text_of_small_answers() -> None:
    assert result_text(result_info()).splitlines()[0] == "SearchResult: 0 matches in 0 rows of 1 repository: complete"
    single = result_info(repos(["r1"], (0, 1)), infos=())
    assert result_text(single).splitlines() == ["SearchResult: 1 match in 1 row: complete", "  query: foo", "  r1"]
    result = record_batch(
        {"type": ["path"], "repository": ["r"], "revision": ["v1"], "path": ["p"], "match_count": [1]}
    )
    assert result_text(result_info(result)).splitlines()[-1] == "  r@v1/p"


@pytest.mark.parametrize("status", ["complete", "limited", "interrupted", "failed"])
def test_every_status_has_its_banner(status: Status) -> None:
    reasons = () if status == "complete" else (status, "why it is so")
    html = result_html(result_info(MANY, status=status, reasons=reasons))
    assert f"of 1 repository: {status}</b>" in html
    assert ("why it is so" in html) == (status != "complete")
    assert ('class="sl-error"' in html) == (status == "failed")


def test_the_first_page_says_of_how_many() -> None:
    html = result_html(result_info(MANY))
    assert html.count("<tr>") == 11
    assert "10 of 25 rows" in html
    assert "of 25 rows" not in result_html(result_info(MANY.slice(0, 3)))
    assert "no matches" in result_html(result_info())


def test_columns_without_a_value_are_hidden() -> None:
    html = result_html(result_info(MANY))
    assert re.findall(r'<th scope="col"[^>]*>(\w+)</th>', html) == [
        "repository",
        "path",
        "line_number",
        "line",
        "language",
    ]
    html = result_html(result_info(repos(["r1"], (0, 1))))
    assert re.findall(r'<th scope="col"[^>]*>(\w+)</th>', html) == ["repository"]
    assert "<mark>r</mark>1" in html


def test_matches_are_marked_in_lines_and_paths() -> None:
    html = result_html(
        result_info(lines("r1", "a", [(1, "a<b é🐍foo", [(1, 2), (6, 9)])]), paths("r1", ["foo.py"], (0, 3)))
    )
    assert "a<mark>&lt;</mark>b é🐍<mark>foo</mark>" in html
    assert "<mark>foo</mark>.<wbr>py" in html or "<mark>foo</mark>.py" in html


def test_long_lines_are_shown_around_their_match() -> None:
    text = "x" * 5000 + "needle" + "y" * 5000
    html = result_html(result_info(lines("r1", "a", [(1, text, [(5000, 5006)]), (2, "z" * 400, [(399, 401)])])))
    assert "…" + "x" * 40 + "<mark>needle</mark>" in html
    assert "<mark>z</mark>" in html
    assert len(html) < 6000


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("chunked", [False, True], ids=["table", "chunks"])
def test_hostile_content_neither_runs_nor_hides(text: str, chunked: bool) -> None:  # noqa: FBT001
    batch = lines(text, text, [(1, text, [(0, 3)]), (2, text, [])])
    if chunked:
        batch = _with_chunk(batch, f"{text}\n{text}", 1)
    displayed = result_info(
        batch,
        query=text,
        status="failed",
        reasons=(text,),
        skipped=(Skipped(text, text, text, text, QuerySuggestion(text, text)),),
        alerts=(Alert(text, text, text, (ProposedQuery(text, text),)),),
        infos=(RepositoryInfo(text, url=text), RepositoryInfo("r2", url="javascript:alert(1)")),
    )
    html = result_html(displayed)
    assert {t.lower() for t in re.findall(r"<\s*/?\s*([a-zA-Z]+)", html)} <= TAGS
    assert "href" not in re.sub(r">[^<]*<", "><", html)
    for character in "\x1b\x07\u202e\u2066":
        assert character not in html
        assert character not in result_text(displayed)
    if text.startswith("<"):
        assert text[:8] in html_.unescape(re.sub(r"<[^>]*>", "", html))


def test_repositories_link_to_their_host() -> None:
    html = result_html(result_info(MANY, infos=(RepositoryInfo("r1", url="https://host/r1"),)))
    assert '<a href="https://host/r1" target="_blank" rel="noopener noreferrer">r1</a>' in html


def _with_chunk(batch: Any, text: str, line_number: int, *, truncated: bool = False) -> Any:
    n = batch.num_rows
    extra = record_batch({"chunk": [text] * n, "chunk_start_line": [line_number] * n, "truncated": [truncated] * n})
    return pa.record_batch([*batch.columns, *extra.columns], names=[*batch.schema.names, *extra.schema.names])


def test_chunks_stand_under_their_file_with_numbers() -> None:
    batch = lines("r1", "a.go", [(9, "foo 9", [(0, 3)]), (11, "foo 11", [(0, 3)])])
    html = result_html(result_info(_with_chunk(batch, "eight\nfoo 9\nten\nfoo 11", 8, truncated=True)))
    pre = re.search(r'<pre tabindex="0">(.*?)</pre>', html, re.DOTALL)
    assert pre is not None
    assert re.sub(r"<[^>]*>", "", pre[1]).splitlines() == [
        " 8- eight",
        " 9: foo 9",
        "10- ten",
        "11: foo 11",
        "(long lines are truncated)",
    ]
    assert pre[1].count("<mark>foo</mark>") == 2
    assert html.count("<b>r1/a.go</b>") == 1


def test_rows_without_a_chunk_stand_among_chunks() -> None:
    batch = _with_chunk(lines("r1", "a.go", [(1, "foo", [(0, 3)])]), "foo", 1)
    html = result_html(result_info(batch, lines("r1", "b.go", [(7, "foo 7", [(0, 3)])]), paths("r1", ["c"], (0, 1))))
    assert "<b>r1/b.go</b>" in html
    assert "<mark>foo</mark> 7" in html
    assert "<b>r1/c</b>" in html


def test_gaps_between_chunks_are_marked() -> None:
    def chunk(line: int, first: int, text: str) -> Any:
        return record_batch(
            {
                "type": ["content"], "repository": ["r1"], "path": ["a.go"], "line_number": [line], "line": ["foo"],
                "start": [[0]], "end": [[3]], "match_count": [1], "chunk": [text], "chunk_start_line": [first],
                "truncated": [False],
            }
        )  # fmt: skip

    html = result_html(
        result_info(chunk(11, 10, "a\nfoo\nb"), chunk(14, 13, "c\nfoo\nd"), chunk(101, 100, "e\nfoo\nf"))
    )
    assert re.findall(r"⋯ (\d+) lines? left out ⋯", html) == ["84"], "10 to 12 and 13 to 15 touch; 16 to 99 are missing"

"""The view of a search as HTML: results, facets, skipped items and notices.

A view takes the events of a stream one by one and can be rendered at any time, so that the page of a finished search
and the pictures of a running one are made by the same code. All text is of repositories and of the query: escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.batches.results import file_url, repository_url
from sourcelight.core.cells.json_lines import row_line
from sourcelight.core.completeness import is_limiting, status_of, title_text
from sourcelight.core.errors import PatternError, QueryError
from sourcelight.core.markup import escape, highlight, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.markup.markdown import to_html
from sourcelight.core.query.narrowing import add_filter
from sourcelight.core.query.parse import parse
from sourcelight.core.wire.events import (
    Alert,
    Done,
    ErrorEvent,
    Filters,
    Progress,
    Skipped,
    SuggestedFilter,
    facet_title,
)
from sourcelight.server.http.pages.python import call_text, python_block
from sourcelight.server.http.pages.search_lines import MAX_CHARS, line_table, remaining_text

MAX_FILES, MAX_ROWS = 50, 40
"""Results on a page, and lines of a commit or definitions of a file."""

_MAX_TITLE_CHARS = 80
COLUMNS = (
    "type", "repository", "revision", "commit", "path", "language", "line_number", "line", "start", "end",
    "name_start", "name_end", "chunk", "chunk_start_line", "symbol", "symbol_kind", "container", "author",
    "author_date", "message", "side", "cell", "cell_kind", "cell_line", "cell_language",
)  # fmt: skip
_KINDS = {
    "lang": "Languages", "repo": "Repositories", "file": "Files", "type": "Kinds", "author": "Authors",
    "commit date": "Commit dates", "symbol type": "Definitions", "utility": "More",
}  # fmt: skip
_MAX_FACETS = 12
_STATUS = {
    "complete": ("good", "complete"),
    "partial": ("quiet", "the part that the query asks for"),
    "limited": ("warn", "limited: there may be more"),
    "failed": ("bad", "failed"),
}
_Row = Mapping[str, Any]


def search_url(prefix: str, query: str, pattern_type: str = "", path: str = "/search", **options: str) -> str:
    """Return the address of a search."""
    parameters = {"q": query}
    if pattern_type:
        parameters["patternType"] = pattern_type
    parameters |= options
    return f"{prefix}{path}?{urlencode(parameters, quote_via=quote, errors='replace')}"


@dataclass(slots=True)
class _Result:
    """A result on the page: the rows of one file, commit or repository."""

    kind: str
    rows: list[_Row] = field(default_factory=list)


class SearchView:
    """The state of one search.

    Parameters
    ----------
    query, pattern_type
        The query, and how its patterns are read; an empty type is ``standard``.
    prefix
        Start of the service's addresses.
    base_url
        The service's address, for programs.
    """

    def __init__(self, query: str, pattern_type: str, prefix: str, base_url: str = "") -> None:
        self.query = query
        self.pattern_type = pattern_type
        self._prefix = prefix
        self._base_url = base_url
        self._results: dict[tuple[str, ...], _Result] = {}
        self._hidden = 0
        self._progress: Progress | None = None
        self._filters: Sequence[SuggestedFilter] = ()
        self._alerts: list[Alert] = []
        self._errors: list[str] = []
        self.done = False

    def add(self, event: Event) -> None:
        """Take an event."""
        match event:
            case MatchBatch():
                self._add_rows(event.batch)
            case Progress():
                self._progress = event
            case Filters():
                self._filters = event.filters
            case Alert():
                self._alerts.append(event)
            case ErrorEvent():
                self._errors.append(event.message)
            case Done():
                self.done = True

    def fail(self, error: QueryError | PatternError) -> None:
        """Take the error of a query that can't run."""
        text = str(error)
        if isinstance(error, QueryError) and error.hint:
            text += f"; {error.hint}"
        self._alerts.append(Alert("This query can't run", text, "error"))
        self.done = True

    def _add_rows(self, batch: Any) -> None:
        if len(self._results) >= MAX_FILES:
            # The page is full. A service may split a result over two batches; the rest of it counts as hidden too.
            self._hidden += batch.num_rows
            return

        names = [name for name in COLUMNS if name in batch.schema.names]
        # The maximum of a full page; the rest of the batch counts as hidden, too.
        max_rows = MAX_FILES * MAX_ROWS
        self._hidden += max(0, batch.num_rows - max_rows)

        for row in batch.select(names).slice(0, max_rows).to_pylist():
            key = _key_of(row)
            if key not in self._results:
                if len(self._results) >= MAX_FILES:
                    self._hidden += 1
                    continue
                self._results[key] = _Result(key[0])

            self._results[key].rows.append(row)

    @property
    def status(self) -> str:
        """The status of the answer, in the words of every frame; ``running`` before its end."""
        if not self.done:
            return "running"

        progress = self._progress
        status, _ = status_of(
            self.query,
            self.pattern_type or "standard",
            progress.match_count if progress else 0,
            progress.skipped if progress else (),
            tuple(self._alerts),
            errors=tuple(self._errors),
        )
        return status

    @property
    def match_count(self) -> int:
        """Matches so far, shown or not."""
        return self._progress.match_count if self._progress is not None else 0

    @property
    def notes(self) -> list[str]:
        """Titles of notices about the answer; their texts may name repositories."""
        skipped = self._progress.skipped if self._progress is not None else ()
        return [alert.title for alert in self._alerts] + [title_text(item) for item in skipped]

    def to_html(self) -> str:
        """Return the results with their notices."""
        return (
            f'{self._summary()}{self._messages()}<div class="columns"><aside class="facets" aria-label="Narrow the '
            f'search">{self._facets()}</aside>{self.results_html()}</div>'
        )

    def results_html(self) -> str:
        """Return the results alone."""
        results = ""
        for number, (key, result) in enumerate(self._results.items(), 1):
            results += self._result(key, result, number)

        if not results and self.done and self.status != "failed":
            results = '<p class="empty">Nothing matches.</p>'

        if self._hidden:
            results += (
                f'<p class="quiet">The first {count_of(len(self._results), "result")} are shown. Narrow the query, or '
                "export all.</p>"
            )

        return f'<div class="results">{results}</div>'

    def _link(self, query: str) -> str:
        return escape(search_url(self._prefix, query, self.pattern_type))

    def _summary(self) -> str:
        progress = self._progress
        parts = []
        if progress is not None:
            parts.append(count_of(progress.match_count, "match"))
            if progress.repositories_count:
                parts[-1] += f" in {count_of(progress.repositories_count, 'repository')}"
            parts.append(f"{progress.duration_ms:,} ms")

        style, word = _STATUS.get(self.status, ("quiet", "searching\u2026"))
        parts.append(f'<span class="{style}">{word}</span>')
        text = " \u00b7 ".join(parts)
        return f'<p class="summary" role="status" data-status="{self.status}">{text}</p>'

    def _messages(self) -> str:
        parts = [self._alert(alert) for alert in self._alerts]
        parts += [f'<div class="message bad">{escape(text)}</div>' for text in self._errors]
        if self._progress is not None and self._progress.skipped:
            parts.append(self._left_out(self._progress.skipped))
        return "".join(parts)

    def _alert(self, alert: Alert) -> str:
        kind = "bad" if alert.kind == "error" else "warn"
        text = to_html(alert.description, _no_link) if alert.description else ""
        proposals = ""
        for proposal in alert.proposed_queries:
            link = f'<a href="{self._link(proposal.query)}"><code>{escape(proposal.query)}</code></a>'
            proposals += f"<li>{link} {escape(proposal.description)}</li>"
        if proposals:
            proposals = f"<ul>{proposals}</ul>"

        return f'<div class="message {kind}"><strong>{escape(alert.title)}</strong>{text}{proposals}</div>'

    def _left_out(self, skipped: Sequence[Skipped]) -> str:
        """Return what the answer leaves out, folded below the titles."""
        items = []
        for item in skipped:
            title = f"<strong>{escape(one_line(title_text(item), _MAX_TITLE_CHARS))}</strong>"
            link = ""
            if item.suggested is not None:
                query = f"{self.query} {item.suggested.query_expression}"
                link = f' <a href="{self._link(query)}">{escape(item.suggested.title)}</a>'
            items.append(f"<li>{title} {to_html(item.message, _no_link)}{link}</li>")

        titles = ", ".join(one_line(title_text(item).partition(":")[0], _MAX_TITLE_CHARS) for item in skipped)
        style = " class=warn" if any(map(is_limiting, skipped)) else ""
        return (
            f"<details class=skipped><summary{style}>Left out: {escape(titles)}</summary>"
            f"<ul>{''.join(items)}</ul></details>"
        )

    def _facets(self) -> str:
        groups: dict[str, list[SuggestedFilter]] = {}
        for facet in self._filters:
            groups.setdefault(facet.kind, []).append(facet)

        sections = []
        for kind, filters in groups.items():
            title = facet_title(_KINDS.get(kind, kind.capitalize()), filters)
            items = "".join(map(self._facet, filters[:_MAX_FACETS]))
            sections.append(f"<section><h2>{escape(title)}</h2><ul>{items}</ul></section>")

        return "".join(sections)

    def _facet(self, suggested: SuggestedFilter) -> str:
        try:
            query = add_filter(parse(self.query, self.pattern_type or "standard"), suggested.value, at_end=True)
        except QueryError:  # no single query has this meaning; append the filter, for the user to edit
            query = f"{self.query} {suggested.value}".strip()

        # Long names break after a slash, and not within a word.
        label = escape(suggested.label).replace("/", "/<wbr>")
        count = f"{suggested.count:,}" if suggested.exhaustive else f"{suggested.count:,}+"
        return f'<li><a href="{self._link(query)}"><span>{label}</span> <span class="count">{count}</span></a></li>'

    def _result(self, key: tuple[str, ...], result: _Result, number: int) -> str:
        first = result.rows[0]
        name, commit = first["repository"], str(first.get("commit") or "")
        if result.kind == "commit":
            address = f"{repository_url(self._prefix, name)}/-/commit/{commit}"
            head, body = self._commit(result.rows, address)
            call, label = call_text("commit_details", name, commit), commit[:12]
        elif result.kind == "repo":
            address = self._repository(name, commit)
            text = highlight(name, first.get("name_start") or (), first.get("name_end") or ())
            head, body = f'<a href="{escape(address)}">{text}</a>', ""
            call, label = call_text("list_files", name, revision=commit or None), name
        else:
            _, _, revision, _, path = key
            address = file_url(self._prefix, name, commit or revision, path)
            head, body = self._file(key, result.rows, address)
            call, label = call_text("read_file", name, path, revision=commit or revision or None), path

        use = python_block(
            call, self._base_url, f"{address}?notebook=1", name=f"python-{number}", label=one_line(label, 200)
        )
        return f'<article class="result"><h2>{head}</h2>{use}{body}</article>'

    def _repository(self, name: str, commit: str) -> str:
        return f"{repository_url(self._prefix, name, commit)}/-/tree/"

    def _repository_link(self, name: str, commit: str) -> str:
        return f'<a class="repo" href="{escape(self._repository(name, commit))}">{escape(name)}</a>'

    def _file(self, key: tuple[str, ...], rows: Sequence[_Row], address: str) -> tuple[str, str]:
        """Return the heading and the lines of a file."""
        _, name, revision, commit, path = key
        first = rows[0]
        label = highlight(path, first.get("name_start") or (), first.get("name_end") or ())
        labels = [text for text in (first.get("language"), revision and f"at {revision}") if text]
        text_rows = [row for row in rows if row["type"] == "content" and row.get("line_number") is not None]
        if text_rows:
            labels.append(count_of(len(text_rows), "line"))

        body = line_table(text_rows, address) + self._symbols(rows, address)
        head = (
            f'{self._repository_link(name, commit)} <a href="{escape(address)}">{label}</a> '
            f"<small>{escape(', '.join(map(str, labels)))}</small>"
        )
        return head, body

    def _symbols(self, rows: Sequence[_Row], address: str) -> str:
        items = [
            f'<li><span class="kind">{escape(str(row.get("symbol_kind") or ""))}</span> '
            f'<a href="{escape(address)}?L{row["line_number"]}"><code>{escape(str(row["symbol"]))}</code></a> '
            f'<span class="quiet">{escape(str(row.get("container") or ""))}</span></li>'
            for row in rows
            if row["type"] == "symbol" and row.get("symbol")
        ]
        if items:
            return f'<ul class="symbols">{"".join(items[:MAX_ROWS])}</ul>{remaining_text(len(items) - MAX_ROWS)}'
        return ""

    def _commit(self, rows: Sequence[_Row], address: str) -> tuple[str, str]:
        """Return the heading and the lines of a commit."""
        first = rows[0]
        name, commit = first["repository"], str(first.get("commit") or "")
        message = str(first.get("message") or "")
        subject = one_line(message.partition("\n")[0], 200) or commit[:12]
        text_rows = [row for row in rows if row.get("line") is not None]
        lines: list[str] = []
        last_location = ""
        for row in text_rows[:MAX_ROWS]:
            location = _location_of(row)
            if row["type"] == "diff" and location != last_location:
                lines.append(f'<span class="path">{escape(location)}</span>')
                last_location = location
            lines.append(_commit_line(row))

        date = first["author_date"].date().isoformat() if first.get("author_date") is not None else ""
        head = (
            f'{self._repository_link(name, "")} <a href="{escape(address)}">{escape(subject)}</a> <small>'
            f"{escape(str(first.get('author') or ''))}, {date}, <code>{escape(commit[:12])}</code></small>"
        )
        return head, f'<pre class="diff" tabindex="0" aria-label="Matching lines">{"".join(lines)}</pre>'


def _key_of(row: _Row) -> tuple[str, ...]:
    """Return the kind of result that a row belongs to, and what distinguishes results of this kind."""
    if row["type"] in {"commit", "diff"}:
        return ("commit", _text(row, "repository"), _text(row, "commit"))

    kind = "repo" if row["type"] == "repo" else "file"
    return (kind, _text(row, "repository"), _text(row, "revision"), _text(row, "commit"), _text(row, "path"))


def _text(row: _Row, name: str) -> str:
    return str(row.get(name) or "")


def _location_of(row: _Row) -> str:
    """Return the file of a changed line, and the cell of a notebook."""
    if not row.get("cell"):
        return str(row.get("path"))
    return f"{row.get('path')}, cell {row['cell']} ({row['cell_kind']})"


def _commit_line(row: _Row) -> str:
    """Return a line of a diff or a message: the sign of its side, and the text with the matches."""
    match row.get("side"):
        case "added":
            style, sign = " class=add", "+"
        case "removed":
            style, sign = " class=del", "-"
        case side:
            style, sign = "", " " if side else ""

    visible = row_line(row)
    text = highlight(visible.text[:MAX_CHARS], visible.starts, visible.ends)
    number = f'<span class="quiet">{row["cell_line"]:>4} </span>' if row.get("cell") else ""
    return f"<span{style}>{number}{sign}{text}</span>"


def _no_link(_: str) -> str:
    """Return no address: notices of a search have no links."""
    return ""

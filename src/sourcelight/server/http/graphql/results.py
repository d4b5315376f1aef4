"""A search as objects of the GraphQL schema, made from the wire form of the same matches.

Values come from the stream's JSON, so counts, limits and links agree with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from graphql import GraphQLError

from sourcelight.core.batches import CommitId, MatchBatch, RepositoryInfo
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.errors import PathNotFound, PatternError, QueryError
from sourcelight.core.markup import escape
from sourcelight.core.markup.markdown import inline_html
from sourcelight.core.wire.events import Alert, Filters, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.server.http.graphql.code import GitBlob, GitCommit, GitRepository, find_repository
from sourcelight.server.http.graphql.reading import Fields, GraphRequest, Markdown
from sourcelight.server.http.graphql.schema import symbol_kinds
from sourcelight.server.http.producer import query_error_events

DEFAULT_MATCHES = 30
"""Maximum matches of a query without ``count:``, as in the public API (wire reference, defaults)."""

MAX_RESULTS = 5_000
"""Maximum results that one search returns; further ones are only counted, and the answer is marked as limited."""

_FENCE = re.compile(r"\A```(\w*)\n(.*?)\n?```\Z", re.DOTALL)
"""The content of a commit on the wire: a block of Markdown, with the language ``diff`` or ``COMMIT_EDITMSG``."""


@dataclass(frozen=True)
class Search:
    """``Search``: runs when a query selects its results."""

    request: GraphRequest
    query: str
    version: str
    pattern_type: str | None

    def results(self) -> SearchResults:
        """Run the search. For an invalid query, the answer has no results, and an alert with the reason."""
        self.request.budget.take_search()
        results = SearchResults(self.request)
        pairs = [("q", self.query), ("v", self.version), ("t", self.pattern_type or "")]
        try:
            search_request = SearchRequest.from_params(pairs)
            if search_request.default_matches is None:
                search_request = replace(search_request, default_matches=DEFAULT_MATCHES)
            self._run(search_request, results)
        except (QueryError, PatternError) as exc:
            results.alert = next(event for event in query_error_events(exc) if isinstance(event, Alert))

        return results

    def _run(self, search_request: SearchRequest, results: SearchResults) -> None:
        infos: dict[str, RepositoryInfo] = {}
        stream: Any = self.request.engine.stream(search_request, self.request.viewer, self.request.budget.cancellation)
        with closing(stream):
            for event in stream:
                if isinstance(event, MatchBatch):
                    infos.update((info.name, info) for info in event.repositories)
                    # The schema has one type for both kinds of results about commits.
                    for payload in encode_matches(event, infos, diff_type="commit"):
                        results.add(orjson.loads(payload))
                elif isinstance(event, Progress):
                    results.progress = event
                elif isinstance(event, Alert):
                    results.alert = event
                elif isinstance(event, Filters):
                    results.filters = event


@dataclass
class SearchResults:
    """``SearchResults``."""

    request: GraphRequest
    results: list[FileMatch | CommitSearchResult | GitRepository] = field(default_factory=list)
    progress: Progress | None = None
    filters: Filters | None = None
    index_unavailable = False
    _alert: Alert | None = None
    _names: set[str] = field(default_factory=set)
    _omitted: int = 0

    def add(self, matches: list[Mapping[str, Any]]) -> None:
        """Add matches in their wire form; those beyond `MAX_RESULTS` are only counted."""
        for match in matches:
            # Before the limit: the number of repositories includes results that aren't returned.
            self._names.add(match["repository"])
            if len(self.results) >= MAX_RESULTS:
                self._omitted += 1
                continue

            repository = find_repository(self.request, match["repository"])
            if repository is None:
                continue

            if match["type"] == "repo":
                self.results.append(repository)
            elif match["type"] in {"commit", "diff"}:
                self.results.append(CommitSearchResult(repository, match))
            else:
                self.results.append(FileMatch(repository, match))

    @property
    def match_count(self) -> int:
        """Number of matches, including matches that are only counted."""
        return self.progress.match_count if self.progress is not None else 0

    result_count = match_count

    @property
    def approximate_result_count(self) -> str:
        """The number of matches, with ``+`` if there are more."""
        if self.limit_hit:
            return f"{self.match_count}+"
        return f"{self.match_count}"

    @property
    def limit_hit(self) -> bool:
        """Whether a limit or the time ended the search before all was read."""
        if self._omitted:
            return True
        reasons = [item.reason for item in self._skipped_items()]
        return any("limit" in reason or "timeout" in reason for reason in reasons)

    @property
    def elapsed_milliseconds(self) -> int:
        """The duration of the search."""
        return self.progress.duration_ms if self.progress is not None else 0

    @property
    def repositories_count(self) -> int:
        """Number of repositories with a result."""
        return len(self._names)

    @property
    def repositories(self) -> list[GitRepository]:
        """Repositories with a result, by name."""
        repositories: list[GitRepository] = []
        for name in sorted(self._names):
            repository = find_repository(self.request, name)
            # It may have been removed since it matched.
            if repository is not None:
                repositories.append(repository)
        return repositories

    @property
    def cloning(self) -> list[GitRepository]:
        """Always empty: the service has its repositories, and doesn't know others."""
        return []

    missing = cloning
    timedout = cloning

    @property
    def alert(self) -> Fields | None:
        """The alert of the search, else a summary of the skipped items with severity ``warn``."""
        alert = self._alert
        if alert is not None:
            proposals = [
                Fields(description=proposal.description, query=proposal.query) for proposal in alert.proposed_queries
            ]
            return Fields(title=alert.title, description=alert.description, proposed_queries=proposals)

        left_out = [item for item in self._skipped_items() if item.severity == "warn"]
        if not left_out:
            return None

        titles = "; ".join(item.title for item in left_out)
        description = "\n".join(item.message for item in left_out)
        return Fields(title=f"This answer is not complete: {titles}", description=description, proposed_queries=None)

    @alert.setter
    def alert(self, alert: Alert) -> None:
        self._alert = alert

    @property
    def dynamic_filters(self) -> list[Fields]:
        """Filters that would narrow the search."""
        if self.filters is None:
            return []
        return [
            Fields(value=item.value, label=item.label, count=item.count, limit_hit=not item.exhaustive, kind=item.kind)
            for item in self.filters.filters
        ]

    def _skipped_items(self) -> tuple[Skipped, ...]:
        if self.progress is None:
            return ()
        return self.progress.skipped


@dataclass(frozen=True)
class FileMatch:
    """``FileMatch``: a file with its matched lines or definitions."""

    repository: GitRepository
    match: Mapping[str, Any]
    limit_hit = False

    @property
    def file(self) -> GitBlob:
        """The file at the commit that was searched."""
        commit = GitCommit(self.repository, CommitId(self.match["commit"]))
        request = self.repository.request
        request.budget.take_objects()
        try:
            entry = request.reader.find_file(self.repository.source, commit.oid, self.match["path"])
        except PathNotFound as exc:
            raise GraphQLError(f"{self.match['path']} can't be read any more: {exc}") from exc

        return GitBlob(commit, entry)

    @property
    def line_matches(self) -> list[Fields]:
        """Matched lines, counted from 0; offsets and lengths are in characters."""
        return [
            Fields(preview=text, line_number=number, offset_and_lengths=spans, limit_hit=False)
            for text, number, spans in self._lines()
        ]

    @property
    def chunk_matches(self) -> list[Fields]:
        """The same lines as chunks of one line each."""
        chunks: list[Fields] = []
        for text, number, spans in self._lines():
            ranges = [_range(number, start, start + length) for start, length in spans]
            chunks.append(Fields(content=text, content_start=Fields(line=number, character=0), ranges=ranges))
        return chunks

    def _lines(self) -> Iterator[tuple[str, int, list[list[int]]]]:
        for line in self.match.get("lineMatches") or ():
            yield line["line"], line["lineNumber"], line["offsetAndLengths"]

    @property
    def symbols(self) -> list[Fields]:
        """Matched definitions."""
        return [self._symbol(symbol) for symbol in self.match.get("symbols") or ()]

    def _symbol(self, symbol: Mapping[str, Any]) -> Fields:
        kind = str(symbol["kind"]).upper()
        if kind not in symbol_kinds():
            kind = "UNKNOWN"
        # Lines of this API count from 0, lines of the stream's symbols from 1.
        line = int(symbol.get("line", 1)) - 1
        return Fields(
            name=symbol["name"],
            container_name=symbol.get("containerName") or None,
            kind=kind,
            language=self.match.get("language", ""),
            url=symbol["url"],
            canonical_url=symbol["url"],
            file_local=False,
            location=Fields(
                url=symbol["url"], canonical_url=symbol["url"], resource=lambda: self.file, range=_range(line, 0, 0)
            ),
        )


def _range(line: int, start: int, end: int) -> Fields:
    return Fields(start=Fields(line=line, character=start), end=Fields(line=line, character=end))


@dataclass(frozen=True)
class CommitSearchResult:
    """``CommitSearchResult``: a commit whose message or changes match."""

    repository: GitRepository
    match: Mapping[str, Any]

    @property
    def url(self) -> str:
        """Address of the commit."""
        return str(self.match["url"])

    @property
    def label(self) -> Markdown:
        """Repository, author and subject."""
        return _markdown(self.match["label"])

    @property
    def detail(self) -> Markdown:
        """Short id and age."""
        return _markdown(self.match["detail"])

    @property
    def commit(self) -> GitCommit:
        """The commit."""
        return GitCommit(self.repository, self.match["oid"])

    @property
    def matches(self) -> list[Fields]:
        """The message or the diff, with the matches."""
        language, text = self._content()
        html = f'<pre><code class="language-{language}">{escape(text)}</code></pre>'
        body = Markdown(str(self.match["content"]), html)
        return [Fields(url=self.url, body=body, highlights=self._highlights())]

    @property
    def message_preview(self) -> Fields | None:
        """The message; None for a match in changes."""
        return self._preview(is_diff=False)

    @property
    def diff_preview(self) -> Fields | None:
        """The matched part of the diff; None for a match in a message."""
        return self._preview(is_diff=True)

    def _preview(self, *, is_diff: bool) -> Fields | None:
        language, text = self._content()
        if (language == "diff") == is_diff:
            return Fields(value=text, highlights=self._highlights())
        return None

    def _content(self) -> tuple[str, str]:
        """Return kind and text of the content's fence."""
        fence = _FENCE.match(str(self.match["content"]))
        if fence is None:
            return "", str(self.match["content"])
        return fence[1], fence[2]

    def _highlights(self) -> list[Fields]:
        # Line 0 of the content is its fence, so these lines count from 1 in the text without it.
        return [
            Fields(line=line, character=character, length=length)
            for line, character, length in self.match.get("ranges") or ()
        ]


def _markdown(text: str) -> Markdown:
    return Markdown(text, f"<p>{inline_html(text, lambda url: url)}</p>")

"""Handlers of `count`, `explain` and `list_refs`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias, cast

from sourcelight.core.batches import CommitId, MatchBatch
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import RepositoryError
from sourcelight.core.explanation import AlternativeMeaning
from sourcelight.core.markup.counts import count_of
from sourcelight.core.query import parse
from sourcelight.core.query.fields import FilterScope, names_of
from sourcelight.core.query.narrowing import narrow
from sourcelight.core.query.printer import to_text
from sourcelight.core.query.syntax.nodes import Filter
from sourcelight.core.tools import inspection
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.wire.events import Alert, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.search.model import GroupBy
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, Rendered
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import SHORT_OID, Row, day, join_parts, render_rows
from sourcelight.repos import matching_refs
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.objects import StoreReader
from sourcelight.repos.objects.commits import commit_time_of, read_commit
from sourcelight.repos.revisions import head_target

_READ: tuple[GroupBy, ...] = ("repository", "commit")
"""Columns by which the answer names what it read."""

_OF_REPOSITORIES = names_of(FilterScope.REPOSITORY)

_MAX_NAMED = 20
"""Repositories without a match whose commits an answer names: each is compared with its work tree."""

_MAX_SUBJECT_CHARS = 1_000
"""Characters of a subject: a commit may have any text."""

_KINDS = {"refs/heads/": "branch", "refs/tags/": "tag"}
_LEAVES = {"matching_repositories": "repository", "matching_files": "file"}
"""Columns of counts that a line of an explanation shows, and the noun that each counts."""


def _count(arguments: inspection.CountArguments, context: ToolContext) -> ToolResult:
    """Count matches by the index alone if possible, otherwise by a search."""
    by = cast("tuple[GroupBy, ...]", tuple(dict.fromkeys(arguments.by or ())))
    text = arguments.query
    if arguments.exhaustive is not False:
        text = _count_all(text)

    request = SearchRequest(text, pattern_type="keyword")
    counts = _count_groups(request, by, context)
    commits = counts.commits or _searched_commits(request.query, context)
    notices = list(counts.notices)
    if not counts.commits and len(commits) > _MAX_NAMED:
        notices.append(f"Searched {count_of(len(commits), 'repository')}.")
        commits = {}

    keys = sorted(counts.matches, key=lambda key: (-counts.matches[key], list(map(str, key))))
    group_count = len(keys)
    is_complete = counts.is_complete
    if arguments.limit is not None and group_count > arguments.limit:
        notices.append(f"The {arguments.limit:,} rows with most matches of {group_count:,} are shown.")
        keys = keys[: arguments.limit]
        is_complete = False

    rows: list[Row] = []
    for key in keys:
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row["matches"] = counts.matches[key]
        row["files"] = counts.files[key]
        rows.append(row)

    attributes: dict[str, Any] = {
        "query": arguments.query,
        "by": list(by),
        "status": "complete" if is_complete else "limited",
        "matches": sum(counts.matches.values()),
        "groups": group_count,
        "commits": {name: sorted(commits[name]) for name in sorted(commits)},
    }
    return ToolResult(
        columns="counts",
        table=table_of_rows("counts", rows),
        attributes=attributes,
        complete=is_complete,
        notices=tuple(dict.fromkeys(notices)),
    )


_GroupKey: TypeAlias = tuple[Any, ...]
"""Values of the columns that are counted by."""


@dataclass(slots=True)
class _Counts:
    """Matches and files by group, and the commits that were read, by repository."""

    matches: Counter[_GroupKey] = field(default_factory=Counter)
    files: Counter[_GroupKey] = field(default_factory=Counter)
    commits: dict[str, set[str]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    is_complete: bool = True

    def add_commit(self, repository: str, commit: str) -> None:
        """Add a commit that was read."""
        self.commits.setdefault(repository, set()).add(commit)


def _count_groups(request: SearchRequest, by: tuple[GroupBy, ...], context: ToolContext) -> _Counts:
    # Counted by commit as well, so that the answer can name what it read, whatever revisions the query asks for.
    groups: tuple[GroupBy, ...] = (*by, *(name for name in _READ if name not in by))
    table = context.engine.count(request, groups, context.viewer, context.cancellation)
    if table is None:
        return _count_by_search(request, by, context)
    return _sum_groups(table.to_pylist(), by)


def _sum_groups(rows: Iterable[Row], by: Sequence[str]) -> _Counts:
    counts = _Counts()
    for row in rows:
        key = tuple(row[name] for name in by)
        counts.matches[key] += row["matches"]
        counts.files[key] += row["files"]
        counts.add_commit(row["repository"], row["commit"])

    return counts


def _searched_commits(text: str, context: ToolContext) -> dict[str, set[str]]:
    """Return the commits that a query without a match searched: by its filters on repositories and revisions alone."""
    commits: dict[str, set[str]] = {}
    for alternative in parse(text, "keyword").plan:
        if not {"commit", "diff"}.isdisjoint(alternative.types):
            continue

        filters = [item for item in alternative.filters if isinstance(item, Filter) and item.name in _OF_REPOSITORIES]
        scope = " ".join([*map(to_text, filters), "file:."])
        request = SearchRequest(scope, pattern_type="keyword")
        table = context.engine.count(request, _READ, context.viewer, context.cancellation)
        if table is None:
            # Not all is indexed yet; names of files are there without an index.
            counts = _count_by_search(replace(request, query=f"{scope} type:path count:all"), (), context)
        else:
            counts = _sum_groups(table.to_pylist(), ())

        for name, searched in counts.commits.items():
            commits.setdefault(name, set()).update(searched)

    return commits


def _count_all(text: str) -> str:
    """Return a query with ``count:all``, unless it has a limit of its own."""
    query = parse(text, "keyword")
    if query.root is None or any(alternative.first("count") for alternative in query.plan):
        return text
    return narrow(query, [("count", "all")])


def _count_by_search(request: SearchRequest, by: Sequence[str], context: ToolContext) -> _Counts:
    """Add up the matches of a search, which reads contents that the index alone can't count."""
    counts = _Counts()
    files: dict[_GroupKey, set[_FileKey]] = {}
    events = context.engine.stream(request, context.viewer, context.cancellation)
    with closing(events):  # type: ignore[type-var]  # the engine gives a generator
        for event in events:
            if isinstance(event, MatchBatch):
                _add_batch(event.batch, by, counts, files)
            elif isinstance(event, Progress):
                if context.observer is not None:
                    context.observer(ToolProgress(stage="counting", done=event.match_count, total=0, detail="matches"))
                if event.done:
                    _add_skipped(event.skipped, counts)
            elif isinstance(event, Alert):
                counts.notices.append(f"{event.title}: {event.description}".rstrip(": "))

    context.cancellation.check()
    if not by:
        # Without groups, there is one row even if nothing matches.
        counts.matches.setdefault((), 0)

    for key in counts.matches:
        counts.files[key] = len(files.get(key, ()))
    return counts


def _add_batch(batch: Any, by: Sequence[str], counts: _Counts, files: dict[_GroupKey, set[_FileKey]]) -> None:
    """Add the rows of a batch to counts, and their files to those of each group."""
    # The commits of history are matches, not sources of the answer.
    names_sources = "author" not in batch.schema.names
    for key, file, matches in _counted_rows(batch, by):
        counts.matches[key] += matches
        # A repository that matches by its name is a match, but no file; neither is a commit.
        if file.path is not None:
            files.setdefault(key, set()).add(file)
        # Nor does a repository that matches by its name have a commit.
        if names_sources and file.commit:
            counts.add_commit(file.repository, file.commit)


def _add_skipped(skipped: Iterable[Skipped], counts: _Counts) -> None:
    """Add the reasons why counts are incomplete."""
    for item in skipped:
        if is_limiting(item):
            counts.notices.append(" ".join(item.message.split()) or item.title)
            counts.is_complete = False


class _FileKey(NamedTuple):
    """A file at a commit; None for the path of a repository that matches, and for its commit."""

    repository: str
    commit: str | None
    path: str | None


def _counted_rows(batch: Any, by: Sequence[str]) -> Iterator[tuple[_GroupKey, _FileKey, int]]:
    """Yield each row of matches as the group that it counts in, its file and its number of matches."""
    rows = MatchRows(batch)
    # The fields of a key are columns.
    files = map(_FileKey, *map(rows.texts, _FileKey._fields))
    keys: Iterable[_GroupKey] = repeat((), len(rows))
    if by:
        keys = zip(*map(rows.texts, by), strict=True)

    yield from zip(keys, files, rows.numbers("match_count").tolist(), strict=True)


def _count_line(row: Row) -> str:
    keys = " ".join(str(row[name]) for name in inspection.COUNT_BY if row[name] is not None)
    # A row by path is one file, unless repositories that are added up share the path.
    is_one_file = row["path"] is not None and row["files"] == 1
    # Commits, or names of repositories.
    has_no_file = row["matches"] and not row["files"]
    files = ""
    if not is_one_file and not has_no_file:
        files = f" in {count_of(row['files'], 'file')}"

    return f"{row['matches']:>7,}{files}  {keys}".rstrip()


_count_rows = render_rows(_count_line, keeps_lines=True)


def _render_counts(answer: ToolResult, context: ToolContext) -> Rendered:
    payload, text = _count_rows(answer, context)
    attributes = answer.attributes
    head = f"{count_of(attributes['matches'], 'match')}, {attributes['status']}\n"
    payload = dict(payload)
    if sum(answer.table.column("matches").to_pylist()) != attributes["matches"]:
        payload["matches"] = attributes["matches"]

    payload["status"] = attributes["status"]
    return payload, head + text


def _explain(arguments: inspection.ExplainArguments, context: ToolContext) -> ToolResult:
    request = SearchRequest(
        arguments.query,
        pattern_type=arguments.pattern_type or "keyword",
        default_matches=arguments.default_count,
        timeout_s=arguments.timeout_s,
    )
    explanation = context.engine.explain(request, context.viewer, context.cancellation)
    rows: list[dict[str, Any]] = []
    missing: set[str] = set()
    for number, meaning in enumerate(explanation.alternatives, 1):
        missing.update(meaning.without_index)
        for row in _alternative_rows(meaning):
            rows.append({"alternative": number, **row})

    for advice in explanation.warnings:
        rows.append({"part": "warning", "text": advice.message, "meaning": advice.fix})

    attributes: dict[str, Any] = {
        "query": arguments.query,
        "pattern_type": explanation.pattern_type,
        "tree": explanation.tree_text,
        # Clients of ours show it as they do embedded; the text for models is made of the rows.
        "explanation": explanation.to_dict(),
    }
    notices: tuple[str, ...] = ()
    if missing:
        notices = (f"The index of {count_of(len(missing), 'repository')} is not complete yet; files are not counted.",)
    return ToolResult(
        columns="query_parts",
        table=table_of_rows("query_parts", rows),
        attributes=attributes,
        complete=not missing,
        notices=notices,
    )


def _alternative_rows(meaning: AlternativeMeaning) -> Iterator[dict[str, Any]]:
    """Yield rows of an alternative: its scope, its filters and its patterns."""
    # Without an index the files are not known yet, and a count of the known ones would be too small.
    is_known = not meaning.without_index
    yield {
        "part": "scope",
        "text": ", ".join(meaning.types),
        "meaning": meaning.phrase,
        "matching_files": meaning.passing if is_known else None,
        "matching_repositories": meaning.repositories,
    }
    for item in meaning.filters:
        yield {
            "part": "filter",
            "text": item.text,
            "meaning": item.meaning,
            "matching_files": item.files if is_known else None,
            "matching_repositories": item.repositories,
        }

    for pattern in meaning.patterns:
        fields = join_parts([pattern.kind, "in", " and ".join(pattern.fields)])
        yield {"part": "pattern", "text": pattern.text, "meaning": fields}


def _part_line(row: Row) -> str:
    meaning = f"({row['meaning']})" if row["meaning"] else ""
    leaves = [count_of(row[name], noun) for name, noun in _LEAVES.items() if row[name] is not None]
    return join_parts([f"{row['part']}:", row["text"], meaning, ", ".join(leaves)])


_explained_rows = render_rows(_part_line)


def _render_explanation(answer: ToolResult, context: ToolContext) -> Rendered:
    payload, text = _explained_rows(answer, context)
    tree = answer.attributes["tree"]
    return {**payload, "tree": tree}, f"{tree}\n\n{text}"


def _list_refs(arguments: inspection.ListRefsArguments, context: ToolContext) -> ToolResult:
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    fragment = (arguments.query or "").casefold()
    prefixes = tuple(prefix for prefix, kind in _KINDS.items() if arguments.kind in {None, kind})

    def accepts(name: str) -> bool:
        return name.startswith(prefixes) and fragment in _short_name(name).casefold()

    all_refs: list[_Ref] = []
    accepted = matching_refs(repository, accepts, context.cancellation)
    with suppress(UnusableRepository, RepositoryError):
        handle = open_handle(repository.git_dir)
        for name, commit in accepted:
            context.cancellation.check()
            all_refs.append(_Ref(name, commit, commit_time_of(handle, commit)))

    all_refs.sort(key=lambda ref: (1 if ref.time is None else -ref.time, ref.short_name))
    refs = all_refs[: arguments.limit]
    # Only of the rows that are shown: a message may have megabytes.
    with StoreReader(repository) as reader:
        headers = [read_commit(reader, ref.commit) for ref in refs]

    default = head_target(repository.git_dir)
    values = {
        "repository": repository.name,
        "name": [ref.short_name.encode("utf-8", "replace").decode() for ref in refs],
        "kind": [ref.kind for ref in refs],
        "commit": [ref.commit for ref in refs],
        "commit_date": [ref.date for ref in refs],
        "subject": ["" if header is None else header.subject[:_MAX_SUBJECT_CHARS] for header in headers],
        "default": [ref.name == default for ref in refs],
    }
    is_complete = len(refs) == len(all_refs)
    return ToolResult(
        columns="refs",
        table=tables.table("refs", values, len(refs)),
        attributes={"repository": repository.name, "total": len(all_refs)},
        complete=is_complete,
        notices=() if is_complete else (f"The newest {len(refs):,} of {len(all_refs):,} refs are shown.",),
    )


@dataclass(frozen=True, slots=True)
class _Ref:
    """A branch or a tag; `time` is in seconds since 1970, or None for a commit that can't be read."""

    name: str
    commit: CommitId
    time: int | None

    @property
    def date(self) -> datetime | None:
        """The time of the commit; None if it is before 1970, too."""
        return None if self.time is None or self.time < 0 else datetime.fromtimestamp(self.time, UTC)

    @property
    def short_name(self) -> str:
        return _short_name(self.name)

    @property
    def kind(self) -> str:
        return _KINDS[self.name.removesuffix(self.short_name)]


def _short_name(name: str) -> str:
    """Return the name of a ref below ``refs/heads/`` or ``refs/tags/``."""
    return name.split("/", 2)[2]


def _ref_line(row: Row) -> str:
    return join_parts([row["kind"], row["name"], row["commit"][:SHORT_OID], day(row["commit_date"]), row["subject"]])


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(inspection.COUNT, _count, _render_counts, TableItems("rows")),
    Handler(inspection.EXPLAIN, _explain, _render_explanation, TableItems("parts")),
    Handler(inspection.LIST_REFS, _list_refs, render_rows(_ref_line), TableItems("refs")),
)

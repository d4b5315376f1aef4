"""Handlers of `count`, `explain` and `list_refs`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

from sourcelight.core.batches import CommitId, MatchBatch
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import RepositoryError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.query import parse
from sourcelight.core.query.fields import FilterScope, names_of
from sourcelight.core.query.narrowing import narrow
from sourcelight.core.query.printer import to_text
from sourcelight.core.query.syntax.nodes import Filter
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.inspection import (
    COUNT,
    COUNT_BY,
    EXPLAIN,
    LIST_REFS,
    CountArguments,
    ExplainArguments,
    ListRefsArguments,
)
from sourcelight.core.wire.events import Alert, Progress
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

_Counts: TypeAlias = dict[tuple[Any, ...], tuple[int, int]]
"""Matches and files by the values that are counted by."""

_READ: tuple[GroupBy, ...] = ("repository", "commit")
_OF_REPOSITORIES = names_of(FilterScope.REPOSITORY)

_MAX_NAMED = 20
"""Repositories without a match whose commits an answer names: each is compared with its work tree."""

_MAX_SUBJECT_CHARS = 1_000

_KINDS = {"refs/heads/": "branch", "refs/tags/": "tag"}
_LEAVES = {"matching_repositories": "repository", "matching_files": "file"}


def _count(arguments: CountArguments, context: ToolContext) -> ToolResult:
    """Count matches by the index alone if possible, otherwise by a search."""
    by = cast("tuple[GroupBy, ...]", tuple(dict.fromkeys(arguments.by or ())))
    text = arguments.query if arguments.exhaustive is False else _any_match(arguments.query)
    request = SearchRequest(text, pattern_type="keyword")

    # Counted by commit as well, so that the answer can name what it read, whatever revisions the query asks for.
    groups: tuple[GroupBy, ...] = (*by, *(name for name in _READ if name not in by))
    table = context.engine.count(request, groups, context.viewer, context.cancellation)
    notices: list[str] = []
    is_complete = True
    if table is None:
        counts, commits, notices, is_complete = _follow(request, by, context)
    else:
        counts, commits = _sum_groups(table.to_pylist(), by)

    if not commits:
        commits = _searched_commits(request.query, context)
        if len(commits) > _MAX_NAMED:
            notices.append(f"Searched {count_of(len(commits), 'repository')}.")
            commits = {}

    rows = sorted(counts.items(), key=lambda item: (-item[1][0], [str(part) for part in item[0]]))
    total = {"matches": sum(count for _, (count, _) in rows), "groups": len(rows)}
    if arguments.limit is not None and len(rows) > arguments.limit:
        notices.append(f"The {arguments.limit:,} rows with most matches of {len(rows):,} are shown.")
        rows, is_complete = rows[: arguments.limit], False

    keys: dict[str, Any] = {name: [key[index] for key, _ in rows] for index, name in enumerate(by)}
    result = table_of(
        "counts",
        len(rows),
        **{name: keys.get(name) for name in COUNT_BY},
        matches=[matches for _, (matches, _) in rows],
        files=[files for _, (_, files) in rows],
    )
    attributes: dict[str, Any] = {
        "query": arguments.query,
        "by": list(by),
        "status": "complete" if is_complete else "limited",
        **total,
        "commits": {name: sorted(oids) for name, oids in sorted(commits.items())},
    }
    return ToolResult(
        columns="counts",
        table=result,
        attributes=attributes,
        complete=is_complete,
        notices=tuple(dict.fromkeys(notices)),
    )


def _sum_groups(rows: Iterable[Row], by: Sequence[str]) -> tuple[_Counts, dict[str, set[str]]]:
    counts: _Counts = {}
    commits: dict[str, set[str]] = {}
    for row in rows:
        key = tuple(row[name] for name in by)
        matches, files = counts.get(key, (0, 0))
        counts[key] = (matches + row["matches"], files + row["files"])
        commits.setdefault(row["repository"], set()).add(row["commit"])

    return counts, commits


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
        if table is None:  # not all is indexed yet; names of files are there without an index
            _, read, _, _ = _follow(replace(request, query=f"{scope} type:path count:all"), (), context)
        else:
            read = _sum_groups(table.to_pylist(), ())[1]

        for name, searched in read.items():
            commits.setdefault(name, set()).update(searched)

    return commits


def _any_match(text: str) -> str:
    query = parse(text, "keyword")
    if query.root is None or any(alternative.first("count") for alternative in query.plan):
        return text
    return narrow(query, [("count", "all")])


def _follow(
    request: SearchRequest, by: Sequence[str], context: ToolContext
) -> tuple[_Counts, dict[str, set[str]], list[str], bool]:
    """Add up the matches of a search: what more than an index has to answer."""
    commits: dict[str, set[str]] = {}
    matches: dict[tuple[Any, ...], int] = {}
    files: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    notices: list[str] = []
    is_complete = True
    events = context.engine.stream(request, context.viewer, context.cancellation)
    with closing(events):  # type: ignore[type-var]  # the engine gives a generator
        for event in events:
            if isinstance(event, MatchBatch):
                rows = MatchRows(event.batch)
                order = list(range(len(rows)))
                file = list(zip(*(rows.texts(name, order) for name in ("repository", "commit", "path")), strict=True))
                keys = list(zip(*(rows.texts(name, order) for name in by), strict=True)) if by else [()] * len(order)

                if (
                    "author" not in event.batch.schema.names
                ):  # the commits of history are matches, not sources of the answer
                    for repository, commit, _ in file:
                        if commit:  # a repository that matches by its name has no commit
                            commits.setdefault(repository, set()).add(commit)

                for key, file_index, count in zip(keys, file, rows.numbers("match_count").tolist(), strict=True):
                    matches[key] = matches.get(key, 0) + int(count)
                    files.setdefault(key, set()).add(file_index)
            elif isinstance(event, Progress):
                if context.observer is not None:
                    context.observer(ToolProgress(stage="counting", done=event.match_count, total=0, detail="matches"))
                if event.done:
                    limiting = [item for item in event.skipped if is_limiting(item)]
                    notices += [" ".join(item.message.split()) or item.title for item in limiting]
                    is_complete = not limiting
            elif isinstance(event, Alert):
                notices.append(f"{event.title}: {event.description}".rstrip(": "))

    context.cancellation.check()
    counts = {key: (count, len(files[key])) for key, count in matches.items()}
    return counts or ({} if by else {(): (0, 0)}), commits, notices, is_complete


def _count_line(row: Row) -> str:
    keys = " ".join(str(row[name]) for name in COUNT_BY if row[name] is not None)
    # A row by path is one file, unless repositories that are added up share the path.
    files = "" if row["path"] is not None and row["files"] == 1 else f" in {count_of(row['files'], 'file')}"
    return f"{row['matches']:>7,}{files}  {keys}".rstrip()


_count_rows = render_rows(_count_line, keeps_lines=True)


def _render_counts(answer: ToolResult, context: ToolContext) -> Rendered:
    payload, text = _count_rows(answer, context)
    attributes = answer.attributes
    head = f"{count_of(attributes['matches'], 'match')}, {attributes['status']}\n"
    match_count = sum(answer.table.column("matches").to_pylist())
    matches = {} if match_count == attributes["matches"] else {"matches": attributes["matches"]}
    return {**payload, **matches, "status": attributes["status"]}, head + text


def _explain(arguments: ExplainArguments, context: ToolContext) -> ToolResult:
    request = SearchRequest(
        arguments.query,
        pattern_type=arguments.pattern_type or "keyword",
        default_matches=arguments.default_count,
        timeout_s=arguments.timeout_s,
    )
    explanation = context.engine.explain(request, context.viewer, context.cancellation)
    rows: list[tuple[int | None, str, str, str, int | None, int | None]] = []
    for number, meaning in enumerate(explanation.alternatives, 1):
        types = ", ".join(meaning.types)
        # Without an index the files are not known yet, and a count of the known ones would be too small.
        is_known = not meaning.without_index
        rows.append(
            (number, "scope", types, meaning.phrase, meaning.passing if is_known else None, meaning.repositories)
        )
        rows += [
            (number, "filter", item.text, item.meaning, item.files if is_known else None, item.repositories)
            for item in meaning.filters
        ]
        rows += [
            (
                number,
                "pattern",
                pattern.text,
                join_parts([pattern.kind, "in", " and ".join(pattern.fields)]),
                None,
                None,
            )
            for pattern in meaning.patterns
        ]

    rows += [(None, "warning", advice.message, advice.fix, None, None) for advice in explanation.warnings]
    names = ("alternative", "part", "text", "meaning", "matching_files", "matching_repositories")
    columns: dict[str, Any] = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    attributes: dict[str, Any] = {
        "query": arguments.query,
        "pattern_type": explanation.pattern_type,
        "tree": explanation.tree_text,
    }

    # Clients of ours show it as they do embedded; the text for models is made of the rows.
    attributes["explanation"] = explanation.to_dict()
    missing = {name for meaning in explanation.alternatives for name in meaning.without_index}
    notices: tuple[str, ...] = ()
    if missing:
        notices = (f"The index of {count_of(len(missing), 'repository')} is not complete yet; files are not counted.",)
    return ToolResult(
        columns="query_parts",
        table=table_of("query_parts", len(rows), **columns),
        attributes=attributes,
        complete=not missing,
        notices=notices,
    )


def _part_line(row: Row) -> str:
    leaves = [count_of(row[name], noun) for name, noun in _LEAVES.items() if row[name] is not None]
    return join_parts(
        [f"{row['part']}:", row["text"], f"({row['meaning']})" if row["meaning"] else "", ", ".join(leaves)]
    )


_explained_rows = render_rows(_part_line)


def _render_explanation(answer: ToolResult, context: ToolContext) -> Rendered:
    payload, text = _explained_rows(answer, context)
    tree = answer.attributes["tree"]
    return {**payload, "tree": tree}, f"{tree}\n\n{text}"


def _list_refs(arguments: ListRefsArguments, context: ToolContext) -> ToolResult:
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    fragment = (arguments.query or "").casefold()
    prefixes = [prefix for prefix, kind in _KINDS.items() if arguments.kind in {None, kind}]

    def accepts(name: str) -> bool:
        prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), "")
        return bool(prefix) and fragment in name.removeprefix(prefix).casefold()

    refs = matching_refs(repository, accepts, context.cancellation)
    rows: list[tuple[int, str, str, CommitId]] = []
    with suppress(UnusableRepository, RepositoryError):
        handle = open_handle(repository.git_dir)
        for name, commit in refs:
            context.cancellation.check()
            when = commit_time_of(handle, commit)
            prefix = next(prefix for prefix in _KINDS if name.startswith(prefix))
            rows.append((-1 if when is None else when, name.removeprefix(prefix), _KINDS[prefix], commit))

    rows.sort(key=lambda row: (-row[0], row[1]))
    total = len(rows)
    rows = rows[: arguments.limit]
    # Only of the rows that are shown: a message may have megabytes.
    with StoreReader(repository) as reader:
        headers = (read_commit(reader, commit) for *_, commit in rows)
        subjects = ["" if header is None else header.subject[:_MAX_SUBJECT_CHARS] for header in headers]

    default = head_target(repository.git_dir).removeprefix("refs/heads/")
    values = {
        "repository": repository.name,
        "name": [name.encode("utf-8", "replace").decode() for _, name, *_ in rows],
        "kind": [kind for _, _, kind, _ in rows],
        "commit": [commit for *_, commit in rows],
        "commit_date": [datetime.fromtimestamp(when, UTC) if when >= 0 else None for when, *_ in rows],
        "subject": subjects,
        "default": [kind == "branch" and name == default for _, name, kind, *_ in rows],
    }
    table = tables.table("refs", values, len(rows))
    notices = (f"The newest {len(rows):,} of {total:,} refs are shown.",) if len(rows) < total else ()
    attributes = {"repository": repository.name, "total": total}
    return ToolResult(columns="refs", table=table, attributes=attributes, complete=len(rows) == total, notices=notices)


def _ref_line(row: Row) -> str:
    return join_parts([row["kind"], row["name"], row["commit"][:SHORT_OID], day(row["commit_date"]), row["subject"]])


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(COUNT, _count, _render_counts, TableItems("rows")),
    Handler(EXPLAIN, _explain, _render_explanation, TableItems("parts")),
    Handler(LIST_REFS, _list_refs, render_rows(_ref_line), TableItems("refs")),
)

"""`commit_search`: commits by message, author, changed lines, files and dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.results import Answer, repository_url
from sourcelight.core.cancellation import Halted
from sourcelight.engines.history.history import Ints
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import find_commits
from sourcelight.engines.history.search.query import CommitQuery, Commits
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.filters import dates_of, files_of, one_of
from sourcelight.engines.tools.history.opening import Opened, open_histories, revisions_of
from sourcelight.engines.tools.model import Arguments, CallContext
from sourcelight.engines.tools.parting import Part, Parted
from sourcelight.engines.tools.rendering import NOTHING, tail, with_notices

CALL = "commit_search"
DEFAULT_COUNT = 50
MOST_COUNT = 100
_BODY_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class _Found:
    """Commits of one repository: rows of the newest, how many there are, and what was searched behind."""

    rows: Any
    total: int
    commits: list[str]


def _find(arguments: Arguments, context: CallContext) -> Part:
    regexp = arguments.get("useRegex", False)
    after, before, echoed = dates_of(CALL, arguments)
    which = Commits(
        authors=one_of(CALL, "authors", arguments.get("authors"), regexp=regexp, one_line=True),
        messages=one_of(CALL, "messageTerms", arguments.get("messageTerms"), regexp=regexp),
        after=after,
        before=before,
    )
    query = CommitQuery(
        which,
        files=files_of(CALL, arguments.get("files"), regexp=regexp),
        changed=one_of(CALL, "contentTerms", arguments.get("contentTerms"), regexp=regexp, one_line=True),
    )
    histories = open_histories(CALL, context, arguments["repos"], *revisions_of(arguments))
    found: list[tuple[Opened, Ints]] = []
    for opened in histories.opened:
        try:
            layout = opened.layout(context) if query.files.paths else None
            numbers = find_commits(opened.history, query, lambda: context.cancellation.cancelled, layout=layout)
        except Halted:
            context.cancellation.check()
            raise
        found.append((opened, numbers[opened.mask[numbers]]))
    return histories.part(commit_part(found, arguments, context), echoed)


def commit_part(found: Sequence[tuple[Opened, Ints]], arguments: Arguments, context: CallContext) -> dict[str, _Found]:
    """The newest of the commits of each repository, as many as are asked for; numbers stand newest first."""
    limit = limit_of(arguments, context, DEFAULT_COUNT)
    stamps = [opened.history.commits.commit_time[numbers[:limit]] for opened, numbers in found]
    counts = newest(stamps, limit)
    return {
        opened.name: _Found(commit_rows(opened, numbers[:count]), len(numbers), list(opened.commits))
        for (opened, numbers), count in zip(found, counts, strict=True)
    }


def _join(arguments: Arguments, context: CallContext, part: Part) -> Answer:
    found: list[_Found] = list(part.found.values())
    total = sum(each.total for each in found)
    stamps = [each.rows.column("commit_date").cast(pa.int64()).to_numpy() for each in found]
    counts = newest(stamps, limit_of(arguments, context, DEFAULT_COUNT))
    table = columns.joined("commits", [_first(each.rows, n) for each, n in zip(found, counts, strict=True)])
    if len(found) > 1:
        order = np.argsort(-table.column("commit_date").cast(pa.int64()).to_numpy(), kind="stable")
        table = table.take(pa.array(order))
    notices, cut = part.notices, table.num_rows < total
    if cut:
        notices.append(f"Only the newest {table.num_rows:,} of {total:,} commits are shown; raise count or narrow.")
    facts = {
        "repositories": part.names,
        "total": total,
        "commits": {name: each.commits for name, each in part.found.items()},
        **part.echoed,
    }
    return Answer("commits", table, facts, part.complete and not cut, tuple(notices))


def _first(rows: Any, count: int) -> Any:
    return rows if count == rows.num_rows else columns.compact(rows.slice(0, count))


search_commits = Parted(_find, _join)
"""Find commits; without a count, and not served, all of them. Newest first over all repositories."""


def limit_of(arguments: Arguments, context: CallContext, default: int) -> int | None:
    """How many to give: what was asked; None for all."""
    count: int | None = arguments.get("count")
    return default if count is None and context.served else count


def newest(stamps: Sequence[Any], limit: int | None) -> list[int]:
    """How many commits of each repository are among the `limit` newest of all; `stamps` are newest first in each."""
    counts = [len(each) for each in stamps]
    if limit is None or sum(counts) <= limit:
        return counts
    owners = np.repeat(np.arange(len(stamps)), counts)
    chosen = owners[np.argsort(-np.concatenate(stamps), kind="stable")[:limit]]
    kept: list[int] = np.bincount(chosen, minlength=len(stamps)).tolist()
    return kept


def commit_rows(opened: Opened, numbers: Ints) -> Any:
    """Rows of the table ``commits`` for commits of one repository."""
    history = opened.history
    batch = tables.commit_batch(history, numbers)
    made = dict(zip(batch.schema.names, batch.columns, strict=True))
    made["co_authors"] = tables.co_author_texts(history, numbers)
    made["bot"] = pa.array(columns.bots(history, history.commits.author[numbers]))
    prefix = f"{repository_url('', opened.name)}/-/commit/"
    made["url"] = tables.addresses(prefix, history.commits.oid[numbers])
    return columns.table("commits", made, len(numbers))


def render_commits(answer: Answer, context: CallContext) -> tuple[dict[str, Any], str]:
    """Commits as objects, and as headings with their messages."""
    rows = answer.table.to_pylist()
    found, text = [], []
    for row in rows:
        subject, body = row["subject"], _body(row["message"])
        found.append(
            {
                "repo": row["repository"],
                "oid": row["commit"],
                "authorName": row["author"],
                "authorEmail": row["author_email"],
                "authorDate": stamp(row["author_date"]),
                "authorUtcOffset": row["author_utc_offset"],
                "committerName": row["committer"],
                "committerEmail": row["committer_email"],
                "committerDate": stamp(row["commit_date"]),
                "commitUtcOffset": row["commit_utc_offset"],
                "subject": subject,
                "body": body,
                **_exact(row, subject, body),
                "parents": row["parents"],
                "filesChanged": row["files"],
                "additions": row["additions"],
                "deletions": row["deletions"],
                "coAuthors": row["co_authors"],
                "bot": row["bot"],
                "url": context.base_url + row["url"],
            }
        )
        text.append(heading(row) + (f"\n{_shortened(body)}\n" if body else ""))
    payload = {"commits": found, "totalCount": answer.attributes["total"], **echo(answer), **tail(answer)}
    return payload, with_notices("\n".join(text) or NOTHING, answer)


def _exact(row: dict[str, Any], subject: str, body: str) -> dict[str, Any]:
    """What else a remote client needs for the same rows; the message where subject and body do not give it back."""
    exact = {
        "authorUtcOffset": row["author_utc_offset"],
        "commitUtcOffset": row["commit_utc_offset"],
        "bot": row["bot"],
    }
    if row["message"] != (f"{subject}\n\n{body}" if body else subject):
        exact["message"] = row["message"]
    return exact


def heading(row: dict[str, Any]) -> str:
    """The lines that name a commit in texts."""
    author = f"{row['author']} <{row['author_email']}>"
    first = f"## {row['repository']}@{row['commit'][:7]} {row['subject']}"
    return f"{first}\nAuthor: {author}\nDate: {stamp(row['author_date'])}\n"


def stamp(time: datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def echo(answer: Answer) -> dict[str, str]:
    """The instants that dates of the call were understood as."""
    return {name: answer.attributes[name] for name in ("after", "before") if name in answer.attributes}


def _body(message: str) -> str:
    return message.split("\n\n", 1)[1].strip("\n") if "\n\n" in message else ""


def _shortened(body: str) -> str:
    return body if len(body) <= _BODY_CHARACTERS else body[:_BODY_CHARACTERS] + "…"

"""`get_contributor_repos`: where someone has committed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sourcelight.core.batches.results import Answer
from sourcelight.core.errors import CallError
from sourcelight.engines.history.search.find import people_passing
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.commits import stamp
from sourcelight.engines.tools.history.filters import one_of
from sourcelight.engines.tools.history.opening import Opened, open_histories
from sourcelight.engines.tools.model import Arguments, CallContext
from sourcelight.engines.tools.parting import Part, Parted
from sourcelight.engines.tools.rendering import NOTHING, tail, with_notices

CALL = "get_contributor_repos"
DEFAULT_LIMIT = 20
MOST_LIMIT = 100
_MOST_SHOWN = 100


def _find(arguments: Arguments, context: CallContext) -> Part:
    authors = _authors(arguments)
    (wanted,) = one_of(CALL, "author", authors, regexp=arguments.get("useRegex", False), one_line=True)
    names = [repository.name for repository in context.engine.catalog.visible(context.viewer)]
    if not names:
        return Part(())
    histories = open_histories(CALL, context, names)
    found: dict[str, tuple[int, int, int, list[str]]] = {}
    for opened in histories.opened:
        context.cancellation.check()
        chosen = np.flatnonzero(people_passing(opened.history, wanted)[opened.history.commits.author] & opened.mask)
        if len(chosen) and len(chosen) >= arguments.get("minCommits", 1):
            times = opened.history.commits.commit_time[chosen]
            found[opened.name] = len(chosen), int(times.min()), int(times.max()), _who(opened, chosen)
    return histories.part(found)


def _authors(arguments: Arguments) -> list[str]:
    authors = [*arguments.get("authors", ()), *([arguments["author"]] if arguments.get("author") else [])]
    if not authors:
        raise CallError(f"{CALL} needs the argument 'author'", call=CALL, argument="author")
    return authors


def _join(arguments: Arguments, context: CallContext, part: Part) -> Answer:
    authors = _authors(arguments)
    found = [(count, name, first, last, who) for name, (count, first, last, who) in part.found.items()]
    found.sort(key=lambda item: (-item[0], item[1]))
    total = len(found)
    limit = arguments.get("limit")
    if limit is None and context.served:
        limit = DEFAULT_LIMIT
    found = found if limit is None else found[:limit]
    notices = part.notices
    if len(found) < total:
        notices.append(f"Only {len(found):,} of {total:,} repositories are shown; raise limit.")
    table = columns.table(
        "contributor_repositories",
        {
            "repository": [name for _, name, *_ in found],
            "commits": [commits for commits, *_ in found],
            "first_date": columns.times([first for _, _, first, _, _ in found]),
            "last_date": columns.times([last for _, _, _, last, _ in found]),
            "authors": [people for *_, people in found],
        },
        len(found),
    )
    facts = {
        "authors": authors,
        "total": total,
        "drill_down": {
            "call": "commit_search",
            "arguments": {"authors": authors, **({"useRegex": True} if arguments.get("useRegex") else {})},
            "columns": {"repos": "repository"},
        },
    }
    whole = len(found) == total and part.complete
    return Answer("contributor_repositories", table, facts, whole, tuple(notices))


contributor_repos = Parted(_find, _join)
"""List the repositories with commits of some authors, most commits first."""


def _who(opened: Opened, chosen: Any) -> list[str]:
    known = opened.history.identities
    persons, counts = np.unique(known.person[opened.history.commits.author[chosen]], return_counts=True)
    # The numbers of persons depend on the order in which commits were read.
    people = [f"{known.person_names[at]} <{known.person_emails[at]}>" for at in persons.tolist()]
    return [who for _, who in sorted(zip((-counts).tolist(), people, strict=True))]


def render_contributor_repos(answer: Answer, context: CallContext) -> tuple[dict[str, Any], str]:  # noqa: ARG001
    """Repositories as objects, and a line each."""
    repos, text = [], []
    for row in answer.table.to_pylist():
        first, last = stamp(row["first_date"]), stamp(row["last_date"])
        shown = row["authors"][:_MOST_SHOWN]
        repos.append(
            {
                "name": row["repository"],
                "commits": row["commits"],
                "firstCommit": first,
                "lastCommit": last,
                "authors": shown,
                **({"authorsLeftOut": len(row["authors"]) - len(shown)} if len(shown) < len(row["authors"]) else {}),
            }
        )
        noun = "commit" if row["commits"] == 1 else "commits"
        text.append(f"{row['repository']} - {row['commits']} {noun} (first {first}, last {last})\n")
    payload = {"repos": repos, "totalCount": answer.attributes["total"], **tail(answer)}
    return payload, with_notices("".join(text) or NOTHING, answer)

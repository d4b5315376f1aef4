"""`identities` and `identity_suggestions`: who writes under which names."""

from __future__ import annotations

from typing import Any

import numpy as np

from sourcelight.core.batches.answers import Answer
from sourcelight.engines.history.identity import BOT_RULE, Usage, is_bot, suggest
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.grouping import People
from sourcelight.engines.tools.history.opening import Opened, open_histories
from sourcelight.engines.tools.model import Arguments, CallContext


class _Use:
    """How often an identity occurs, when, and where."""

    def __init__(self) -> None:
        self.commits = self.committed = self.co_authored = 0
        self.first, self.last = 1 << 62, -(1 << 62)
        self.repositories: dict[str, None] = {}

    def add(self, opened: Opened, times: Any) -> int:
        """Take commits into account; gives how many there are."""
        if len(times):
            self.first, self.last = min(self.first, int(times.min())), max(self.last, int(times.max()))
            self.repositories[opened.name] = None
        return len(times)


def identities(arguments: Arguments, context: CallContext) -> Answer:
    """Every name and address that commits have, and what mailmaps make of it."""
    call = "identities"
    histories = open_histories(call, context, arguments.get("repos", ()))
    people = People(call, arguments.get("mailmap"))
    uses: dict[tuple[str, str, str, str], _Use] = {}
    for opened in histories.opened:
        context.cancellation.check()
        known, commits = opened.history.identities, opened.history.commits
        counted = opened.mask
        keys = list(zip(known.names, known.emails, known.mapped_names, known.mapped_emails, strict=True))
        keys = [(name, email, *people.accepted.map(*proper)) for name, email, *proper in keys]
        for role in ("author", "committer"):
            owners = getattr(commits, role)[counted]
            times = commits.commit_time[counted]
            order = np.argsort(owners, kind="stable")
            cuts = np.searchsorted(owners[order], np.arange(len(keys) + 1))
            for number, key in enumerate(keys):
                chosen = times[order[cuts[number] : cuts[number + 1]]]
                if len(chosen):
                    use = uses.setdefault(key, _Use())
                    count = use.add(opened, chosen)
                    use.commits += count if role == "author" else 0
                    use.committed += count if role == "committer" else 0
        _add_co_authors(opened, people, uses, context)
    rows = sorted(uses.items(), key=lambda item: (-item[1].commits, -item[1].committed, item[0]))
    table = columns.table(
        "identities",
        {
            "name": [key[0] for key, _ in rows],
            "email": [key[1] for key, _ in rows],
            "proper_name": [key[2] for key, _ in rows],
            "proper_email": [key[3] for key, _ in rows],
            "commits": [use.commits for _, use in rows],
            "committed": [use.committed for _, use in rows],
            "co_authored": [use.co_authored for _, use in rows],
            "first_date": columns.times([use.first for _, use in rows]),
            "last_date": columns.times([use.last for _, use in rows]),
            "repositories": [list(use.repositories) for _, use in rows],
            "bot": [is_bot(key[2], key[3]) for key, _ in rows],
        },
        len(rows),
    )
    notices = [*histories.notices, f"{BOT_RULE[0].upper()}{BOT_RULE[1:]}."]
    names = [opened.name for opened in histories.opened]
    drill = {"call": "commit_search", "arguments": {"repos": names}, "columns": {"authors": "email"}}
    return Answer("identities", table, {"repositories": names, "drill_down": drill}, histories.complete, tuple(notices))


def _add_co_authors(
    opened: Opened, people: People, uses: dict[tuple[str, str, str, str], _Use], context: CallContext
) -> None:
    commits, persons = people.co_authors(opened, context.cancellation)
    kept = opened.mask[commits]
    times = opened.history.commits.commit_time[commits[kept]]
    names, emails = people.names, people.emails
    for person in np.unique(persons[kept]).tolist():
        pair = names[person], emails[person]
        key = next((key for key in uses if key[2:] == pair), (*pair, *pair))
        use = uses.setdefault(key, _Use())
        use.co_authored += use.add(opened, times[persons[kept] == person])


def identity_suggestions(arguments: Arguments, context: CallContext) -> Answer:
    """Identities that may be one person: to be looked through, nothing is merged by it."""
    call = "identity_suggestions"
    histories = open_histories(call, context, arguments.get("repos", ()))
    people = People(call, arguments.get("mailmap"))
    counts: dict[int, tuple[int, int, int]] = {}
    for opened in histories.opened:
        context.cancellation.check()
        commits = opened.history.commits
        owners = people.of_identities(opened.history)[commits.author[opened.mask]]
        times = commits.commit_time[opened.mask]
        for person in np.unique(owners).tolist():
            chosen = times[owners == person]
            count, first, last = counts.get(person, (0, 1 << 62, 0))
            counts[person] = count + len(chosen), min(first, int(chosen.min())), max(last, int(chosen.max()))
    names, emails = people.names, people.emails
    found = suggest([Usage(names[at], emails[at], *numbers) for at, numbers in counts.items()])
    table = columns.table(
        "identity_suggestions",
        {
            "group": [each.group for each in found],
            "name": [each.usage.name for each in found],
            "email": [each.usage.email for each in found],
            "commits": [each.usage.commits for each in found],
            "proper_name": [each.proper.name for each in found],
            "proper_email": [each.proper.email for each in found],
            "reason": [each.reason for each in found],
            "mailmap_line": [each.mailmap_line for each in found],
        },
        len(found),
    )
    notices = (
        *histories.notices,
        "These are guesses: pass the mailmap_line of rows that you accept as mailmap, nothing is merged by itself.",
    )
    names_of = [opened.name for opened in histories.opened]
    drill = {"call": "commit_search", "arguments": {"repos": names_of}, "columns": {"authors": "email"}}
    return Answer("identity_suggestions", table, {"drill_down": drill}, histories.complete, notices)

"""The sections, numbers and sentences of a story: the history of a file, a directory or a definition.

`changes` are the rows of its changes, newest first, as `Client.path_history` or `Client.symbol_history` return them.
`commits` has one row for each commit of them; `story_commits` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.core.batches.persons import person_key
from sourcelight.core.markup import count_of, name_in_sentence
from sourcelight.lab.reports.history import activity, change_sizes, people_figure, total
from sourcelight.lab.reports.model import DATE_SPAN, LINE_SUMS, Frame, Item, Listing, Metric, ReportTable, Section
from sourcelight.lab.reports.people import JOINED
from sourcelight.lab.reports.sections import story_data
from sourcelight.lab.reports.text import Links, date_text

_MAX_PEOPLE = 15
"""Bars of the figure of people, which is as high as half a page."""

_MAX_LOG_ROWS = 40
"""Commits that the page shows; the file of the table has all."""

# Other tables of the page have this, and these columns would take space from its texts.
_FILES_ONLY = ("status", "references", "path", "line_number", "url")

_NO_MERGES = "merges, which have no changes of their own"
_MERGED_RENAMES = "renames in a merge."


def metrics(story_subject: story_data.Thing, changes: Frame, commits: Frame) -> list[Metric]:
    """Return the numbers of the story."""
    people = commits.loc[~commits["bot"], "person"]
    subject = f"the {story_subject.noun}"
    moves = changes["status"].astype("str").isin(story_data.MOVED)
    names = set(changes["path"].astype("str")) | set(changes.loc[moves, "old_path"].astype("str"))
    numbers = [
        Metric("commits", len(commits), f"Commits that changed {subject} under any of its names.", f"{_NO_MERGES}.",
               "commits"),
        Metric("people", int(people.nunique()), f"Authors of these commits. {JOINED}", "bots.", "commits",
               {"bot": False}),
        Metric("commits by bots", int(commits["bot"].sum()), "Commits whose author is a bot.", "",
               "commits", {"bot": True}),
    ]  # fmt: skip
    for column, name in (("additions", "lines added"), ("deletions", "lines removed")):
        value, unknown_text = total(changes, column)
        excludes = f"{_NO_MERGES}."
        if unknown_text:
            excludes = f"{_NO_MERGES}; {unknown_text}."
        counts = f"Lines of {subject} in these commits, as git log --numstat counts them."
        numbers.append(Metric(name, value, counts, excludes, source="commits"))

    counts = f"Changes that gave {_a_part(story_subject)} a new {_place(story_subject)}."
    numbers.append(
        Metric(
            name="moves",
            value=int(moves.sum()),
            counts=counts,
            excludes=_MERGED_RENAMES,
            source="changes",
            filters={"status": list(story_data.MOVED)},
        )
    )
    if story_subject.noun == "directory":
        numbers.append(Metric("paths", len(names), "Distinct paths of the changed files, former ones included."))
    elif story_subject.noun == "file":
        numbers.append(Metric("names", len(names), "Distinct paths that the file has had."))
    else:
        numbers.append(Metric("files", len(names), "Distinct paths of the files that have had the definition."))

    referenced = story_data.references_frame(commits)
    numbers.append(
        Metric(
            "references",
            len(referenced),
            "Distinct issues, requests and advisories that the messages name, as they are written.",
        )
    )
    return numbers


def _a_part(subject: story_data.Thing) -> str:
    if subject.is_one:
        return f"the {subject.noun}"
    return "one of its files"


def _place(subject: story_data.Thing) -> str:
    if subject.noun == "definition":
        return "name or file"
    return "path"


def sections(
    story_subject: story_data.Thing, changes: Frame, commits: Frame, period: str, links: Links
) -> list[Section]:
    """Return all sections in reading order."""
    parts = [
        _milestones(story_subject, changes, links),
        _people(story_subject, commits, links),
        _moves(story_subject, changes, links),
    ]
    if not story_subject.is_one:
        parts.append(_files(changes, links))

    parts += [_references(commits), _log(story_subject, commits, links)]
    table, figure = activity(commits, period)
    parts.append(
        Section(title="Time", text="Commits over time.", tables=(table,), figures=(figure, change_sizes(commits)))
    )
    return [part for part in parts if part.tables or part.figures or part.lists]


def _milestones(subject: story_data.Thing, changes: Frame, links: Links) -> Section:
    """Return the turns of a life, oldest first: how it began, where it went, and whether it ended."""
    if not subject.is_one:
        return Section("Milestones", "")
    turns = changes[changes["status"].astype("str") != "modified"].iloc[::-1]
    items = tuple(_item(_turn_text(row), row, links) for row in turns.to_dict("records"))
    if not items:
        return Section("Milestones", "")
    return Section("Milestones", "", lists=(Listing("Oldest first", items),))


def _turn_text(row: Mapping[Any, Any]) -> str:
    """Return a milestone: ``2024-06-28: renamed from old.py to new.py``."""
    status = str(row["status"])
    date = date_text(row["commit_date"])
    if status in story_data.MOVED:
        old, new = story_data.locations(row)
        return f"{date}: {status} from {old} to {new}"
    return f"{date}: {status} as {story_data.location(row)}"


def _item(text: str, row: Mapping[Any, Any], links: Links) -> Item:
    repository = str(row["repository"])
    commit = str(row["commit"])
    url = links.commit(repository, commit, str(row["url"] or ""))
    return Item(text, f"{commit[:9]}, {name_in_sentence(str(row['author']))}: {row['subject']}", url)


def _people(subject: story_data.Thing, commits: Frame, links: Links) -> Section:
    grouped = commits.groupby(["author", "author_email", "bot"], observed=True)
    frame = grouped.agg(
        commits=("commit", "size"),
        **LINE_SUMS,
        **DATE_SPAN,
    ).reset_index()
    frame = frame.sort_values(["commits", "author"], ascending=[False, True], kind="stable").reset_index(drop=True)
    repository = str(commits["repository"].iloc[0])
    about = f"Commits that changed the {subject.noun}, and its lines in them."
    table = ReportTable("people", "People", frame, about, "merges; co-authors.", "commits", ("author", "author_email"),
                        link=links.of_people(repository))  # fmt: skip
    top = frame[~frame["bot"]].head(_MAX_PEOPLE)
    description = f"Bars of commits of the {count_of(len(top), 'person')} with the most."
    figure = people_figure("people", "Commits by person", description, top, "commits")
    if len(top) < 2:
        return Section("People", "", tables=(table,))
    return Section("People", "", tables=(table,), figures=(figure,))


def _moves(subject: story_data.Thing, changes: Frame, links: Links) -> Section:
    rows = changes[changes["status"].astype("str").isin(story_data.MOVED)]
    columns = [
        "old_symbol",
        "symbol",
        "old_path",
        "path",
        "score",
        "commit",
        "commit_date",
        "author",
        "subject",
        "repository",
        "url",
    ]
    frame = rows[[name for name in columns if name in rows]].reset_index(drop=True)
    if not len(frame):
        return Section("Moves", "")

    likeness = "the share of common lines" if subject.noun == "definition" else "git's similarity of both contents"
    about = f"Changes that gave {_a_part(subject)} a new {_place(subject)}; score is {likeness}, in percent."
    table = ReportTable(
        "moves", "Moves, newest first", frame, about,
        "renames in a merge.", "changes", ("commit", "path"), hidden=("url",), link=links.of_commits(),
    )  # fmt: skip
    return Section("Moves", "", (table,))


def _files(changes: Frame, links: Links) -> Section:
    # `nunique` passes over nulls: bots are in no count of people.
    identities = zip(
        changes["author"].astype("str"), changes["author_email"].astype("str"), changes["bot"], strict=True
    )
    people = [None if is_bot else " ".join(person_key(name, email)) for name, email, is_bot in identities]
    frame = changes.assign(_human=people)
    grouped = frame.groupby(["repository", "path"], observed=True)
    files = grouped.agg(
        commits=("commit", "nunique"),
        people=("_human", "nunique"),
        **LINE_SUMS,
        **DATE_SPAN,
    ).reset_index()
    files = files.sort_values(["commits", "path"], ascending=[False, True], kind="stable").reset_index(drop=True)
    table = ReportTable(
        "files", "Files by commits", files,
        "Commits that changed a file under this path, their authors, and its lines in them.",
        "merges; bots among people.", "changes", ("path",), link=links.of_files(),
    )  # fmt: skip
    return Section("Files", "", (table,))


def _references(commits: Frame) -> Section:
    frame = story_data.references_frame(commits)
    if not len(frame):
        return Section("References", "")

    lists = story_data.reference_lists(commits)

    def commits_of(row: int) -> Frame:
        reference = frame["reference"].iloc[row]
        names_it = [reference in references for references in lists]
        return commits[names_it].reset_index(drop=True)

    table = ReportTable(
        "references", "References in messages, newest first", frame,
        "Commits whose message names the reference, in the form that it has there; subject is that of the newest.",
        "references without such a form, such as plain numbers.", "", ("reference",), behind=commits_of,
    )  # fmt: skip
    return Section("References", "", (table,))


def _log(subject: story_data.Thing, commits: Frame, links: Links) -> Section:
    # Narrow columns come before texts, so that they are visible on a page of usual width.
    columns = ["commit", "commit_date", "author", "subject", "additions", "deletions", "files", "status", "reason",
               "references", "path", "line_number", "agent", "repository", "url"]  # fmt: skip
    # Of a directory, each file has another status and path; of one file, the number of files says nothing.
    omitted = {"files"} if subject.is_one else {"status", "path"}
    names = [name for name in columns if name in commits and name not in omitted]
    rows = commits[names].reset_index(drop=True)
    hidden: tuple[str, ...] = _FILES_ONLY
    if "agent" not in rows or not (rows["agent"].fillna("").astype("str") != "").any():
        hidden = (*_FILES_ONLY, "agent")
    table = ReportTable(
        "log", "Commits, newest first", rows,
        f"Commits that changed the {subject.noun}, and its lines; reason is the first paragraph after the subject.",
        "merges.", "commits", ("commit",), max_rows=_MAX_LOG_ROWS, hidden=hidden, link=links.of_commits(),
    )  # fmt: skip
    return Section("Commits", "", (table,))

"""`ask` prints the answer to a question in words; `verify` checks the citations of a text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.options import Paths, ServiceUrl, Worktree, path_texts
from sourcelight.cli.output import DONE, FAILED, NO_MATCH, StatusLine, for_terminals, print_line, say
from sourcelight.cli.search import check_source
from sourcelight.cli.startup.search import SearchCommand, is_directory, open_client
from sourcelight.core.markup import join_words, visible
from sourcelight.repos.names import near_names

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.display.notebook.state import ProgressSnapshot

_LIST_REPOS = "list_repos lists"
"""Part of a message of the library that names a tool and no command."""

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|&lt;")
"""A backslash before ASCII punctuation, which Markdown shows without it, or the entity of ``<``."""

_TICKS = re.compile(r"(`+)")
"""The start or end of a code span."""

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
"""The first or last line of a block of code."""


def verify_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Markdown text with citations; - reads standard input.")],
    paths: Paths = None,
    *,
    url: ServiceUrl = None,
    repo: Annotated[str, typer.Option(metavar="NAME", help="Repository for citations without one.")] = "",
    revision: Annotated[
        str, typer.Option(metavar="REVISION", help="Branch, tag or commit of citations that name none.")
    ] = "",
) -> int:
    """Check the citations of a text.

    Citations are links to lines, path:12, path#L3-L9 and quoted code. Prints one line per citation: verified, moved
    (with its current location) or rejected (with the reason). Uses PATH, else the service of --url or SRC_ENDPOINT,
    else the current directory. Exits with status 1 if any is rejected.
    """
    check_source(paths, url)
    text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8", "replace")
    with open_client(SearchCommand(paths=path_texts(paths), url=url or "")) as client:
        frame = client.verify(text, repo or None, revision or None, progress=False)

    for row in frame.to_dict("records"):
        reason = f": {row['reason']}" if row["reason"] else ""
        print_line(visible(f"{row['text_line']}: {row['status']} {row['citation']}{reason}"))

    counts = [f"{frame.attrs[status]} {status}" for status in ("verified", "moved", "rejected")]
    say(", ".join(counts))
    return NO_MATCH if frame.attrs["rejected"] else DONE


def ask_command(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question in plain language, in quotes.")],
    paths: Paths = None,
    *,
    url: ServiceUrl = None,
    repo: Annotated[
        Optional[list[str]],  # noqa: UP045 - see options
        typer.Option(metavar="NAME", help="Use this repository only. May be repeated."),
    ] = None,
    revision: Annotated[
        Optional[str],  # noqa: UP045 - see options
        typer.Option(metavar="REVISION", help="Branch, tag or commit.  [default: the default branch]"),
    ] = None,
    worktree: Worktree = False,
) -> int:
    """Ask a question about the code. The answer is Markdown with citations, which a terminal shows without escapes.

    Uses PATH, else the service of --url or SRC_ENDPOINT, else the current directory. Without SOURCELIGHT_MODEL, no
    language model is used and nothing leaves this machine.
    """
    check_source(paths, url)
    if not paths and is_directory(question):
        raise typer.BadParameter(f"{question} is a directory, and the question is missing: write QUESTION before PATH")
    command = SearchCommand(paths=path_texts(paths), url=url or "", worktree=worktree)
    return ask(question, command, repos=repo or [], revision=revision)


def ask(question: str, command: SearchCommand, *, repos: Sequence[str], revision: str | None) -> int:
    """Print the answer; without a citation and a count, return the status of no match.

    The answer is Markdown; a terminal gets it without backslashes before punctuation. A failure is on standard error.
    """
    # A question needs definitions and terms as well: to index them starts at once.
    with open_client(command, background_index=True) as client:
        line = StatusLine()
        try:
            answer = client.deepsearch(
                question, repos=list(repos) or None, revision=revision, progress=_show_step(line)
            )
        finally:
            line.clear()

        has_failed = answer.status == "failed" and not answer.has_evidence and bool(answer.notices)
        for notice in answer.notices:
            say(notice if command.address else notice.replace(_LIST_REPOS, "`sourcelight repos` lists"))

        if has_failed:
            # The answer only repeats the notices.
            _suggest_names(client, repos)
        else:
            text = for_terminals(answer.to_markdown()).rstrip("\n")
            print_line(without_escapes(text) if sys.stdout.isatty() else text)

        if command.address and answer.url:
            say(f"conversation: {answer.url}")

    if answer.status != "complete":
        return FAILED
    if not answer.has_evidence:
        say("no answer: found no evidence; name a file, a symbol or a text in the question")
        return NO_MATCH

    return DONE


def _show_step(line: StatusLine) -> Callable[[ProgressSnapshot], None]:
    """Return a function that shows the progress of an answer with its newest step."""

    def show(snapshot: ProgressSnapshot) -> None:
        newest = [text for _, text in snapshot.notices[-1:]]
        line.show("; ".join((snapshot.text, *newest)))

    return show


def _suggest_names(client: Client, repos: Sequence[str]) -> None:
    """Print the repositories with names like those that can't be searched."""
    if not repos:
        return

    names = [str(name) for name in client.list_repos(progress=False)["repository"]]
    folded_names = {name.casefold() for name in names}
    for repo in repos:
        near = near_names(repo, names) if repo.casefold() not in folded_names else ()
        if near:
            say(f"repository not found: {repo}; did you mean {join_words(list(near), 'or')}?")


def without_escapes(markdown: str) -> str:
    """Return Markdown for readers of its text: without backslashes before punctuation, except in code."""
    lines = []
    fence = ""  # of the block of code around the line; empty outside of blocks
    for line in markdown.split("\n"):
        match = _FENCE.match(line)
        if fence:
            # The last line of a block has a fence of at least the same length, and nothing else.
            is_last = match is not None and match[1].startswith(fence) and not line.strip().strip(fence[0])
            if is_last:
                fence = ""
            lines.append(line)
        elif match:
            fence = match[1]
            lines.append(line)
        else:
            lines.append(_unescape_line(line))

    return "\n".join(lines)


def _unescape_line(line: str) -> str:
    """Return a line without escapes outside of its code spans.

    A code span ends with as many backticks as it begins with.
    """
    # Texts have even positions, the runs of backticks between them odd ones.
    parts = _TICKS.split(line)
    last_position = {parts[position]: position for position in range(1, len(parts), 2)}
    span_start = ""  # the run of backticks that began the current code span; empty outside of spans
    is_escaped = False  # whether a backslash before the next run makes it text
    for position, part in enumerate(parts):
        is_run = position % 2 == 1
        if is_run and span_start:
            if part == span_start:
                span_start = ""
        elif is_run:
            has_end = last_position[part] > position
            if has_end and not is_escaped:
                span_start = part
        elif not span_start:
            # The backslash of an escaped backtick is the last one of the text before it; two are one backslash.
            backslashes = len(part) - len(part.rstrip("\\"))
            is_escaped = backslashes % 2 == 1 and position + 1 < len(parts)
            text = part[:-1] if is_escaped else part
            parts[position] = _ESCAPE.sub(lambda match: match[1] or "<", text)

    return "".join(parts)

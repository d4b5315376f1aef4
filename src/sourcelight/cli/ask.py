"""`ask` and `verify`: answers to questions in words, and the check of citations in a text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.options import Paths, ServiceUrl, Worktree, path_texts
from sourcelight.cli.output import DONE, FAILED, NO_MATCH, StatusLine, for_terminals, print_line, say, without_escapes
from sourcelight.cli.search import check_source
from sourcelight.cli.startup.search import SearchCommand, is_directory, open_client
from sourcelight.core.markup import join_words, visible
from sourcelight.repos.names import near_names

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.display.notebook.state import ProgressSnapshot

_LIST_REPOS = "list_repos lists"
"""Part of a message of the library that names a tool and no command."""


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

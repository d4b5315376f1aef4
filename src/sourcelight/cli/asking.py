"""`ask`: a question about the code, answered with citations; of repositories on this machine or of a service."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sourcelight.cli.outcomes import DONE, FAILED, NO_MATCH, say, tell


def ask(
    question: str, paths: Sequence[str], *, url: str | None, repos: Sequence[str], revision: str | None, worktree: bool
) -> int:
    """Print the answer as Markdown; one that cites nothing and counts nothing has the status of no match."""
    import sourcelight as sl

    place = url or ("" if paths else os.environ.get("SRC_ENDPOINT", ""))
    client = sl.connect(place) if place else sl.open(*(paths or ["."]), worktree=worktree)
    with client:
        answer = client.deepsearch(question, repos=list(repos) or None, revision=revision)
        for notice in answer.notices:
            say(notice)
        tell(answer.to_markdown().rstrip("\n"))
        if place and answer.url:
            say(f"conversation: {answer.url}")
    if answer.status != "complete":
        return FAILED
    if not len(answer.citations) and not answer.tables:
        say("no answer")
        return NO_MATCH
    return DONE

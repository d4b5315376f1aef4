"""Lines on what an answer covers: the scope that words of a question select, and what was searched.

- `dam/` in the question means the path `dam/`.
- Only Go files count.
- Only committer dates since 2024 count, in UTC.

- `mill` at `79ef9b5a22c7`.
- No language model was used. Nothing left this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sourcelight.core.markup import code, count_of
from sourcelight.core.markup.counts import join_names
from sourcelight.engines.deepsearch.evidence.pins import Pin
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.question.file_kinds import ANY_FOLDER
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.question.scope import QuestionScope
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import NO_MODEL

MAX_NAMED_REPOSITORIES = 10
"""Maximum repositories that a line names."""


def scope_lines(request: FactRequest | None, scope: QuestionScope, unapplied: Sequence[str] = ()) -> list[str]:
    """Describe the scope that words of the question select, one sentence for each part.

    Parameters
    ----------
    request
        The request for facts, with its filters; None for another question.
    scope
        Repositories, revisions and paths that words of the question name.
    unapplied
        Words that the answer does not apply, which are left out.
    """
    lines = []
    for part in scope.parts:
        values = join_names([code(value) for value in part.values], MAX_NAMED_REPOSITORIES)
        lines.append(f"{code(part.source_text)} in the question means the {part.kind} {values}.")

    lines += scope.notes
    if request is None:
        return lines

    for path in (*request.paths, *request.without):
        if path.source_text in unapplied or path == ANY_FOLDER:
            continue
        kind = "file" if path.is_file else "folder"
        line = f"{code(path.source_text)} means the {kind} {code(path.glob)}"
        if path.repositories:
            line += f" of {', '.join(code(name) for name in path.repositories[:MAX_NAMED_REPOSITORIES])}"
        lines.append(f"{line}.")

    if request.languages and not set(request.languages) & set(unapplied):
        lines.append(f"Only {' and '.join(request.languages)} files count.")

    if request.tests is not None and "tests" not in unapplied:
        if request.tests:
            lines.append("Only test files count.")
        else:
            lines.append("Test files don't count.")

    if request.period.text and request.period.text not in unapplied:
        lines.append(f"Only committer dates {request.period.text} count, in UTC.")

    return lines


def format_searched(inquiry: ResearchRequest) -> str:
    """List the repositories and commits that were searched."""
    lines = [f"- {list_pins(inquiry.pins)}."]
    for name, reason in sorted(inquiry.pins.failed.items()):
        lines.append(f"- {inline(name)} could not be searched: {inline(reason)}.")
    return "\n".join([*lines, NO_MODEL])


def list_pins(pins: Iterable[Pin]) -> str:
    """Name the first repositories and their commits, and how many more there are."""
    names = [f"{code(pin.repository)} at {code(pin.commit[:12])}" for pin in pins]
    text = ", ".join(names[:MAX_NAMED_REPOSITORIES])
    if len(names) > MAX_NAMED_REPOSITORIES:
        text += f" and {count_of(len(names) - MAX_NAMED_REPOSITORIES, 'more repository')}"
    return text

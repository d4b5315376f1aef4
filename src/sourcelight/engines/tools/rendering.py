"""What the tools' texts are made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sourcelight.core.batches.results import Answer

NOTHING = "No results.\n\nNo results found.\n"


def numbered(first: int, lines: Sequence[str]) -> str:
    """Lines with their numbers in front, as ``12: text``."""
    return "".join(f"{number}: {line}\n" for number, line in enumerate(lines, first))


def tail(answer: Answer) -> dict[str, Any]:
    """What every payload ends with: whether a limit cut it, and what there is to say."""
    notice = {"notice": " ".join(answer.notices)} if answer.notices else {}
    return {"limitHit": not answer.complete, **notice}


def with_notices(text: str, answer: Answer) -> str:
    """Text with what there is to say behind it, in parentheses."""
    return text + "".join(f"\n({notice})\n" for notice in answer.notices)

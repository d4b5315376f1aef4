"""Notices beside a table: sentences about missing parts of an answer, and its rules of counting.

A notice is a text, because people read it and MCP sends it. Programs check for a `Rule` and its subject instead of
parsing the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self, get_args

RuleSubject = Literal[
    "agent commits", "agent lines", "bots", "comparison", "coupling", "file kinds", "imports", "languages", "merges",
    "people", "repeated commits",
]  # fmt: skip
"""Subject of a rule."""

_SUBJECTS: Final[Mapping[str, RuleSubject]] = {subject: subject for subject in get_args(RuleSubject)}


class Rule(str):
    """A notice about how an answer counts; other notices are about its missing parts.

    Attributes
    ----------
    subject
        Its subject.
    """

    __slots__ = ("subject",)

    subject: RuleSubject

    def __new__(cls, text: str, subject: RuleSubject) -> Self:  # noqa: D102 - the class says it
        rule = super().__new__(cls, text)
        rule.subject = subject
        return rule

    # Copies of a DataFrame and messages of a cluster recreate it.
    def __getnewargs__(self) -> tuple[str, RuleSubject]:  # type: ignore[override]
        return str(self), self.subject


def same_kind(text: str, notice: str) -> str:
    """Return a notice with another wording; a rule stays a rule with the same subject."""
    return Rule(text, notice.subject) if isinstance(notice, Rule) else text


def is_rule(notice: str, *subjects: RuleSubject) -> bool:
    """Return whether a notice is a rule; with `subjects`, about one of these."""
    return isinstance(notice, Rule) and (not subjects or notice.subject in subjects)


def subjects_of(notices: Sequence[str]) -> list[str]:
    """Return the subject of each notice for the wire; empty unless it is a rule."""
    return [notice.subject if isinstance(notice, Rule) else "" for notice in notices]


def restore_rules(notices: Sequence[str], subjects: Any) -> tuple[str, ...]:
    """Return notices of the wire as rules where they have a subject.

    A subject that this version doesn't know makes no rule: its notice counts as something that the answer lacks.
    """
    if not isinstance(subjects, list | tuple) or len(subjects) != len(notices):
        return tuple(notices)
    kinds = [_SUBJECTS.get(subject) if isinstance(subject, str) else None for subject in subjects]
    return tuple(
        notice if subject is None else Rule(notice, subject) for notice, subject in zip(notices, kinds, strict=True)
    )


def repetition_notices(commits: int, distinct: int) -> list[str]:
    """Return a notice if a count of commits has some of them more than once, because several repositories have them."""
    if distinct == commits:
        return []
    text = (
        f"Only {distinct:,} of {commits:,} commits are distinct: a commit that several repositories have, such as a "
        "fork and its origin, counts in each of them."
    )
    return [Rule(text, "repeated commits")]


MERGES_COUNTED = Rule("Merges are counted as commits and have no changed lines of their own.", "merges")
MERGES_LEFT_OUT = Rule("Merges are left out: they have no changed lines of their own.", "merges")
DIVERGED = Rule("head does not contain base: changes that only base has are shown as undone", "comparison")

# MCP sends texts alone. These are the rules that its tools send.
_RULES_OF_MCP: Final = {str(rule): rule for rule in (DIVERGED,)}


OLDER_HISTORY_MISSING: Final = "is a shallow clone: its older history is missing."
"""End of the notice about a shallow clone."""


def lacks_older_history(notices: Sequence[str]) -> bool:
    """Return whether a notice says that a history begins at the edge of a shallow clone."""
    return any(OLDER_HISTORY_MISSING.rstrip(".") in notice for notice in notices)


def from_text(notice: str) -> str:
    """Return a notice of an MCP tool, as a rule if it is one."""
    return _RULES_OF_MCP.get(notice, notice)

"""Kinds of changes by their titles: conventional commits, else the first verb."""

from __future__ import annotations

import re

KINDS = {
    "breaking": "Breaking changes",
    "features": "Features",
    "fixes": "Fixes",
    "docs": "Documentation",
    "tests": "Tests",
    "dependencies": "Dependencies",
    "other": "Other changes",
}
"""Kinds in the order in which a changelog has them, with their headings."""

RULE = (
    "Kinds are told by titles: the type of a conventional commit (feat, fix, docs, test, deps and others; an "
    "exclamation mark or a BREAKING CHANGE footer is breaking), else the words that the title begins with"
)

_CONVENTIONAL = re.compile(r"^(?P<type>[A-Za-z]{2,20})(?:\((?P<scope>[^()]{1,60})\))?(?P<mark>!)?:\s+\S")
_MAX_TITLE = 300  # the first words tell, and nobody's title makes the patterns slow
_FOOTER = re.compile(r"^BREAKING[ -]CHANGE:", re.MULTILINE)
_TYPES = {
    "feat": "features", "feature": "features", "fix": "fixes", "bugfix": "fixes", "hotfix": "fixes",
    "doc": "docs", "docs": "docs", "test": "tests", "tests": "tests",
    "deps": "dependencies", "dep": "dependencies",
}  # fmt: skip
_OTHER_TYPES = frozenset({"build", "chore", "ci", "perf", "refactor", "revert", "style", "release", "misc"})
_DEPENDENCIES = re.compile(r"deps|dependenc", re.IGNORECASE)
_LABEL = re.compile(r"^(?:\[(?P<label>[^\]]{1,40})\]\s*|[\w./-]{1,40}:\s+)")
# In this order: the first that fits counts.
_WORDS = {
    kind: re.compile("|".join(patterns), re.IGNORECASE)
    for kind, patterns in {
        "breaking": (r"(?:drop|remove|end)(?:s|d|ed|ped)? (?:\S+ ){0,3}?support\b", r"breaking\b"),
        "dependencies": (
            r"(?:bump|upgrade)(?:s|d|ed)? (?!version)(?:\S+ ){0,6}?(?:from|to) ",
            r"bump(?:s|ed)? (?!version)\S+",
            r"(?:update|upgrade|pin|unpin)(?:s|d|ed|ned)? (?:\S+ ){0,3}?(?:dependenc|requirements|deps\b)",
            r"(?:update|upgrade|pin|unpin)(?:s|d|ed|ned)? (?:\S+ ){0,3}?(?:lock ?file|pre-commit|submodule)",
            r"pre-commit autoupdate",
            r"build\(deps",
        ),
        "docs": (
            r"docs?\b|document(?:s|ed|ation|ing)?\b|readme|changelog|typos?\b",
            r"(?:\S+ ){1,4}?(?:typos?|docs?|documentation|docstrings?|readme|changelog)(?:[.,/]\S*)?(?:\s|$)",
        ),
        "tests": (
            r"tests?\b",
            r"(?:add|fix|improve|update|remove)(?:s|d|ed|ing)? (?:\S+ ){0,4}?tests?\b",
        ),
        "fixes": (
            r"(?:hot)?fix(?:es|ed|ing)?\b|bug ?fix|correct(?:s|ed)?\b|repair(?:s|ed)?\b|resolve[sd]?\b",
            r"prevent(?:s|ed)?\b|avoid(?:s|ed)?\b|handle[sd]?\b|don'?t\b|do not\b|close[sd]? #",
        ),
        "features": (
            r"add(?:s|ed|ing)?\b|introduc(?:e|es|ed|ing)\b|implement(?:s|ed)?\b|support(?:s|ed)?\b",
            r"allow(?:s|ed)?\b|enable[sd]?\b|expose[sd]?\b|new\b|feature\b|provide[sd]?\b",
        ),
    }.items()
}
"""In this order: the first that fits counts."""


def kind_of(title: str, message: str = "") -> str:
    """The kind of a change, a key of `KINDS`."""
    title = title[:_MAX_TITLE].strip()
    if _FOOTER.search(message):
        return "breaking"
    typed = _by_type(title)
    if typed:
        return typed
    label = _LABEL.match(title)
    texts = (title, title[label.end() :]) if label is not None else (title,)
    return next((kind for text in texts for kind, words in _WORDS.items() if words.match(text)), "other")


def _by_type(title: str) -> str:
    """The kind that the type of a conventional commit, or a label such as ``[docs]``, says; empty without one."""
    conventional = _CONVENTIONAL.match(title)
    if conventional is None:
        label = _LABEL.match(title)
        return _TYPES.get((label["label"] or "").strip().lower(), "") if label is not None else ""
    if conventional["mark"]:
        return "breaking"
    name = conventional["type"].lower()
    if name in _OTHER_TYPES:
        return "dependencies" if _DEPENDENCIES.search(conventional["scope"] or "") else "other"
    return _TYPES.get(name, "")

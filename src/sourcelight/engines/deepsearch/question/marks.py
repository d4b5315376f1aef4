"""A question whose parts are taken one by one, so that the remaining words can be named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

GAP = " · "
"""Marks a removed part: words on its two sides aren't neighbors."""

_MARK = re.compile(r"⟨([A-Z])(\d+)⟩")
_QUOTED = re.compile(
    r"``(?P<double>[^\n]+?)``|`(?P<code>[^`\n]+)`|\"(?P<straight>[^\"\n]+)\"|“(?P<curly>[^”\n]+)”"
    r"|(?<!\w)'(?P<single>[^'\n]+)'(?!\w)|(?<!\w)\u2018(?P<typeset>[^\u2019\n]+)\u2019(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a question with one meaning: its text, and its form in the question."""

    kind: str
    text: str
    source_text: str
    quoted: bool = False


@dataclass(slots=True)
class MarkedText:
    """A question with marks such as ``⟨L0⟩`` instead of its names, paths and dates.

    Kinds of marks are one capital letter; `marks` are in the order in which they were made.
    """

    text: str
    marks: list[Mark] = field(default_factory=list)

    @classmethod
    def from_text(cls, text: str) -> MarkedText:
        """Mark the parts in quotation marks or back quotes."""
        marked_text = cls(text.replace("⟨", "<").replace("⟩", ">").replace("·", " "))
        marked_text.mark(
            _QUOTED, "Q", lambda match: next(group for group in match.groups() if group is not None).strip()
        )
        return marked_text

    def mark(
        self, pattern: re.Pattern[str], kind: str, value: Callable[[re.Match[str]], str | None], group: str | int = 0
    ) -> None:
        """Replace each match (or a group of it) for which `value` returns a text with a mark."""

        def replace(match: re.Match[str]) -> str:
            text = value(match)
            if not text or "⟨" in match[group]:
                return match[0]
            start, end = match.start(group) - match.start(), match.end(group) - match.start()
            name = self.add(Mark(kind, text, match[group].strip(), kind == "Q"))
            return f"{match[0][:start]} {name} {match[0][end:]}"

        self.text = pattern.sub(replace, self.text)

    def add(self, mark: Mark) -> str:
        """Add a mark and return its name."""
        self.marks.append(mark)
        return f"⟨{mark.kind}{len(self.marks) - 1}⟩"

    def remove(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Remove the first match from the text and return it; None without a match."""
        match = re.search(pattern, self.text, re.IGNORECASE) if isinstance(pattern, str) else pattern.search(self.text)
        if match is not None:
            self.text = self.text[: match.start()] + GAP + self.text[match.end() :]
        return match

    def get_mark(self, name: str) -> Mark:
        """Return the mark of a name such as ``⟨L0⟩``."""
        return self.get_marks(name)[0]

    def get_marks(self, text: str) -> list[Mark]:
        """Return the marks in a piece of the text."""
        return [self.marks[int(match[2])] for match in _MARK.finditer(text)]

    def to_text(self) -> str:
        """Return the remaining question in its original words."""
        return _MARK.sub(lambda match: self.marks[int(match[2])].source_text, self.text)

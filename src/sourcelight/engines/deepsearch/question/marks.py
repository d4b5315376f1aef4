"""A question whose parts are taken one by one, so that the remaining words can be named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

GAP = " · "
"""Marks a removed part: words on its two sides aren't neighbors."""

# ⟨L0⟩
_MARK = re.compile(r"⟨([A-Z])(\d+)⟩")
# ``a`b``, `name`, "text", “text”, 'text', and the last one with typeset quotation marks
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
        marked_text.mark(_QUOTED, "Q", _quoted_text)
        return marked_text

    def mark(
        self, pattern: re.Pattern[str], kind: str, value: Callable[[re.Match[str]], str | None], group: str | int = 0
    ) -> None:
        """Replace each match (or a group of it) for which `value` returns a text with a mark."""

        def replace(match: re.Match[str]) -> str:
            text = value(match)
            if not text or "⟨" in match[group]:
                return match[0]

            name = self.add(Mark(kind, text, match[group].strip()))
            before = match.string[match.start() : match.start(group)]
            after = match.string[match.end(group) : match.end()]
            return f"{before} {name} {after}"

        self.text = pattern.sub(replace, self.text)

    def add(self, mark: Mark) -> str:
        """Add a mark and return its name."""
        self.marks.append(mark)
        return f"⟨{mark.kind}{len(self.marks) - 1}⟩"

    def remove(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Remove the first match from the text and return it; None without a match."""
        if isinstance(pattern, str):
            pattern = re.compile(pattern, re.IGNORECASE)

        match = pattern.search(self.text)
        if match is not None:
            self.replace_match(match)
        return match

    def replace_match(self, match: re.Match[str], replacement: str = GAP) -> None:
        """Replace a match in the text, which must not have changed since."""
        self.text = self.text[: match.start()] + replacement + self.text[match.end() :]

    def get_mark(self, name: str) -> Mark:
        """Return the mark of a name such as ``⟨L0⟩``."""
        return self.get_marks(name)[0]

    def text_of(self, name: str) -> str:
        """Return the text of a mark; a text that is no mark stays as it is."""
        if name.startswith("⟨"):
            return self.get_mark(name).text
        return name

    def get_marks(self, text: str) -> list[Mark]:
        """Return the marks in a piece of the text."""
        return [self.marks[int(match[2])] for match in _MARK.finditer(text)]

    def to_text(self) -> str:
        """Return the remaining question in its original words."""
        return _MARK.sub(lambda match: self.marks[int(match[2])].source_text, self.text)


def _quoted_text(match: re.Match[str]) -> str:
    """Return the text between quotation marks; each kind of them has its group."""
    texts = [text for text in match.groups() if text is not None]
    return texts[0].strip()

"""What navigation talks about: files, places of a name in them, and definitions found for one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sourcelight.engines.navigation.project import Project

How = Literal["scip", "scope", "import", "type", "name", "text"]
"""How an answer was found: from an index file of a compiler, by the scopes of the file, by following imports, by the
type of what stands before the dot, by ranking equal names, or by the text alone. The first is precise."""

Role = Literal["name", "attribute", "keyword", "import"]
"""What a name is used as: on its own, after a dot, naming an argument or a key, or inside an import."""

SCORES: dict[How, float] = {"scip": 1.0, "scope": 0.99, "import": 0.97, "type": 0.9, "name": 0.5, "text": 0.2}
"""How often the first answer of each kind was right where that was measured, rounded."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a project; two are equal when they are the same file of the same commit.

    `number` is its place among the paths of the project.
    """

    project: Project
    number: int
    path: bytes
    language: str
    key: tuple[str, str, bytes] = field(init=False, repr=False)
    """Repository's key, commit and path."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (self.project.key, self.project.commit, self.path))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Document) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def shown_path(self) -> str:
        """The path as text, invalid UTF-8 as U+FFFD."""
        return self.path.decode(errors="replace")

    @property
    def blob_id(self) -> bytes:
        """The 20 bytes that name the content."""
        return self.project.blob_id(self.number)

    @property
    def text(self) -> bytes:
        """The content; empty for a file that is binary, too large or missing (`Project.readable` tells)."""
        return self.project.text(self.number)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in a file, as byte offsets; `binding`: it defines or binds the name, `called`: it is what a call calls."""

    start: int
    end: int
    role: Role = "name"
    binding: bool = False
    called: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A definition.

    Parameters
    ----------
    document
        The file that it stands in.
    start, end
        Bytes of its name in there; both 0 for a module, which is the file itself.
    kind
        One of `sourcelight.engines.symbols.KINDS`, or ``parameter``.
    how
        How it was found.
    score
        0 to 1: how likely it is right, see `SCORES`.
    reason
        Why, in a few words for a reader.
    """

    document: Document
    start: int
    end: int
    kind: str
    how: How
    score: float
    reason: str

    @property
    def place(self) -> tuple[tuple[str, str, bytes], int]:
        """What makes two answers the same definition: the file and the offset, -1 for the file as a module."""
        return self.document.key, self.start if self.end else -1

    def because(self, how: How, reason: str, score: float | None = None) -> Found:
        """Give the same definition, found another way."""
        return replace(self, how=how, reason=reason, score=SCORES[how] if score is None else score)

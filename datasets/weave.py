r"""Read the stored form of a sample repository: woven files and a list of commits.

A woven file holds every state that a file ever had. Text between ``%%if NAME`` and ``%%end`` is there once the
commit called NAME is part of the history that is looked at, text between ``%%if !NAME`` and ``%%end`` until then;
``%%else`` turns a block over. A placeholder in guillemets stands for a setting that commits change, such as the
version of a dependency. So a commit is little more than a name, and branches, merges, reverts and cherry-picks
are sets of names.

Directives at the head of a file:

==================== ===========================================================================
``%%born NAME``      the file appears with this commit (default: with the first)
``%%gone NAME``      and vanishes with this one
``%%moved NAME OLD`` before this commit it stood at OLD
``%%path PATH``      its path where a file system could not hold it; ``\xNN`` is a byte
``%%text KIND``      ``crlf``, ``latin1`` or ``executable``
``%%make NAME``      its content comes from this function of `generated`
==================== ===========================================================================
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

from generated import MAKERS

PLACEHOLDER = re.compile("«([a-z0-9_]+)»")


@dataclass(frozen=True, slots=True)
class State:
    """What a branch holds: the commits that are part of it and the settings in force."""

    names: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Entry:
    """One commit as the history lists it.

    Parameters
    ----------
    name
        Its name in woven files.
    author, committer
        Keys of people.
    date
        Seconds since 1970 and the zone as git writes it.
    message
        Commit message.
    orders
        What it does beside weaving: ``(order, argument)`` pairs.
    """

    name: str
    author: str
    date: str
    message: str
    orders: list[tuple[str, str]]

    def order(self, name: str, default: str = "") -> str:
        """Argument of the first order of this name."""
        return next((argument for order, argument in self.orders if order == name), default)

    def apply(self, state: State) -> State:
        """State of a branch after this commit, merges left aside."""
        names = set(state.names) | {self.name}
        settings = dict(state.settings)
        for order, argument in self.orders:
            if order == "set":
                key, _, value = argument.partition(" ")
                settings[key] = value
            elif order == "drop":
                names -= set(argument.split())
            elif order == "apply":
                names |= set(argument.split())
        return replace(state, names=frozenset(names), settings=settings)


def read_history(text: str) -> list[Entry]:
    """Read a list of commits.

    A commit starts with ``== name | author | YYYY-MM-DD hh:mm +zone``; its message follows, then lines that start
    with ``> `` and hold orders: ``set KEY VALUE``, ``branch NAME``, ``from NAME``, ``merge NAME…``, ``drop NAME…``,
    ``apply NAME…``, ``tag NAME MESSAGE``, ``mark NAME``, ``committer PERSON``, ``encoding NAME``, ``empty``.
    """
    entries = []
    for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        name, author, when = (part.strip() for part in head.split("|"))
        lines = body.rstrip("\n").split("\n")
        orders = [line[2:].partition(" ") for line in lines if line.startswith("> ")]
        message = "\n".join(line for line in lines if not line.startswith("> ")).strip("\n") + "\n"
        moment = dt.datetime.strptime(when, "%Y-%m-%d %H:%M %z")
        date = f"{int(moment.timestamp())} {when.rsplit(' ', 1)[1]}"
        entries.append(Entry(name, author, date, message, [(order, argument) for order, _, argument in orders]))
    return entries


@dataclass(slots=True)
class WovenFile:
    """A file with all its states."""

    path: bytes
    lines: list[str]
    born: str = ""
    gone: str = ""
    moves: list[tuple[str, bytes]] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    maker: str = ""

    @property
    def names(self) -> set[str]:
        """Names of commits that the file mentions."""
        found = {self.born, self.gone, *(name for name, _ in self.moves)} - {""}
        found.update(line[5:].strip().removeprefix("!") for line in self.lines if line.startswith("%%if "))
        return found

    def path_in(self, names: AbstractSet[str]) -> bytes | None:
        """Where the file stands, None where it does not exist."""
        if (self.born and self.born not in names) or self.gone in names:
            return None
        return next((old for name, old in self.moves if name not in names), self.path)

    def content_in(self, state: State) -> bytes:
        """Bytes of the file in a state."""
        if self.maker:
            make, keys = MAKERS[self.maker]
            return make(*(state.settings[key] for key in keys))
        shown: list[bool] = []
        kept: list[str] = []
        for line in self.lines:
            if line.startswith("%%if "):
                name = line[5:].strip()
                shown.append((name.removeprefix("!") in state.names) != name.startswith("!"))
            elif line == "%%else":
                shown[-1] = not shown[-1]
            elif line == "%%end":
                shown.pop()
            elif line.startswith("%%"):
                raise ValueError(f"{self.path!r}: unknown directive {line!r}")
            elif all(shown):
                kept.append(line)
        if shown:
            raise ValueError(f"{self.path!r}: a %%if without %%end")
        text = PLACEHOLDER.sub(lambda found: state.settings[found[1]], "\n".join(kept))
        if "crlf" in self.kinds:
            text = text.replace("\n", "\r\n")
        return text.encode("latin-1" if "latin1" in self.kinds else "utf-8")


def read_file(path: Path, root: Path) -> WovenFile:
    """Read one woven file; a leading ``dot.`` of a stored name stands for the dot that would hide it."""
    parts = [part.removeprefix("dot") if part.startswith("dot.") else part for part in path.relative_to(root).parts]
    woven = WovenFile("/".join(parts).encode(), path.read_text(encoding="utf-8").split("\n"))
    while woven.lines and re.match("%%(born|gone|moved|path|text|make) ", woven.lines[0]):
        directive, _, argument = woven.lines.pop(0)[2:].partition(" ")
        if directive == "born":
            woven.born = argument
        elif directive == "gone":
            woven.gone = argument
        elif directive == "moved":
            name, _, old = argument.partition(" ")
            woven.moves.append((name, old.encode()))
        elif directive == "path":
            woven.path = re.sub(rb"\\x(..)", lambda found: bytes.fromhex(found[1].decode()), argument.encode())
        elif directive == "text":
            woven.kinds.update(argument.split())
        else:
            woven.maker = argument
    return woven


def read_files(folder: Path) -> list[WovenFile]:
    """Read the woven files below a folder, in the order of their stored paths."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [read_file(path, folder) for path in sorted(paths, key=lambda path: path.relative_to(folder).as_posix())]

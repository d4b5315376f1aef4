"""Trailers of commit messages (``Co-authored-by`` and the like) by git's own rules, without asking git.

Source: the manual of git-interpret-trailers; the tests compare with the command itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPACES = " \t\n\v\f\r"
_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")
_TOKEN = re.compile(r"([A-Za-z0-9-]+)[ \t]*:", re.ASCII)
_PERSON = re.compile(r"\s*(.*?)\s*<([^<>]*)>")
_CO_AUTHOR = "co-authored-by"


@dataclass(frozen=True, slots=True)
class Trailer:
    """One trailer: its token as written, and its value on one line."""

    token: str
    value: str

    @property
    def person(self) -> tuple[str, str] | None:
        """Name and address of a value such as ``Ada <ada@example.org>``; None for other values."""
        found = _PERSON.match(self.value)
        return (found[1], found[2].strip()) if found else None


def trailers_of(message: str) -> list[Trailer]:
    """Read the trailers of a commit message: those of its last paragraph, if that is one of trailers.

    A paragraph counts when all of its lines are trailers, or when git wrote one of them (``Signed-off-by``, ``cherry
    picked``) and at least a quarter are. The first paragraph never counts.
    """
    found: list[list[str]] = []
    for line in _block(message.split("\n")):
        if line[:1] in {" ", "\t"} and found:
            found[-1].append(line.strip(_SPACES))
            continue
        token = None if line[:1] in set(_SPACES) else _TOKEN.match(line)
        # A line that is no trailer, and one that goes on with it, are dropped together.
        found.append([token[1], line[token.end() :].strip(_SPACES)] if token else [""])
    return [Trailer(token, " ".join(rest).strip()) for token, *rest in found if token]


def co_authors(message: str) -> list[tuple[str, str]]:
    """Names and addresses of the ``Co-authored-by`` trailers of a message, each once, in order."""
    if _CO_AUTHOR not in message.lower():
        return []
    people = [trailer.person for trailer in trailers_of(message) if trailer.token.lower() == _CO_AUTHOR]
    return list(dict.fromkeys(person for person in people if person is not None))


def _block(lines: list[str]) -> list[str]:
    """The lines of the paragraph of trailers; none when the last paragraph is no such."""
    title = next((at for at, line in enumerate(lines) if not line.startswith("#") and not line.strip(_SPACES)), -1)
    if title < 0:
        return []
    trailers = others = continued = 0
    generated, only_blank = False, True
    for at in range(len(lines) - 1, title - 1, -1):
        line = lines[at]
        if line.startswith("#"):
            others, continued = others + continued, 0
        elif not line.strip(_SPACES):
            if only_blank:
                continue
            others += continued
            if (generated and trailers * 3 >= others) or (trailers and not others):
                return [line for line in lines[at + 1 :] if line.strip(_SPACES)]
            return []
        else:
            only_blank = False
            if line.startswith(_GENERATED):
                trailers, continued, generated = trailers + 1, 0, True
            elif line[0] in _SPACES:
                continued += 1
            elif _TOKEN.match(line):
                trailers, continued = trailers + 1, 0
            else:
                others, continued = others + 1 + continued, 0
    return []

"""Structured parts of commit messages: trailers (``Co-authored-by``), and references to issues and advisories.

Trailers follow git's own rules, which the manual of git-interpret-trailers has; tests compare with the command. Sources
of the forms of references: GitHub's "Autolinked references and URLs" (``#26``, ``GH-26``, ``owner/name#26``), GitLab's
"GitLab-specific references" (``!26``, ``group/project!26``), Jira's keys in commits, addresses of such pages, and
identifiers of cve.org.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPACES = " \t\n\v\f\r"
_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")
_TOKEN = re.compile(r"([A-Za-z0-9-]+)[ \t]*:", re.ASCII)
_EMAIL = re.compile(r"<([^<>]*)>")
CO_AUTHORS = frozenset({"co-authored-by"})

REVIEWERS = frozenset({"acked-by", "approved-by", "reviewed-by"})
"""Tokens of trailers, in lower case, that name people who wrote with the author, and who looked at the change."""

_MAX_MESSAGE = 100_000
"""Characters of a message that are read: a longer one is a log, not a reason."""

MAX_REFERENCES = 50
"""References that are taken from one message."""

_NUMBER = r"[1-9][0-9]{0,8}\b"
_PROJECT = r"(?:[A-Za-z0-9_.-]{1,100}(?:/[A-Za-z0-9_.-]{1,100}){1,4})?"
# A letter or `&` before the mark is of a word or of an HTML entity (`C#7`, `&#39;`); a slash is of an address.
_REFERENCE = re.compile(
    rf"(?<![\w&/.#!-])(?:{_PROJECT}[#!]{_NUMBER}|GH-{_NUMBER}|CVE-[0-9]{{4}}-[0-9]{{4,9}}\b)", re.ASCII
)
_ADDRESS = re.compile(
    r"https?://[^\s<>()\"']{1,200}?/(?:issues|pull|pull-requests|merge_requests|browse)/[A-Za-z0-9][A-Za-z0-9-]{0,30}",
    re.ASCII,
)
# `UTF-8` and `SHA-256` have the form of a key. So keys count only where the message marks them: as the first word of
# the subject, or behind a word that closes or names an issue.
_KEY = r"[A-Z][A-Z0-9_]{1,20}-[1-9][0-9]{0,8}\b"
_SUBJECT_KEY = re.compile(rf"\s*[\[(]?({_KEY})(?=[\])]|\s*:|\s)", re.ASCII)
_NAMED_KEY = re.compile(
    rf"\b(?:clos(?:e|es|ed)|fix(?:|es|ed)|resolv(?:e|es|ed)|refs?|issues?|bug|see|jira)[ \t]*[:=]?[ \t]{{0,8}}({_KEY})",
    re.ASCII | re.IGNORECASE,
)
_UPPER_KEY = re.compile(_KEY, re.ASCII)


@dataclass(frozen=True, slots=True)
class Trailer:
    """One trailer: its token as written, and its value on one line."""

    token: str
    value: str

    @property
    def person(self) -> tuple[str, str] | None:
        """Name and address of a value such as ``Ada <ada@example.org>``; return None for other values."""
        # The name is what is in front of the address. An expression for both tries each run of spaces from each of its
        # characters, and a line may have megabytes of them.
        match = _EMAIL.search(self.value)
        return (self.value[: match.start()].strip(), match[1].strip()) if match else None


def trailers_of(message: str) -> list[Trailer]:
    """Read the trailers of a commit message: the last paragraph, if it consists of trailers.

    A paragraph counts when all of its lines are trailers, or when git wrote one of them (``Signed-off-by``, ``cherry
    picked``) and at least a quarter are. The first paragraph never counts.
    """
    trailers: list[list[str]] = []
    for line in _trailer_block(message.split("\n")):
        if line[:1] in {" ", "\t"} and trailers:
            trailers[-1].append(line.strip(_SPACES))
            continue
        token = None if line[:1] in set(_SPACES) else _TOKEN.match(line)
        # A line that isn't a trailer is dropped, with its continuation lines.
        trailers.append([token[1], line[token.end() :].strip(_SPACES)] if token else [""])

    return [Trailer(token, " ".join(values).strip()) for token, *values in trailers if token]


def trailer_of_line(line: str) -> Trailer | None:
    """Read one line as a trailer, wherever it is; return None if it doesn't have the form."""
    match = _TOKEN.match(line)
    return Trailer(match[1], line[match.end() :].strip(_SPACES)) if match else None


def co_authors(message: str) -> list[tuple[str, str]]:
    """Return names and addresses of the ``Co-authored-by`` trailers of a message, each once, in order."""
    return people_of_trailers(message, CO_AUTHORS)


def people_of_trailers(message: str, tokens: frozenset[str]) -> list[tuple[str, str]]:
    """Return names and addresses of the trailers of a message with one of some tokens, each once, in order."""
    lower = message.lower()
    if not any(token in lower for token in tokens):
        return []
    people = [trailer.person for trailer in trailers_of(message) if trailer.token.lower() in tokens]
    return list(dict.fromkeys(person for person in people if person is not None))


def _trailer_block(lines: list[str]) -> list[str]:
    """Return the lines of the last paragraph if it consists of trailers."""
    # As in `find_trailer_block_start` of git's trailer.c: comment lines are skipped, the first paragraph is the title.
    title = next(
        (index for index, line in enumerate(lines) if not line.startswith("#") and not line.strip(_SPACES)), -1
    )
    if title < 0:
        return []

    trailers = other_lines = continued = 0
    generated, only_blank = False, True

    # From the end: the block of trailers is the last paragraph, and only its first line marks its start.
    for index in range(len(lines) - 1, title - 1, -1):
        line = lines[index]
        if line.startswith("#"):
            other_lines, continued = other_lines + continued, 0
        elif not line.strip(_SPACES):
            if only_blank:
                continue
            # A continuation line before any trailer belongs to no trailer, so it counts as other text.
            other_lines += continued
            # git's rule: all lines are trailers, or one was generated by git and at least 25 % are trailers.
            if (generated and trailers * 3 >= other_lines) or (trailers and not other_lines):
                return [line for line in lines[index + 1 :] if line.strip(_SPACES)]
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
                other_lines, continued = other_lines + 1 + continued, 0

    return []


def references_of(message: str) -> list[str]:
    """Return the references of a message, each once, in the order of the text; at most `MAX_REFERENCES`."""
    text = message[:_MAX_MESSAGE]
    occurrences = [(match.start(), match[0]) for form in (_REFERENCE, _ADDRESS) for match in form.finditer(text)]
    subject = _SUBJECT_KEY.match(text)
    if subject is not None:
        occurrences.append((subject.start(1), subject[1]))

    # The words are taken in any case, keys in capitals only.
    occurrences += [(match.start(1), match[1]) for match in _NAMED_KEY.finditer(text) if _UPPER_KEY.fullmatch(match[1])]
    return list(dict.fromkeys(reference for _, reference in sorted(occurrences)))[:MAX_REFERENCES]

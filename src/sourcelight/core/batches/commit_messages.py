"""Structured parts of commit messages: trailers (``Co-authored-by``), and references to issues and advisories.

This message has the references ``NET-12``, ``#26`` and ``owner/name#7``, and two trailers::

    NET-12: Wait before a retry

    Fixes #26, and see owner/name#7.

    Co-authored-by: Ada <ada@example.org>
    Signed-off-by: Bob <bob@example.org>

Trailers follow git's own rules, which the manual of git-interpret-trailers has; tests compare with the command. Sources
of the forms of references: GitHub's "Autolinked references and URLs" (``#26``, ``GH-26``, ``owner/name#26``), GitLab's
"GitLab-specific references" (``!26``, ``group/project!26``), Jira's keys in commits, addresses of such pages, and
identifiers of cve.org.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPACES = " \t\n\v\f\r"
"""What C's ``isspace`` takes for a space, and so git; Python's `str.strip` knows more."""

_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")
"""Beginnings of lines that git writes itself."""

_TOKEN = re.compile(r"([A-Za-z0-9-]+)[ \t]*:", re.ASCII)
"""``Reviewed-by:``"""

_EMAIL = re.compile(r"<([^<>]*)>")
"""``<ada@example.org>``"""

CO_AUTHORS = frozenset({"co-authored-by"})
"""Tokens of trailers, in lower case, that name people who wrote with the author."""

REVIEWERS = frozenset({"acked-by", "approved-by", "reviewed-by"})
"""Tokens of trailers that name people who looked at the change."""

_MAX_MESSAGE = 100_000
"""Characters of a message that are read: a longer one is a log, not a reason."""

MAX_REFERENCES = 50
"""References that are taken from one message."""

_NUMBER = r"[1-9][0-9]{0,8}\b"

_PROJECT = r"(?:[A-Za-z0-9_.-]{1,100}(?:/[A-Za-z0-9_.-]{1,100}){1,4})?"
"""``owner/name`` or ``group/subgroup/project``, or nothing for the repository itself."""

# A letter or `&` before the mark is of a word or of an HTML entity (`C#7`, `&#39;`); a slash is of an address.
_REFERENCE = re.compile(
    rf"(?<![\w&/.#!-])(?:{_PROJECT}[#!]{_NUMBER}|GH-{_NUMBER}|CVE-[0-9]{{4}}-[0-9]{{4,9}}\b)", re.ASCII
)
"""``#26``, ``!26``, ``owner/name#26``, ``GH-26`` or ``CVE-2024-1234``."""

_ADDRESS = re.compile(
    r"https?://[^\s<>()\"']{1,200}?/(?:issues|pull|pull-requests|merge_requests|browse)/[A-Za-z0-9][A-Za-z0-9-]{0,30}",
    re.ASCII,
)
"""``https://github.com/owner/name/pull/26`` or ``https://example.atlassian.net/browse/NET-12``."""

# `UTF-8` and `SHA-256` have the form of a key. So keys count only where the message marks them: as the first word of
# the subject, or behind a word that closes or names an issue.
_KEY = r"[A-Z][A-Z0-9_]{1,20}-[1-9][0-9]{0,8}\b"
_SUBJECT_KEY = re.compile(rf"\s*[\[(]?({_KEY})(?=[\])]|\s*:|\s)", re.ASCII)
"""``NET-12: …`` or ``[NET-12] …``."""

_NAMED_KEY = re.compile(
    rf"\b(?:clos(?:e|es|ed)|fix(?:|es|ed)|resolv(?:e|es|ed)|refs?|issues?|bug|see|jira)[ \t]*[:=]?[ \t]{{0,8}}({_KEY})",
    re.ASCII | re.IGNORECASE,
)
"""``Fixes NET-12`` or ``Jira: NET-12``."""

_UPPER_KEY = re.compile(_KEY, re.ASCII)
"""A key in capitals: ``ABC-12``."""


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
        if match is None:
            return None
        name = self.value[: match.start()]
        return name.strip(), match[1].strip()


def trailers_of(message: str) -> list[Trailer]:
    """Read the trailers of a commit message: the last paragraph, if it consists of trailers.

    A paragraph counts when all of its lines are trailers, or when git wrote one of them (``Signed-off-by``, ``cherry
    picked``) and at least a quarter are. The first paragraph never counts.
    """
    # A group is a line with its continuation lines.
    groups: list[list[str]] = []
    for line in _trailer_block(message.split("\n")):
        if line[:1] in {" ", "\t"} and groups:
            groups[-1].append(line)
        else:
            groups.append([line])

    trailers = []
    for first_line, *further_lines in groups:
        trailer = trailer_of_line(first_line)
        # A line that isn't a trailer is dropped, with its continuation lines.
        if trailer is not None:
            values = [trailer.value, *(line.strip(_SPACES) for line in further_lines)]
            trailers.append(Trailer(trailer.token, " ".join(values).strip()))
    return trailers


def trailer_of_line(line: str) -> Trailer | None:
    """Read one line as a trailer, wherever it is; return None if it doesn't have the form."""
    match = _TOKEN.match(line)
    if match is None:
        return None
    return Trailer(match[1], line[match.end() :].strip(_SPACES))


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
    title_end = _end_of_title(lines)
    if title_end is None:
        return []

    counts = _ParagraphCounts()
    # From the end: the block of trailers is the last paragraph, and only its first line marks its start.
    for index in range(len(lines) - 1, title_end - 1, -1):
        line = lines[index]
        is_blank = not line.startswith("#") and not line.strip(_SPACES)
        if not is_blank:
            counts.add(line)
        elif counts.has_text:
            if not counts.are_trailers():
                return []
            return [line for line in lines[index + 1 :] if line.strip(_SPACES)]

    return []


def _end_of_title(lines: list[str]) -> int | None:
    """Return the index of the first blank line, or None for a message of one paragraph."""
    for index, line in enumerate(lines):
        if not line.startswith("#") and not line.strip(_SPACES):
            return index
    return None


@dataclass(slots=True)
class _ParagraphCounts:
    """Counts of the kinds of lines in a paragraph, which is read from its end."""

    trailers: int = 0
    other_lines: int = 0
    # Continuation lines that belong to a line which is still to come.
    continued: int = 0
    is_generated: bool = False
    has_text: bool = False

    def add(self, line: str) -> None:
        if line.startswith("#"):
            self.other_lines += self.continued
            self.continued = 0
            return

        self.has_text = True
        if line.startswith(_GENERATED):
            self.is_generated = True
            self.trailers += 1
            self.continued = 0
        elif line[0] in _SPACES:
            self.continued += 1
        elif _TOKEN.match(line):
            self.trailers += 1
            self.continued = 0
        else:
            self.other_lines += 1 + self.continued
            self.continued = 0

    def are_trailers(self) -> bool:
        """Return whether git takes the lines for trailers: all are, or git wrote one and at least 25 % are."""
        # A continuation line before any trailer belongs to no trailer, so it counts as other text.
        other_lines = self.other_lines + self.continued
        if self.is_generated:
            return self.trailers * 3 >= other_lines
        return self.trailers > 0 and other_lines == 0


def references_of(message: str) -> list[str]:
    """Return the references of a message, each once, in the order of the text; at most `MAX_REFERENCES`."""
    text = message[:_MAX_MESSAGE]
    # Pairs of position and reference.
    occurrences: list[tuple[int, str]] = []
    for form in (_REFERENCE, _ADDRESS):
        occurrences += [(match.start(), match[0]) for match in form.finditer(text)]

    subject = _SUBJECT_KEY.match(text)
    if subject is not None:
        occurrences.append((subject.start(1), subject[1]))

    for match in _NAMED_KEY.finditer(text):
        # The words are taken in any case, keys in capitals only.
        if _UPPER_KEY.fullmatch(match[1]):
            occurrences.append((match.start(1), match[1]))

    references = dict.fromkeys(reference for _, reference in sorted(occurrences))
    return list(references)[:MAX_REFERENCES]

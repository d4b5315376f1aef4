"""References to issues, requests and advisories in commit messages, as they are written there.

Sources of the forms: GitHub's "Autolinked references and URLs" (``#26``, ``GH-26``, ``owner/name#26``), GitLab's
"GitLab-specific references" (``!26``, ``group/project!26``), Jira's keys in commits, addresses of such pages, and
identifiers of cve.org.
"""

from __future__ import annotations

import re

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
# `UTF-8` and `SHA-256` have the form of a key. So keys count where the message says what they are: as the first word of
# the subject, or behind a word that closes or names an issue.
_KEY = r"[A-Z][A-Z0-9_]{1,20}-[1-9][0-9]{0,8}\b"
_SUBJECT_KEY = re.compile(rf"\s*[\[(]?({_KEY})(?=[\])]|\s*:|\s)", re.ASCII)
_NAMED_KEY = re.compile(
    rf"\b(?:clos(?:e|es|ed)|fix(?:|es|ed)|resolv(?:e|es|ed)|refs?|issues?|bug|see|jira)[ \t]*[:=]?[ \t]{{0,8}}({_KEY})",
    re.ASCII | re.IGNORECASE,
)
_UPPER_KEY = re.compile(_KEY, re.ASCII)


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

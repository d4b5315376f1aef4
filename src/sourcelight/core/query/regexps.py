"""Check regular expressions in the service's words, and translate globs and path prefixes to RE2."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_WORDING = (
    ("missing ]: ", "missing closing ]: `{}`"),
    ("missing ): ", "missing closing ): `{}`"),
    ("unexpected ): ", "unexpected ): `{}`"),
    ("no argument for repetition operator: ", "missing argument to repetition operator: `{}`"),
    ("bad repetition operator: ", "invalid nested repetition operator: `{}`"),
    ("invalid repetition size: ", "invalid repeat count: `{}`"),
    ("invalid perl operator: ", "invalid or unsupported Perl syntax: `{}`"),
    ("invalid character class range: ", "invalid character class range: `{}`"),
    ("invalid escape sequence: ", "invalid escape sequence: `{}`"),
    ("invalid named capture group: ", "invalid named capture: `{}`"),
    ("invalid UTF-8", "invalid UTF-8"),
)

_GLOB = re.compile(r"[*?\[]")


@lru_cache(maxsize=4096)
def regexp_problem(text: str) -> str | None:
    """Return the message for a regular expression that can't be compiled, None when it can."""
    reason = _re2_reason(text)
    if reason is None:
        return None
    if reason.startswith("trailing \\"):
        return "error parsing regexp: trailing backslash at end of expression: ``"

    # The wire uses the messages of Go's regexp package; RE2 words some of them differently.
    for prefix, wording in _WORDING:
        if reason.startswith(prefix):
            return "error parsing regexp: " + wording.format(reason[len(prefix) :])

    return f"error parsing regexp: {reason}"


def escape_regexp(text: str) -> str:
    r"""Return `text` as a regular expression that matches just it; only RE2's operators get a backslash."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)


def exact_name(name: str) -> str:
    r"""Return the value of ``repo:`` that matches the repository `name` alone.

    An at sign would begin a revision and can't be escaped in a query, so it is written as its number.

    Examples
    --------
    >>> exact_name("example.org/team@home")
    '^example\\.org/team\\x40home$'
    """
    return f"^{escape_name(name)}$"


def escape_name(name: str) -> str:
    """Return the name of a repository as part of a ``repo:`` expression."""
    return escape_regexp(name).replace("@", r"\x40")


def _re2_reason(text: str) -> str | None:
    import re2

    options: Any = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not a regular expression"
        if isinstance(reason, bytes):
            return reason.decode("utf-8", "replace")
        return str(reason)
    except UnicodeEncodeError:
        return "invalid UTF-8"

    return None


def file_pattern(text: str) -> str:
    """Return the RE2 of a path prefix (whole names of directories) or of a glob.

    In a glob ``*`` and ``?`` stay within one name and ``**`` goes over folders; one without a slash is for names in
    any folder, and one that begins with a slash counts from the top.
    """
    trimmed = text.removeprefix("./").lstrip("/")
    if not trimmed:
        return "^"
    if _GLOB.search(trimmed) is None:
        prefix = escape_regexp(trimmed.rstrip("/"))
        return f"^{prefix}/" if trimmed.endswith("/") else f"^{prefix}(?:/|$)"

    # As in .gitignore: a glob without a slash matches in any directory.
    anchor = "^" if text.startswith("/") or "/" in trimmed.rstrip("/") else "(?:^|/)"
    ending = "" if trimmed.endswith("/") else "$"
    return anchor + glob_regexp(trimmed) + ending


def glob_regexp(text: str) -> str:
    """Return the RE2 of a glob, without anchors: ``*`` and ``?`` stay in one name, ``**`` goes over directories."""
    out = []
    position = 0
    while position < len(text):
        if text.startswith("**/", position):
            out.append("(?:.*/)?")
            position += 3
        elif text.startswith("**", position):
            out.append(".*")
            position += 2
        elif text[position] == "*":
            out.append("[^/]*")
            position += 1
        elif text[position] == "?":
            out.append("[^/]")
            position += 1
        # From the second character on: `[]abc]` is a class that contains the bracket.
        elif text[position] == "[" and (end := text.find("]", position + 2)) > 0:
            inner = text[position + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out.append("[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]")
            position = end + 1
        else:
            out.append(escape_regexp(text[position]))
            position += 1

    return "".join(out)

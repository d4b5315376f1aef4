"""Names of repositories by origin or directory, suggestions for a missing name, and what may name a ref.

A repository has the same name on every machine, however it was cloned: ``host/owner/name``. User, password, port,
query and ``.git`` are dropped, so that no credential can end up in a name. This module reads no files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
"""``https://user@host:443/owner/name.git``."""

_SCP = re.compile(r"(?:[^/\[\]:]*@)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^/:\[\]@]{2,}):(?P<path>[^:\\].*)", re.DOTALL)
r"""``git@host:owner/name.git``; a host of one letter would be a drive, as in ``C:\src``."""

_PUBLIC_SCHEMES = {"http", "https", "ssh", "git", "git+ssh", "ssh+git", "git+https", "ftp", "ftps"}
_PORT = re.compile(r":\d*$")
"""The port of an address."""

_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ud800-\udfff]")
"""Blanks, control characters, marks of width zero or of direction, and the surrogates of undecodable bytes."""

_REF_NAME = re.compile(r"refs/[^\x00-\x20\x7f]+")
"""A name below ``refs``."""

_GENERIC_NAMES = frozenset({"repo", "repository", "git", "bare", ".bare"})
"""Names of directories that say nothing about the repository in them."""

_LIMIT = 3
"""Suggestions that a message has room for."""

_MAX_NAMES = 20_000
"""Maximum names that are checked; with `_MAX_COMPARED` they cost 0.03 s of CPU."""

_MAX_COMPARED = 300
"""Maximum names of similar length that are compared letter by letter."""

_MAX_LENGTH_DIFFERENCE = 3
"""A misspelled name is rarely longer or shorter by more letters, and others need not be compared."""

_MAX_CHARS = 100
"""Longer names are neither compared nor suggested: they would fill a message."""

_MIN_SIMILARITY = 0.7
"""Ratio of difflib from which a name is suggested; `torando` and `tornado` have 0.86."""

_MIN_LAST_SIMILARITY = 0.5
"""The same for the last parts of two names that are alike as a whole."""


def is_ref_name(name: str) -> bool:
    """Return whether a text may name a ref: below ``refs``, without blanks, control characters or ``..``."""
    return _REF_NAME.fullmatch(name) is not None and ".." not in name


def split_origin(url: str) -> tuple[str, str]:
    """Return host (lower case) and path of an origin URL; both empty for a local path, ``file://`` or no URL.

    Parameters
    ----------
    url
        ``https://user:password@host:port/owner/name.git``, ``ssh://git@host/owner/name``, ``git@host:owner/name.git``…
    """
    host, path = _split_url(url.strip())
    host = clean(unquote(host, errors="replace")).strip("[]").rstrip(".").lower()

    parts = [part for part in clean(path).split("/") if part not in {"", ".", ".."}]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")

    # The last part is empty if it was only ``.git``.
    path = "/".join(filter(None, parts))
    if host and path:
        return host, path
    return "", ""


def _split_url(url: str) -> tuple[str, str]:
    """Return host and path as the URL has them, without user and port; both empty if it isn't one of a code host."""
    match = _URL.fullmatch(url)
    if match is None:
        scp = _SCP.fullmatch(url)
        if scp is None:
            return "", ""
        return scp["host"], scp["path"]

    if match["scheme"].lower() not in _PUBLIC_SCHEMES:
        return "", ""

    location = re.split(r"[?#]", match["rest"], maxsplit=1)[0]
    authority, _, path = location.partition("/")
    # User and port don't belong to the name: the same repository over https and ssh is one.
    host = _PORT.sub("", authority.rpartition("@")[2])
    return host, unquote(path, errors="replace")


def name_from_origin(url: str) -> str:
    """Return the name of a repository by its origin, ``host/owner/name``; empty when the origin names no host."""
    host, path = split_origin(url)
    if not host:
        return ""
    return f"{host}/{path}"


def name_key(name: str) -> str:
    """Return a name for comparison: case-folded, in one Unicode form, and without a final ``.git``.

    Code hosts treat ``Owner/Name`` and ``owner/name`` as one repository, so settings and grants apply to both.
    """
    normal = unicodedata.normalize("NFKC", name)
    # Once more, because the letters that case folding makes may have another form.
    lowered = unicodedata.normalize("NFKC", normal.casefold())
    return lowered.removesuffix(".git")


def web_address(url: str) -> str:
    """Return the page of an origin at its code host: ``https://host/owner/name``; empty for local origins."""
    name = name_from_origin(url)
    return f"https://{name}" if name else ""


def name_from_folder(path: str) -> str:
    """Return the name of a repository by its directory."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    if parts and parts[-1] == ".git":
        parts.pop()
    stem = parts[-1].removesuffix(".git") if parts else ""
    return clean(stem) or "repository"


def name_from_git_dir(path: str) -> str:
    """Return the name of a bare repository by its directory: ``tornado`` for ``/srv/tornado/repo``.

    For directories with generic names, the parent's name is used; ``repo.git`` is a name.
    """
    return name_from_folder(speaking_folder(path))


def speaking_folder(path: str) -> str:
    """Return the nearest directory at or above `path` without a generic name; else `path`."""
    above = path.rstrip("/\\")
    while above and re.split(r"[/\\]", above)[-1].lower() in _GENERIC_NAMES:
        above = re.sub(r"[/\\]*[^/\\]*$", "", above)
    return above if re.search(r"[^/\\:]", above) else path


def clean(text: str) -> str:
    """Return text fit for a name: blanks as ``-``; control characters, direction marks and invalid bytes as U+FFFD."""
    return _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text.strip().replace(" ", "-"))


def near_names(missing: str, names: Iterable[str], limit: int = _LIMIT) -> tuple[str, ...]:
    """Return the names most like `missing`, the best first.

    The name with the nearest spelling comes first, then those with the same last part, the shortest first, then others
    with a near spelling.

    Parameters
    ----------
    missing
        The name that does not exist.
    names
        Names that the reader may see; hostile ones (long, or with characters that can't be seen) are left out.
    limit
        Maximum number of names.
    """
    lowered = missing.casefold().strip("/")[:_MAX_CHARS]
    if not lowered:
        return ()

    usable = _usable_names(names)
    last = _last(lowered)
    same = [name for name in usable if _last(name) == last or lowered in name]
    same.sort(key=len)
    close = _close_names(lowered, usable, limit)
    ordered = dict.fromkeys([*close[:1], *same, *close])
    return tuple(usable[name] for name in list(ordered)[:limit])


def _usable_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names that may be suggested, by their form without case."""
    usable: dict[str, str] = {}
    for name in names:
        # A message separates names by these.
        has_separator = "," in name or ";" in name
        if len(name) <= _MAX_CHARS and name.isprintable() and not has_separator:
            usable.setdefault(name.casefold(), name)
        # difflib is quadratic; a list of a million refs must not block an error message.
        if len(usable) >= _MAX_NAMES:
            break

    return usable


def _close_names(missing: str, names: Iterable[str], limit: int) -> list[str]:
    """Return names with a spelling near that of `missing`, then names whose last part has one; all without case."""
    # Loaded late: a service imports this module before its first answer.
    import difflib

    last = _last(missing)
    similar: list[str] = []
    name_by_last: dict[str, str] = {}
    for name in names:
        name_last = _last(name)
        if abs(len(name) - len(missing)) <= _MAX_LENGTH_DIFFERENCE:
            similar.append(name)
        if abs(len(name_last) - len(last)) <= _MAX_LENGTH_DIFFERENCE:
            name_by_last[name_last] = name

    close: list[str] = []
    for name in difflib.get_close_matches(missing, similar[:_MAX_COMPARED], limit, _MIN_SIMILARITY):
        # Names with one long owner are alike in spelling whatever their last parts: these must be alike, too.
        matcher = difflib.SequenceMatcher(None, last, _last(name))
        if matcher.ratio() >= _MIN_LAST_SIMILARITY:
            close.append(name)

    last_parts = list(name_by_last)[:_MAX_COMPARED]
    for last_part in difflib.get_close_matches(last, last_parts, limit, _MIN_SIMILARITY):
        close.append(name_by_last[last_part])
    return close


def _last(name: str) -> str:
    return name.rpartition("/")[2]

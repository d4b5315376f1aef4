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
_SCP = re.compile(r"(?:[^/\[\]:]*@)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^/:\[\]@]{2,}):(?P<path>[^:\\].*)", re.DOTALL)
_PUBLIC_SCHEMES = {"http", "https", "ssh", "git", "git+ssh", "ssh+git", "git+https", "ftp", "ftps"}
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ud800-\udfff]")

_REF_NAME = re.compile(r"refs/[^\x00-\x20\x7f]+")

_GENERIC_NAMES = frozenset({"repo", "repository", "git", "bare", ".bare"})
_LIMIT = 3

_MAX_NAMES, _MAX_COMPARED = 20_000, 300
"""Maximum names that are checked, and names of similar length that are compared by letters: 0.03 s of CPU in all."""

_LENGTHS = 3
_MAX_CHARS = 100


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
    match = _URL.fullmatch(url.strip())
    if match:
        if match["scheme"].lower() not in _PUBLIC_SCHEMES:
            return "", ""
        location = re.split(r"[?#]", match["rest"], maxsplit=1)[0]
        authority, _, path = location.partition("/")
        # User and port don't belong to the name: the same repository over https and ssh is one.
        host = re.sub(r":\d*$", "", authority.rpartition("@")[2])
        path = unquote(path, errors="replace")
    else:
        scp = _SCP.fullmatch(url.strip())
        if not scp:
            return "", ""
        host, path = scp["host"], scp["path"]

    host = clean(unquote(host, errors="replace")).strip("[]").rstrip(".").lower()
    parts = [part for part in clean(path).split("/") if part not in {"", ".", ".."}]
    if parts and parts[-1].endswith(".git"):
        parts[-1] = parts[-1].removesuffix(".git")

    path = "/".join(part for part in parts if part)
    return (host, path) if host and path else ("", "")


def name_from_origin(url: str) -> str:
    """Return the name of a repository by its origin, ``host/owner/name``; empty when the origin names no host."""
    host, path = split_origin(url)
    return f"{host}/{path}" if host else ""


def name_key(name: str) -> str:
    """Return a name for comparison: case-folded, in one Unicode form, and without a final ``.git``.

    Code hosts treat ``Owner/Name`` and ``owner/name`` as one repository, so settings and grants apply to both.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).removesuffix(".git")


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
    """Return the names most like `missing`, the best first: with the same last part, then with a similar spelling.

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

    usable: dict[str, str] = {}
    for name in names:
        if len(name) <= _MAX_CHARS and name.isprintable() and not set(name) & set(",;"):
            usable.setdefault(name.casefold(), name)
        # difflib is quadratic; a list of a million refs must not block an error message.
        if len(usable) >= _MAX_NAMES:
            break

    last = _last(lowered)
    same = [name for name in usable if _last(name) == last or lowered in name]
    similar = [name for name in usable if abs(len(name) - len(lowered)) <= _LENGTHS][:_MAX_COMPARED]
    parts = {_last(name): name for name in usable if abs(len(_last(name)) - len(last)) <= _LENGTHS}

    # Loaded late: a service imports this module before its first answer.
    import difflib

    # Names with one long owner are alike in spelling whatever their last parts: these must be alike, too.
    close = [
        name
        for name in difflib.get_close_matches(lowered, similar, limit, 0.7)
        if difflib.SequenceMatcher(None, last, _last(name)).ratio() >= 0.5
    ]
    compared = list(parts)[:_MAX_COMPARED]
    close += [parts[last_part] for last_part in difflib.get_close_matches(last, compared, limit, 0.7)]
    ordered = dict.fromkeys([*close[:1], *sorted(same, key=len), *close])
    return tuple(usable[name] for name in list(ordered)[:limit])


def _last(name: str) -> str:
    return name.rpartition("/")[2]

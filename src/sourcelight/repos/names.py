"""Repository names from origin URLs.

The same repository is called alike on every machine and however it was cloned: ``host/owner/name``. User, password,
port, query and ``.git`` are dropped, so that no credential can end up in a name.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_SCP = re.compile(r"(?:[^/\[\]:]*@)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^/:\[\]@]{2,}):(?P<path>[^:\\].*)", re.DOTALL)
_PUBLIC_SCHEMES = {"http", "https", "ssh", "git", "git+ssh", "ssh+git", "git+https", "ftp", "ftps"}
_UNSPEAKABLE = re.compile(r"[\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ud800-\udfff]")


def split_origin(url: str) -> tuple[str, str]:
    """Host (lower case) and path of an origin URL; both empty for a local path, ``file://`` or what is no URL.

    Parameters
    ----------
    url
        ``https://user:password@host:port/owner/name.git``, ``ssh://git@host/owner/name``, ``git@host:owner/name.git``…
    """
    match = _URL.fullmatch(url.strip())
    if match:
        if match["scheme"].lower() not in _PUBLIC_SCHEMES:
            return "", ""
        place = re.split(r"[?#]", match["rest"], maxsplit=1)[0]
        authority, _, path = place.partition("/")
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
    """Name of a repository by its origin, ``host/owner/name``; empty when the origin names no host."""
    host, path = split_origin(url)
    return f"{host}/{path}" if host else ""


def name_key(name: str) -> str:
    """A name as names are compared: without regard to case, to how characters are composed, or to a final ``.git``.

    Code hosts take ``Owner/Name`` and ``owner/name`` for one repository; what is said of the one holds for the other.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).removesuffix(".git")


def web_address(url: str) -> str:
    """Where the code host of an origin shows it: ``https://host/owner/name``; empty for local origins."""
    name = name_from_origin(url)
    return f"https://{name}" if name else ""


def name_from_folder(path: str) -> str:
    """Name of a repository by the folder it stands in."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    if parts and parts[-1] == ".git":
        parts.pop()
    stem = parts[-1].removesuffix(".git") if parts else ""
    return clean(stem) or "repository"


def clean(text: str) -> str:
    """Text fit for a name: blanks as ``-``; control characters, direction marks and invalid bytes as U+FFFD."""
    return _UNSPEAKABLE.sub("\N{REPLACEMENT CHARACTER}", text.strip().replace(" ", "-"))

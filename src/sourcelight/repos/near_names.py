"""Names that a reader may have meant: of repositories, branches and tags."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LIMIT = 3
_MAX_NAMES, _MAX_COMPARED = 20_000, 300
"""Names that are looked at, and names of similar length that are compared letter by letter: 0.03 s of CPU in all."""
_LENGTHS = 3
_MAX_CHARS = 100


def near_names(asked: str, names: Iterable[str], limit: int = _LIMIT) -> tuple[str, ...]:
    """Return the names most like `asked`, the best first: with the same last part, then with a similar spelling.

    Parameters
    ----------
    asked
        The name that does not exist.
    names
        Names that the reader may see; hostile ones (long, or with characters that can't be seen) are left out.
    limit
        How many to return at most.
    """
    wanted = asked.casefold().strip("/")[:_MAX_CHARS]
    if not wanted:
        return ()
    usable: dict[str, str] = {}
    for name in names:
        if len(name) <= _MAX_CHARS and name.isprintable() and not set(name) & set(",;"):
            usable.setdefault(name.casefold(), name)
        if len(usable) >= _MAX_NAMES:
            break
    last = _last(wanted)
    same = [name for name in usable if _last(name) == last or wanted in name]
    similar = [name for name in usable if abs(len(name) - len(wanted)) <= _LENGTHS][:_MAX_COMPARED]
    parts = {_last(name): name for name in usable if abs(len(_last(name)) - len(last)) <= _LENGTHS}
    close = difflib.get_close_matches(wanted, similar, limit, 0.7)
    compared = list(parts)[:_MAX_COMPARED]
    close += [parts[part] for part in difflib.get_close_matches(last, compared, limit, 0.7)]
    ordered = dict.fromkeys([*close[:1], *sorted(same, key=len), *close])
    return tuple(usable[name] for name in list(ordered)[:limit])


def _last(name: str) -> str:
    return name.rpartition("/")[2]

"""Names and numbers that no two repositories of a catalog share."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sourcelight.repos.names import clean, name_from_folder, name_from_git_dir, name_key, speaking_folder


def make_unique(candidates: Sequence[tuple[str, str]], reserved: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Make names unique, in the given order; return them with warnings about changed names.

    Parameters
    ----------
    candidates
        Name and directory of each.
    reserved
        Names that are not to be had, case folded, with the directory that has them.
    """
    folder_by_name = dict(reserved)
    wanted_keys = {name_key(name) for name, _ in candidates}
    names: list[str] = []
    warnings: list[str] = []
    for name, folder in candidates:
        unique = name
        if name_key(name) in folder_by_name:
            # Never a name that another repository claims: that name must stay free for it.
            for unique in _longer_names(name, folder):
                key = name_key(unique)
                if key not in folder_by_name and key not in wanted_keys:
                    break
            warnings.append(clash_warning(folder_by_name[name_key(name)], folder, name, unique))

        folder_by_name[name_key(unique)] = folder
        names.append(unique)

    return names, warnings


def _longer_names(name: str, folder: str) -> Iterator[str]:
    """Yield further names without end: with more and more of the directory's path, then with a number.

    A name that is the directory's own gets the directories above in front, ``tornado/repo``. Other names get the path
    behind them, from the first directory on that differs from the end of the name.
    """
    if name == name_from_git_dir(folder):
        folder = speaking_folder(folder)

    parts = [clean(part) for part in folder.split(os.sep) if part and part != ".git"] or ["repository"]
    parts[-1] = name_from_folder(parts[-1])
    is_of_folder = name == parts[-1]
    # ``github.com/tornado/tornado (tornado)`` would say nothing: begin with the directory above.
    repeats_folder = name.rpartition("/")[2] == parts[-1] and len(parts) > 1
    first_count = 2 if repeats_folder else 1
    for count in range(first_count, len(parts) + 1):
        path = "/".join(parts[-count:])
        if is_of_folder and count > 1:
            yield path
        else:
            yield f"{name} ({path})"

    for number in itertools.count(2):
        yield f"{name} ({'/'.join(parts)}, {number})"


def assign_numbers(keys: Iterable[str]) -> dict[str, int]:
    """Assign each key a positive 32-bit number, the same in every run unless two keys clash."""
    numbers: dict[str, int] = {}
    used_numbers: set[int] = set()
    for key in sorted(keys):
        attempt = 0
        number = 0

        # 0 isn't a valid id. A clash takes the next digest; keys are sorted, so the result doesn't depend on the order
        # of discovery.
        while number == 0 or number in used_numbers:
            digest = hashlib.sha256(f"{key}\0{attempt}".encode("utf-8", "surrogateescape")).digest()
            number = int.from_bytes(digest[:4], "big") & 0x7FFFFFFF
            attempt += 1

        used_numbers.add(number)
        numbers[key] = number

    return numbers


def clash_warning(holder: str, folder: str, name_in_common: str, name: str) -> str:
    """Return the warning about a repository that has another name than it claims, because `holder` has that."""
    if not holder:
        return f"{folder} keeps the name {name!r}"
    return f"{holder} and {folder} are both named {name_in_common}; the second gets the name {name!r}"

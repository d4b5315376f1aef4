"""One name for each repository of a catalog, with what `repos.toml` says about it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.repos.annotations import Annotations
from sourcelight.repos.describe import Description
from sourcelight.repos.names import clean, name_from_folder
from sourcelight.repos.repository import Repository


def arrange(
    descriptions: Iterable[Description], annotations: Sequence[Annotations]
) -> tuple[tuple[Repository, ...], list[str]]:
    """Give repositories unique names and numbers, and their annotations.

    Of several with one name the first by path keeps it; each other gets its folder appended, and a warning names both.

    Returns
    -------
    tuple
        Repositories by name, and warnings.
    """
    ordered = sorted(descriptions, key=lambda each: each.folder)
    warnings = [f"{each.folder}: {each.warning}" for each in ordered if each.warning]
    natural, _ = _unique([(each.repository.name, each.folder) for each in ordered])
    notes: list[dict[str, Any]] = []
    used: set[tuple[str, str]] = set()
    for name, each in zip(natural, ordered, strict=True):
        note: dict[str, Any] = {}
        for file in annotations:
            key = file.key_for(name, each.folder, each.repository.git_dir)
            if key is not None:
                note = dict(file.repositories[key])
                used.add((file.path, key))
                break
        notes.append(note)
    wanted = [
        (note.get("name") or each.repository.name, each.folder) for note, each in zip(notes, ordered, strict=True)
    ]
    names, clashes = _unique(wanted)
    warnings += clashes
    warnings += [
        f"{file.path} describes {key!r}, but no such repository was found"
        for file in annotations
        for key in file.repositories
        if (file.path, key) not in used
    ]
    numbers = _numbers([each.repository.key for each in ordered])
    repositories = [
        _annotated(each.repository, name, numbers[each.repository.key], note)
        for each, name, note in zip(ordered, names, notes, strict=True)
    ]
    return tuple(sorted(repositories, key=lambda each: each.name)), warnings


def _annotated(repository: Repository, name: str, number: int, note: dict[str, Any]) -> Repository:
    said = {key: value for key, value in note.items() if key != "name"}
    if "topics" in said:
        said["topics"] = tuple(said["topics"])
    if "metadata" in said:
        said["metadata"] = {key: None if value is True else value for key, value in said["metadata"].items()}
    return replace(repository, facts=replace(repository.facts, name=name, id=number, **said))


def _unique(wanted: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Names in the order given, made unique, and what to say about those that had to change."""
    taken: dict[str, str] = {}
    plain = {name for name, _ in wanted}
    names: list[str] = []
    warnings: list[str] = []
    for name, folder in wanted:
        unique = name
        if name in taken:
            unique = next(each for each in _longer(name, folder) if each not in taken and each not in plain)
            warnings.append(f"{taken[name]} and {folder} are both named {name}; the second is called {unique!r}")
        taken[unique] = folder
        names.append(unique)
    return names, warnings


def _longer(name: str, folder: str) -> Iterable[str]:
    """Further names: with the folder, with more and more of its path, then with a number."""
    parts = [clean(part) for part in folder.split(os.sep) if part and part != ".git"] or ["repository"]
    parts[-1] = name_from_folder(parts[-1])
    for count in range(1, len(parts) + 1):
        yield f"{name} ({'/'.join(parts[-count:])})"
    number = 2
    while True:
        yield f"{name} ({'/'.join(parts)}, {number})"
        number += 1


def _numbers(keys: Iterable[str]) -> dict[str, int]:
    """A positive 32-bit number for each key, the same in every run as long as no two keys clash."""
    numbers: dict[str, int] = {}
    taken: set[int] = set()
    for key in sorted(keys):
        attempt = 0
        number = 0
        while number == 0 or number in taken:
            digest = hashlib.sha256(f"{key}\0{attempt}".encode("utf-8", "surrogateescape")).digest()
            number = int.from_bytes(digest[:4], "big") & 0x7FFFFFFF
            attempt += 1
        taken.add(number)
        numbers[key] = number
    return numbers

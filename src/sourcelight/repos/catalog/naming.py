"""Unique names for the repositories of a catalog, with their annotations, privacy and lenders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.core.markup import count_of
from sourcelight.core.markup.counts import list_names
from sourcelight.repos.catalog.config import DEFAULT_VISIBILITY, ReposConfig
from sourcelight.repos.catalog.visibility import Candidate, Root, decide, declared_roots
from sourcelight.repos.description import RepositoryDescription
from sourcelight.repos.names import clean, name_from_folder, name_from_git_dir, name_key, speaking_folder
from sourcelight.repos.repository import Repository, canonical_path_of
from sourcelight.repos.state.repositories import RepositoryRecord, Visibility


@dataclass(frozen=True, slots=True)
class Memory:
    """Records and settings of earlier runs.

    Parameters
    ----------
    records
        Records by canonical path, the oldest first, so that repositories keep their names.
    roots
        The directories that are searched.
    default_visibility
        Visibility of repositories for which no setting decides it.
    has_accounts
        Whether others than the owner may read.
    unreadable
        Paths of repositories that exist but can't be read now. They keep their names.
    """

    records: Mapping[str, RepositoryRecord] = field(default_factory=dict)
    roots: tuple[Root, ...] = ()
    default_visibility: str = ""
    has_accounts: bool = False
    unreadable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Named repositories, warnings, records to remember, and roots with private repositories."""

    repositories: tuple[Repository, ...]
    warnings: list[str]
    records: dict[str, RepositoryRecord]
    private_roots: frozenset[str]


@dataclass(slots=True)
class _Item:
    """A repository to be named: its annotations, and the names that it claims."""

    described: RepositoryDescription
    record: RepositoryRecord | None
    root: Root
    natural: str
    note: Mapping[str, Any] = field(default_factory=dict)
    decision: bool | None = None
    name: str = ""

    @property
    def name_or_path(self) -> str:
        return str(self.note.get("name") or self.described.repository.name)

    @property
    def canonical_path(self) -> str:
        return self.described.repository.canonical_path

    @property
    def origin(self) -> str:
        return name_key(self.described.repository.name)


def arrange(
    descriptions: Iterable[RepositoryDescription], annotations: Sequence[ReposConfig], memory: Memory | None = None
) -> Arrangement:
    """Assign unique names and numbers, annotations and privacy to repositories.

    Of several with one name the first to be known keeps it (among new ones the first by path); each other gets its
    directory appended, and a warning names both. A name never moves to another path as long as anything of its
    former one is remembered that is not public.
    """
    remembered = memory or Memory()
    items = _make_items(descriptions, remembered)
    absent = _find_absent(items, remembered)
    applied_keys = _annotate(items, annotations, absent)
    warnings = [f"{item.described.folder}: {item.described.warning}" for item in items if item.described.warning]
    warnings += _assign_names(items, absent)
    warnings += [
        f"{file.path} describes {key!r}, but no repository has that name"
        for file in annotations
        for key in file.repositories
        if (file.path, key) not in applied_keys
    ]

    # A search of local files applies only the current repos.toml; stored records protect the readers of a service.
    candidates = [
        Candidate(
            origin=item.origin,
            claim=name_key(item.name_or_path),
            decision=item.decision,
            record=item.record if remembered.has_accounts else None,
            root=item.root,
        )
        for item in items
    ]
    visibilities = decide(
        candidates,
        absent.values() if remembered.has_accounts else (),
        default_visibility=remembered.default_visibility,
        has_accounts=remembered.has_accounts,
    )
    records = {
        item.canonical_path: RepositoryRecord(
            item.canonical_path, item.name, name_key(item.name_or_path), item.origin, visibility
        )
        for item, visibility in zip(items, visibilities, strict=True)
    }
    if remembered.has_accounts:
        warnings += _undecided_warning(items, visibilities)

    lenders = _find_lenders(items, visibilities, is_strict=remembered.has_accounts and bool(declared_roots(candidates)))
    numbers = _assign_numbers([item.described.repository.key for item in items])
    repositories = [
        _make_repository(
            item, numbers[item.described.repository.key], visibility != "public", lenders.get(item.canonical_path, ())
        )
        for item, visibility in zip(items, visibilities, strict=True)
    ]
    private_roots = declared_roots(candidates) | {
        item.root.path for item, visibility in zip(items, visibilities, strict=True) if visibility == "private"
    }
    return Arrangement(
        tuple(sorted(repositories, key=lambda repository: repository.name)), warnings, records, private_roots
    )


def _make_items(descriptions: Iterable[RepositoryDescription], memory: Memory) -> list[_Item]:
    """Collect the repositories in the order in which names are given."""
    age = {path: number for number, path in enumerate(memory.records)}
    ordered = sorted(
        descriptions,
        key=lambda description: (age.get(description.repository.canonical_path, len(age)), description.folder),
    )
    naturals, _ = _make_unique([(description.repository.name, description.folder) for description in ordered], {})
    return [
        _Item(
            described=description,
            record=memory.records.get(description.repository.canonical_path),
            root=_root_of(description, memory.roots),
            natural=natural,
        )
        for description, natural in zip(ordered, naturals, strict=True)
    ]


def _find_absent(items: Sequence[_Item], memory: Memory) -> dict[str, RepositoryRecord]:
    """Return records of unreadable repositories, and of removed repositories that are not public."""
    present = {item.canonical_path for item in items}
    return {
        path: record
        for path, record in memory.records.items()
        if path not in present and (record.visibility != "public" or path in memory.unreadable)
    }


def _root_of(described: RepositoryDescription, roots: Sequence[Root]) -> Root:
    paths = (described.real_folder + os.sep, described.home + os.sep)
    enclosing = [root for root in roots if any(path.startswith(_with_separator(root.path)) for path in paths)]
    return max(enclosing, key=lambda root: len(root.path), default=Root(""))


def _with_separator(path: str) -> str:
    return path.rstrip(os.sep) + os.sep


def _annotate(
    items: Sequence[_Item], annotations: Sequence[ReposConfig], absent: Mapping[str, RepositoryRecord]
) -> set[tuple[str, str]]:
    """Apply the annotations of each `repos.toml`; return the keys that describe a repository.

    ``private = true`` under a name applies to every repository that claims the name, ``private = false`` only to the
    one that has it. Contents of a repository can claim a name, and must not become public by that.
    """
    applied_keys: set[tuple[str, str]] = set()
    absent_origins = {record.origin for record in absent.values()}
    holders = {name_key(item.record.name): item.canonical_path for item in items if item.record is not None}
    for item in items:
        described, record = item.described, item.record
        own_folders = (described.home, described.git_common_dir, *([described.real_folder] * described.is_own_folder))
        folders = (*own_folders, described.real_folder)
        own_names = [record.name] if record is not None else []
        if (
            item.origin not in absent_origins
            and holders.get(name_key(item.natural), item.canonical_path) == item.canonical_path
        ):
            own_names.append(item.natural)  # else: the name is, and stays, another's

        for file in annotations:
            keys = [*file.keys_by_name(*own_names), *file.keys_by_directory(*folders)]
            own_keys = [*file.keys_by_name(*own_names), *file.keys_by_directory(*own_folders)]
            claimed_keys = [
                *keys, *file.keys_by_name(described.repository.name, name_from_folder(described.folder))
            ]  # fmt: skip
            if keys and not item.note:
                item.note = file.repositories[keys[0]]

            applied_keys |= {(file.path, key) for key in claimed_keys}
            # Any claim may make a repository private; only a claim that certainly means it may make it public.
            if any(file.repositories[key].get("private") is True for key in claimed_keys):
                item.decision = True
            elif item.decision is None and any(file.repositories[key].get("private") is False for key in own_keys):
                item.decision = False

    return applied_keys


def _assign_names(items: Sequence[_Item], absent: Mapping[str, RepositoryRecord]) -> list[str]:
    """Name each repository, remembered names first; return warnings about clashes."""
    holders = {name_key(record.name): path for path, record in absent.items()}
    for item in items:
        record = item.record
        # Remembered names first: a repository that comes later can't take over a name, and with it its grants.
        if record is not None and record.claim == name_key(item.name_or_path) and name_key(record.name) not in holders:
            item.name = record.name
            holders[name_key(item.name)] = item.described.folder

    unnamed = [item for item in items if not item.name]
    names, warnings = _make_unique([(item.name_or_path, item.described.folder) for item in unnamed], holders)
    for item, name in zip(unnamed, names, strict=True):
        item.name = name
        holders[name_key(name)] = item.described.folder

    for item in items:
        wanted_key = name_key(item.name_or_path)
        if item.record is None or name_key(item.name) == wanted_key or item.name != item.record.name:
            continue
        warnings.append(
            _clash_warning(holders.get(wanted_key, ""), item.described.folder, item.name_or_path, item.name)
        )

    absent_records = {name_key(record.name): record for record in absent.values()}
    for name in sorted({name_key(item.name_or_path) for item in items if item.record is None} & absent_records.keys()):
        record = absent_records[name]
        warnings.append(
            f"the name {record.name} belongs to {record.canonical_path}, which is missing now; "
            f"free it with `sourcelight admin repo move` or `forget`"
        )

    return warnings


def _clash_warning(holder: str, folder: str, name_in_common: str, name: str) -> str:
    if not holder:
        return f"{folder} keeps the name {name!r}"
    return f"{holder} and {folder} are both named {name_in_common}; the second gets the name {name!r}"


def _undecided_warning(items: Sequence[_Item], visibilities: Sequence[Visibility]) -> list[str]:
    names = sorted(item.name for item, visibility in zip(items, visibilities, strict=True) if visibility == "undecided")
    if not names:
        return []

    count = count_of(len(names), "repository")
    warning = (
        f"{count} without a decision, private until then: {list_names(names)}; write `private = true` or `false` for "
        f"each, or {DEFAULT_VISIBILITY}, into repos.toml"
    )
    return [warning]


def _find_lenders(
    items: Sequence[_Item], visibilities: Sequence[Visibility], *, is_strict: bool
) -> dict[str, tuple[str, ...]]:
    """Map paths to the private repositories that they borrow objects from; an unknown owner is private if any is."""
    closed = {item.canonical_path: visibility != "public" for item, visibility in zip(items, visibilities, strict=True)}
    owners = {item.described.git_common_dir: item.canonical_path for item in items}
    lenders = {}
    for item in items:
        sources = dict.fromkeys(_owner_of(source, owners) for source in item.described.sources)
        # A repository that reads a private one's objects can show its contents.
        private = tuple(path for path in sources if path != item.canonical_path and closed.get(path, is_strict))
        if private:
            lenders[item.canonical_path] = private

    return lenders


def _owner_of(source: str, owners: Mapping[str, str]) -> str:
    """Return the path of the repository whose git directory contains `source`; for an unknown one, the directory."""
    above = source
    while above not in owners:
        if above == os.path.dirname(above):
            return canonical_path_of(os.path.dirname(source))
        above = os.path.dirname(above)
    return owners[above]


def _make_repository(item: _Item, number: int, is_private: bool, lenders: tuple[str, ...]) -> Repository:  # noqa: FBT001
    values = {key: value for key, value in item.note.items() if key != "name"}
    if "topics" in values:
        values["topics"] = tuple(values["topics"])

    if "metadata" in values:
        values["metadata"] = {key: None if value is True else value for key, value in values["metadata"].items()}

    values["private"] = is_private or bool(lenders)
    repository = item.described.repository
    return replace(repository, info=replace(repository.info, name=item.name, id=number, **values), lenders=lenders)


def _make_unique(candidates: Sequence[tuple[str, str]], reserved: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Make names unique, in the given order; return them with warnings about changed names.

    Parameters
    ----------
    candidates
        Name and directory of each.
    reserved
        Names that are not to be had, case folded, with the directory that has them.
    """
    holders = dict(reserved)
    wanted_keys = {name_key(name) for name, _ in candidates}
    names: list[str] = []
    warnings: list[str] = []
    for name, folder in candidates:
        unique = name
        if name_key(name) in holders:
            longer = ((candidate, name_key(candidate)) for candidate in _longer_names(name, folder))
            # Never a name that another repository claims: that name must stay free for it.
            unique = next(candidate for candidate, key in longer if key not in holders and key not in wanted_keys)
            warnings.append(_clash_warning(holders[name_key(name)], folder, name, unique))
        holders[name_key(unique)] = folder
        names.append(unique)

    return names, warnings


def _longer_names(name: str, folder: str) -> Iterable[str]:
    """Yield further names: with more and more of the directory's path, then with a number.

    A name that is the directory's own gets the directories above in front, ``tornado/repo``. Other names get the path
    behind them, from the first directory on that differs from the end of the name.
    """
    if name == name_from_git_dir(folder):
        folder = speaking_folder(folder)

    parts = [clean(part) for part in folder.split(os.sep) if part and part != ".git"] or ["repository"]
    parts[-1] = name_from_folder(parts[-1])
    is_of_folder = name == parts[-1]
    is_specific = name.rpartition("/")[2] != parts[-1] or len(parts) == 1
    for count in range(1 if is_specific else 2, len(parts) + 1):
        path = "/".join(parts[-count:])
        yield path if is_of_folder and count > 1 else f"{name} ({path})"

    number = 2
    while True:
        yield f"{name} ({'/'.join(parts)}, {number})"
        number += 1


def _assign_numbers(keys: Iterable[str]) -> dict[str, int]:
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

"""Unique names for the repositories of a catalog, with their annotations and privacy.

Words of this module:

- *origin*: the name that a repository's own configuration gives it, so its authors choose it.
- *claim*: the name that a repository is to have: of its annotation in ``repos.toml``, or else its origin.
- *key*: a name as it is compared with others, without regard to case.
- *lender*: a private repository whose objects another one borrows and therefore can show.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.markup import count_of
from sourcelight.core.markup.counts import join_names
from sourcelight.repos.catalog.config import DEFAULT_VISIBILITY, ReposConfig
from sourcelight.repos.catalog.unique_names import assign_numbers, clash_warning, make_unique
from sourcelight.repos.catalog.visibility import Candidate, Root, decide, declared_roots
from sourcelight.repos.description import RepositoryDescription
from sourcelight.repos.names import name_from_folder, name_key
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
    """A repository to be named.

    Attributes
    ----------
    described
        What its directory says of it.
    record
        What earlier runs remember of it; None for a new one.
    root
        The searched directory that it lies in.
    natural_name
        The unique name that it would have without annotations and records.
    note
        The first entry of a ``repos.toml`` that describes it.
    is_private
        What the entries say about its privacy; None if they say nothing.
    name
        Its name, as soon as it has one.
    """

    described: RepositoryDescription
    record: RepositoryRecord | None
    root: Root
    natural_name: str
    note: Mapping[str, Any] = field(default_factory=dict)
    is_private: bool | None = None
    name: str = ""

    @property
    def claim(self) -> str:
        return str(self.note.get("name") or self.described.repository.name)

    @property
    def own_folders(self) -> list[str]:
        """Directories that belong to it alone."""
        folders = [self.described.home, self.described.git_common_dir]
        if self.described.is_own_folder:
            folders.append(self.described.real_folder)
        return folders

    @property
    def canonical_path(self) -> str:
        return self.described.repository.canonical_path

    @property
    def origin(self) -> str:
        return name_key(self.described.repository.name)


def arrange(
    descriptions: Iterable[RepositoryDescription],
    annotations: Sequence[ReposConfig],
    memory: Memory | None = None,
    beside: Collection[str] = (),
) -> Arrangement:
    """Assign unique names and numbers, annotations and privacy to repositories.

    Of several with one name the first to be known keeps it (among new ones the first by path); each other gets its
    directory appended, and a warning names both. A name doesn't move to another path while a record of its former
    path is not public: who may read the former repository must not read the new one by that.

    `beside` are paths of settings files next to an opened repository: they may describe others, which weren't opened.
    """
    remembered = memory or Memory()
    items = _make_items(descriptions, remembered)
    absent = _find_absent(items, remembered)
    applied_keys = _annotate(items, annotations, absent)
    warnings = [f"{item.described.folder}: {item.described.warning}" for item in items if item.described.warning]
    warnings += _assign_names(items, absent)
    warnings += _unused_warnings([file for file in annotations if file.path not in beside], applied_keys)

    candidates = _make_candidates(items, remembered)
    visibilities = decide(
        candidates,
        absent.values() if remembered.has_accounts else (),
        default_visibility=remembered.default_visibility,
        has_accounts=remembered.has_accounts,
    )
    if remembered.has_accounts:
        warnings += _undecided_warning(items, visibilities)

    private_roots = set(declared_roots(candidates))
    lenders = _find_lenders(items, visibilities, is_strict=remembered.has_accounts and bool(private_roots))
    numbers = assign_numbers([item.described.repository.key for item in items])
    repositories: list[Repository] = []
    records: dict[str, RepositoryRecord] = {}
    for item, visibility in zip(items, visibilities, strict=True):
        path = item.canonical_path
        records[path] = RepositoryRecord(path, item.name, name_key(item.claim), item.origin, visibility)
        if visibility == "private":
            private_roots.add(item.root.path)

        info = _make_info(item, is_private=visibility != "public" or path in lenders)
        repository = item.described.repository
        info = replace(info, id=numbers[repository.key])
        repositories.append(replace(repository, info=info, lenders=lenders.get(path, ())))

    repositories.sort(key=lambda repository: repository.name)
    return Arrangement(tuple(repositories), warnings, records, frozenset(private_roots))


def _unused_warnings(annotations: Sequence[ReposConfig], applied_keys: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yield a warning for each entry of a `repos.toml` that describes no repository."""
    for file in annotations:
        for key in file.repositories:
            if (file.path, key) not in applied_keys:
                yield f"{file.path} describes {key!r}, but no repository has that name"


def _make_candidates(items: Sequence[_Item], memory: Memory) -> list[Candidate]:
    """Collect what decides on the visibility of each repository."""
    candidates: list[Candidate] = []
    for item in items:
        # A search of local files applies only the current repos.toml; stored records protect the readers of a service.
        record = item.record if memory.has_accounts else None
        claim = name_key(item.claim)
        candidates.append(
            Candidate(origin=item.origin, claim=claim, decision=item.is_private, record=record, root=item.root)
        )
    return candidates


def _make_items(descriptions: Iterable[RepositoryDescription], memory: Memory) -> list[_Item]:
    """Collect the repositories in the order in which names are given."""
    ages = {path: index for index, path in enumerate(memory.records)}

    def age_and_folder(description: RepositoryDescription) -> tuple[int, str]:
        # New ones come after all that have a record.
        age = ages.get(description.repository.canonical_path, len(ages))
        return age, description.folder

    ordered = sorted(descriptions, key=age_and_folder)
    natural_names, _ = make_unique([(description.repository.name, description.folder) for description in ordered], {})
    items: list[_Item] = []
    for description, natural_name in zip(ordered, natural_names, strict=True):
        record = memory.records.get(description.repository.canonical_path)
        root = _root_of(description, memory.roots)
        items.append(_Item(described=description, record=record, root=root, natural_name=natural_name))
    return items


def _find_absent(items: Sequence[_Item], memory: Memory) -> dict[str, RepositoryRecord]:
    """Return records of unreadable repositories, and of removed repositories that are not public."""
    present = {item.canonical_path for item in items}
    return {
        path: record
        for path, record in memory.records.items()
        if path not in present and (record.visibility != "public" or path in memory.unreadable)
    }


def _root_of(described: RepositoryDescription, roots: Sequence[Root]) -> Root:
    """Return the innermost of the searched directories that a repository lies in; an empty one for none."""
    paths = (described.real_folder + os.sep, described.home + os.sep)
    enclosing = [Root("")]
    for root in roots:
        prefix = _with_separator(root.path)
        if any(path.startswith(prefix) for path in paths):
            enclosing.append(root)
    return max(enclosing, key=lambda root: len(root.path))


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
    path_by_name = {name_key(item.record.name): item.canonical_path for item in items if item.record is not None}
    for item in items:
        own_names = [item.record.name] if item.record is not None else []
        # A name that another repository has, or had before it went missing, stays that one's.
        path = path_by_name.get(name_key(item.natural_name), item.canonical_path)
        if item.origin not in absent_origins and path == item.canonical_path:
            own_names.append(item.natural_name)

        for file in annotations:
            for key in _annotate_item(item, file, own_names):
                applied_keys.add((file.path, key))

    return applied_keys


def _annotate_item(item: _Item, file: ReposConfig, own_names: Sequence[str]) -> list[str]:
    """Apply the entries of one file; return the keys of those that describe the repository or one like it."""
    described = item.described
    by_name = file.keys_by_name(*own_names)
    own_keys = [*by_name, *file.keys_by_directory(*item.own_folders)]
    # A work tree of a clone may have an entry of its own.
    keys = [*by_name, *file.keys_by_directory(*item.own_folders, described.real_folder)]
    claimed_keys = [*keys, *file.keys_by_name(described.repository.name, name_from_folder(described.folder))]
    if keys and not item.note:
        item.note = file.repositories[keys[0]]

    # Any claim may make a repository private; only a claim that certainly means it may make it public.
    if _any_says(file, claimed_keys, is_private=True):
        item.is_private = True
    elif item.is_private is None and _any_says(file, own_keys, is_private=False):
        item.is_private = False
    return claimed_keys


def _any_says(file: ReposConfig, keys: Iterable[str], *, is_private: bool) -> bool:
    return any(file.repositories[key].get("private") is is_private for key in keys)


def _assign_names(items: Sequence[_Item], absent: Mapping[str, RepositoryRecord]) -> list[str]:
    """Name each repository, remembered names first; return warnings about clashes."""
    folder_by_name = {name_key(record.name): path for path, record in absent.items()}
    for item in items:
        record = item.record
        # Remembered names first: a repository that comes later can't take over a name, and with it its grants.
        if record is not None and record.claim == name_key(item.claim) and name_key(record.name) not in folder_by_name:
            item.name = record.name
            folder_by_name[name_key(item.name)] = item.described.folder

    unnamed = [item for item in items if not item.name]
    names, warnings = make_unique([(item.claim, item.described.folder) for item in unnamed], folder_by_name)
    for item, name in zip(unnamed, names, strict=True):
        item.name = name
        folder_by_name[name_key(name)] = item.described.folder

    for item in items:
        keeps_name = item.record is not None and item.name == item.record.name
        if keeps_name and name_key(item.name) != name_key(item.claim):
            holder = folder_by_name.get(name_key(item.claim), "")
            warnings.append(clash_warning(holder, item.described.folder, item.claim, item.name))

    absent_records = {name_key(record.name): record for record in absent.values()}
    new_claims = {name_key(item.claim) for item in items if item.record is None}
    for key in sorted(new_claims & absent_records.keys()):
        record = absent_records[key]
        warnings.append(
            f"the name {record.name} belongs to {record.canonical_path}, which is missing now; "
            f"free it with `sourcelight admin repo move` or `forget`"
        )

    return warnings


def _undecided_warning(items: Sequence[_Item], visibilities: Sequence[Visibility]) -> list[str]:
    names = sorted(item.name for item, visibility in zip(items, visibilities, strict=True) if visibility == "undecided")
    if not names:
        return []

    count = count_of(len(names), "repository")
    warning = (
        f"{count} without a decision, private until then: {join_names(names, 5)}; write `private = true` or "
        f"`false` for each, or {DEFAULT_VISIBILITY}, into repos.toml"
    )
    return [warning]


def _find_lenders(
    items: Sequence[_Item], visibilities: Sequence[Visibility], *, is_strict: bool
) -> dict[str, tuple[str, ...]]:
    """Map paths to the private repositories that they borrow objects from.

    With `is_strict`, an owner of objects that isn't known is private.
    """
    is_private = {
        item.canonical_path: visibility != "public" for item, visibility in zip(items, visibilities, strict=True)
    }
    owners = {item.described.git_common_dir: item.canonical_path for item in items}
    lenders: dict[str, tuple[str, ...]] = {}
    for item in items:
        sources = dict.fromkeys(_owner_of(source, owners) for source in item.described.sources)
        sources.pop(item.canonical_path, None)
        # A repository that reads a private one's objects can show its contents.
        private_sources = tuple(path for path in sources if is_private.get(path, is_strict))
        if private_sources:
            lenders[item.canonical_path] = private_sources

    return lenders


def _owner_of(source: str, owners: Mapping[str, str]) -> str:
    """Return the path of the repository whose git directory contains `source`; for an unknown one, the directory."""
    above = source
    while above not in owners:
        if above == os.path.dirname(above):
            return canonical_path_of(os.path.dirname(source))
        above = os.path.dirname(above)
    return owners[above]


def _make_info(item: _Item, *, is_private: bool) -> RepositoryInfo:
    """Return what is known of a repository, with its name and the values of its annotation."""
    values = dict(item.note)
    values["name"] = item.name
    values["private"] = is_private
    if "topics" in values:
        values["topics"] = tuple(values["topics"])

    if "metadata" in values:
        # A key without a value is written ``key = true``, since TOML has no null.
        values["metadata"] = {key: None if value is True else value for key, value in values["metadata"].items()}

    return replace(item.described.repository.info, **values)

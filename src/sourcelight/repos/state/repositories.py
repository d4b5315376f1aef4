"""Remembered repositories: which name belongs to which directory, and whether it is private.

The key of a repository is its canonical path, which its contents can't choose. A name stays with its path, and
private repositories stay private until the operator changes that, also after a restart and without `repos.toml`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sourcelight.core.errors import StateError
from sourcelight.repos.names import name_key
from sourcelight.repos.state.database import Database

Visibility = Literal["public", "private", "undecided"]


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    """The record of one repository.

    Parameters
    ----------
    canonical_path
        Its location, as `canonical_path_of` gives it.
    name
        The name it has.
    claim
        The name it would have if no other had it, case folded: several repositories may claim the same.
    origin
        Name by its origin or directory, case folded: the name that its owner gave it.
    visibility
        ``public`` or ``private`` by decision; ``undecided`` counts as private and binds no other clone.
    """

    canonical_path: str
    name: str
    claim: str
    origin: str
    visibility: Visibility


def is_canonical_path(text: str) -> bool:
    """Return whether `text` is a canonical path, not a name."""
    return os.path.isabs(text) or text.startswith("bytes:")


class RepositoryRegister:
    """The repositories that services of this installation have seen."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def all(self) -> list[RepositoryRecord]:
        """Return all records, oldest first."""
        rows = self._database.all("SELECT place, name, claim, origin, visibility FROM repositories ORDER BY rowid")
        return [RepositoryRecord(*row) for row in rows]

    def private_roots(self) -> frozenset[str]:
        """Return served directories below which a repository was ever made private."""
        return frozenset(root for (root,) in self._database.all("SELECT root FROM private_roots"))

    def save(
        self, records: Iterable[RepositoryRecord], released: Iterable[str] = (), private_roots: Iterable[str] = ()
    ) -> None:
        """Store new and changed records, delete records of `released` paths, add `private_roots`; all or nothing."""
        now_s = int(self._clock())
        with self._database.write() as connection:
            connection.executemany("DELETE FROM repositories WHERE place = ?", [(path,) for path in released])
            connection.executemany(
                "INSERT INTO repositories (place, name, claim, origin, visibility, seen_at) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (place) DO UPDATE SET name = excluded.name, claim = excluded.claim, "
                "origin = excluded.origin, visibility = excluded.visibility, seen_at = excluded.seen_at",
                [
                    (record.canonical_path, record.name, record.claim, record.origin, record.visibility, now_s)
                    for record in records
                ],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO private_roots VALUES (?, ?)", [(root, now_s) for root in private_roots]
            )

    def settings(self, path: str) -> str | None:
        """Return the last good text of the `repos.toml` at `path`, or None if none is stored."""
        row = self._database.first_row("SELECT text FROM repository_settings WHERE path = ?", path)
        return None if row is None else str(row[0])

    def save_settings(self, path: str, text: str) -> None:
        """Store the text of a `repos.toml` that was read without error."""
        # An unchanged text is not written, because each write makes all processes read permissions again.
        if self.settings(path) != text:
            sql = "INSERT OR REPLACE INTO repository_settings VALUES (?, ?, ?)"
            self._database.change(sql, path, text, int(self._clock()))

    def bind(self, paths: Mapping[str, str]) -> int:
        """Bind grants without a path to the repositories of these names; return how many."""
        with self._database.write() as connection:
            unbound = connection.execute(
                "SELECT DISTINCT repository FROM repository_grants WHERE place = ''"
            ).fetchall()
            bound = [(paths[name], name) for (name,) in unbound if name in paths]
            # OR REPLACE: the same account or role may already have a grant for the path.
            connection.executemany(
                "UPDATE OR REPLACE repository_grants SET place = ? WHERE place = '' AND repository = ?", bound
            )

        return len(bound)

    def resolve(self, repository: str) -> RepositoryRecord | None:
        """Find the one repository of a name or canonical path; return None when no service has seen it.

        Raises
        ------
        StateError
            If several directories claim the name: a grant must not lead to a repository that only calls itself so.
        """
        rows = self._database.all(
            "SELECT place, name, claim, origin, visibility FROM repositories WHERE place = ? OR name = ?",
            repository,
            repository,
        )
        records = [RepositoryRecord(*row) for row in rows]
        for record in records:
            if record.canonical_path == repository:
                return record

        if not records:
            return None

        record = records[0]
        other_paths = [path for path in self.claims(record.claim) if path != record.canonical_path]
        if other_paths and (len(records) > 1 or name_key(record.name) == record.claim):
            path_list = ", ".join([f"{record.canonical_path} (which has the name)", *other_paths])
            raise StateError(
                f"several directories claim the name {repository!r}: {path_list}; pass the directory instead"
            )

        return record

    def claims(self, claim: str) -> list[str]:
        """Return the canonical paths of the repositories that claim a name (case folded)."""
        return [path for (path,) in self._database.all("SELECT place FROM repositories WHERE claim = ?", claim)]

    def move(self, path: str, target: str) -> None:
        """Move name, privacy and grants of one path to another; raises `StateError` for an unknown path."""
        with self._database.write() as connection:
            if connection.execute("SELECT 1 FROM repositories WHERE place = ?", (path,)).fetchone() is None:
                raise StateError(
                    f"no repository was ever served from {path}; `sourcelight admin repo folders` lists directories"
                )
            connection.execute("DELETE FROM repositories WHERE place = ?", (target,))
            connection.execute("UPDATE repositories SET place = ? WHERE place = ?", (target, path))
            connection.execute("UPDATE OR REPLACE repository_grants SET place = ? WHERE place = ?", (target, path))

    def forget(self, path: str) -> None:
        """Delete a repository with its grants, so that its name is free; raises `StateError` for an unknown path."""
        with self._database.write() as connection:
            if not connection.execute("DELETE FROM repositories WHERE place = ?", (path,)).rowcount:
                raise StateError(
                    f"no repository was ever served from {path}; `sourcelight admin repo folders` lists directories"
                )
            connection.execute("DELETE FROM repository_grants WHERE place = ?", (path,))

"""What a catalog remembers of places: names and privacy, in this process or in the register of a service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sourcelight.core.errors import StateUnusable
from sourcelight.repos.names import name_key
from sourcelight.repos.repository import Repository
from sourcelight.repos.state import RepositoryRecord, RepositoryRegister


class PlaceMemory:
    """Records of places, those known for longest first.

    Attributes
    ----------
    register
        Where they are kept over restarts; None: nowhere, for somebody who searches their own files.
    private_roots
        Real paths of searched folders in which anything is or was private.
    """

    def __init__(self) -> None:
        self.register: RepositoryRegister | None = None
        self.records: dict[str, RepositoryRecord] = {}
        self.private_roots: frozenset[str] = frozenset()
        self._is_saved = True

    def keep_in(self, register: RepositoryRegister) -> None:
        """Take up what `register` knows, and keep everything there; what was seen in this process wins."""
        self.register = register
        self.records = {**{record.place: record for record in register.all()}, **self.records}
        self.private_roots |= register.private_roots()
        register.save(self.records.values(), private_roots=self.private_roots)

    def keep(self, records: Mapping[str, RepositoryRecord], private_roots: frozenset[str]) -> None:
        """Remember what was decided. A public place that is gone loses its name to one that took it."""
        names = {name_key(record.name) for record in records.values()}
        released = [
            place for place, record in self.records.items() if place not in records and name_key(record.name) in names
        ]
        changed = [record for place, record in records.items() if self.records.get(place) != record]
        if self._is_saved and not (changed or released) and private_roots <= self.private_roots:
            return
        for place in released:
            del self.records[place]
        self.records.update(records)
        self.private_roots |= private_roots
        if self.register is not None:
            try:
                self.register.save(changed if self._is_saved else self.records.values(), released, self.private_roots)
                self._is_saved = True
            except StateUnusable:  # it holds in this process; the next look at anything that changed tries again
                self._is_saved = False

    def bind_grants(self, repositories: Sequence[Repository]) -> None:
        """Tie grants by name to the places that have these names, unless several claim one."""
        if self.register is None:
            return
        claims = Counter(record.claim for record in self.records.values())
        places = {}
        for repository in repositories:
            claim = self.records[repository.place].claim
            if claims[claim] == 1 or name_key(repository.name) != claim:
                places[repository.name] = repository.place
        self.register.bind(places)

"""Who may see which repository: the one place that decides it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sourcelight.repos.repository import Repository


@dataclass(frozen=True, slots=True)
class Viewer:
    """Someone who asks.

    Parameters
    ----------
    name
        Account name; empty for an anonymous reader.
    sees_private
        Whether all private repositories exist for this viewer.
    granted
        Names of the private repositories that exist for this viewer all the same. For a caller who knows which
        repository has the name: not from what accounts were granted, since contents can claim names.
    only
        Names of the repositories that exist at all: what was planned for a worker of a cluster, by a service that
        knows who asks. None: no such bound.
    places
        Places of the private repositories that exist for this viewer all the same: what accounts were granted.
    """

    name: str
    sees_private: bool
    granted: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    places: frozenset[str] = frozenset()

    @classmethod
    def owner(cls) -> Viewer:
        """Whoever runs this process: sees everything."""
        return cls("owner", sees_private=True)

    @classmethod
    def anonymous(cls) -> Viewer:
        """A reader without a credential: sees public repositories."""
        return cls("", sees_private=False)

    def may_see(self, repository: Repository) -> bool:
        """Whether this repository exists for the viewer."""
        if self.only is not None and repository.facts.name not in self.only:
            return False
        return self.sees_private or not repository.facts.private or self._is_granted(repository)

    def _is_granted(self, repository: Repository) -> bool:
        """Whether a private repository is granted, and with it every private one whose objects it reads."""
        if repository.facts.name in self.granted:
            return self.granted.issuperset(repository.lender_names)
        return repository.place in self.places and self.places.issuperset(repository.lenders)


def visible(repositories: Iterable[Repository], viewer: Viewer) -> tuple[Repository, ...]:
    """The repositories that exist for `viewer`, in the order given."""
    if viewer.only is not None:
        return tuple([each for each in repositories if viewer.may_see(each)])
    if viewer.sees_private:
        return tuple(repositories)
    granted = viewer._is_granted  # noqa: SLF001 - the rule of this module
    return tuple([each for each in repositories if not each.facts.private or granted(each)])

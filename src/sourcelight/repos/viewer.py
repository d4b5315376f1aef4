"""Visibility of repositories by viewer. No other module decides it.

Imports nothing else, so that a service can recognize its callers before it loads repositories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.repos.repository import Repository


@dataclass(frozen=True, slots=True)
class Viewer:
    """A reader of repositories.

    Parameters
    ----------
    name
        Account name; empty for an anonymous reader.
    sees_private
        Whether all private repositories exist for this viewer.
    granted
        Names of private repositories that this viewer may see. Only for a caller that knows which repository has the
        name. Grants of accounts use `canonical_paths`, because contents of a repository can claim a name.
    only
        Names of the only repositories that this viewer may see: those that a service assigned to a worker of a
        cluster after it had checked the caller. None: no such restriction.
    canonical_paths
        Canonical paths of private repositories that this viewer may see: the grants of its account.
    """

    name: str
    sees_private: bool
    granted: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    canonical_paths: frozenset[str] = frozenset()

    @classmethod
    def owner(cls) -> Viewer:
        """Return the viewer for the user of this process, who sees everything."""
        return cls("owner", sees_private=True)

    @classmethod
    def anonymous(cls) -> Viewer:
        """Return a viewer without a credential, who sees public repositories."""
        return cls("", sees_private=False)

    def may_see(self, repository: Repository) -> bool:
        """Return whether this repository exists for the viewer."""
        if self.only is not None and repository.info.name not in self.only:
            return False
        return self.sees_private or not repository.info.private or self.is_granted(repository)

    def is_granted(self, repository: Repository) -> bool:
        """Return whether a private repository is granted, and every private one whose objects it reads."""
        if repository.info.name in self.granted:
            return self.granted.issuperset(repository.lender_names)
        return repository.canonical_path in self.canonical_paths and self.canonical_paths.issuperset(repository.lenders)


def visible(repositories: Iterable[Repository], viewer: Viewer) -> tuple[Repository, ...]:
    """Return the repositories that exist for `viewer`, in the order given."""
    if viewer.only is not None:
        # Lists are faster than generators, and this runs for thousands of repositories.
        return tuple([repository for repository in repositories if viewer.may_see(repository)])
    if viewer.sees_private:
        return tuple(repositories)
    granted = viewer.is_granted
    return tuple([repository for repository in repositories if not repository.info.private or granted(repository)])

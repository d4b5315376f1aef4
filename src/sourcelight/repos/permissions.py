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
        Whether private repositories exist for this viewer.
    """

    name: str
    sees_private: bool

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
        return self.sees_private or not repository.facts.private


def visible(repositories: Iterable[Repository], viewer: Viewer) -> tuple[Repository, ...]:
    """The repositories that exist for `viewer`, in the order given."""
    return tuple(repository for repository in repositories if viewer.may_see(repository))

"""Whose turn it is: which worker is asked for a repository next, and which were asked before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.backends.cluster.asking.members import Member, Members
from sourcelight.backends.cluster.asking.tried import Tried, poisoned


@dataclass(slots=True)
class Turns:
    """The workers of some repositories, and what became of asking them.

    Parameters
    ----------
    members
        Who is there.
    holders
        By repository its workers, in the order in which they are to be asked.

    Attributes
    ----------
    tried
        By repository the workers that did not answer for it, in the order in which they were asked.
    asked
        By repository the addresses that were asked.
    """

    members: Members
    holders: Mapping[str, tuple[Member, ...]] = field(default_factory=dict)
    tried: dict[str, list[Tried]] = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)

    def next(self, name: str) -> Member | None:
        """The next worker to ask; None when all were, or it is no use."""
        if name in self.tried and poisoned(self.tried[name]):
            return None
        asked = self.asked.get(name, ())
        live = self.members.addresses
        for member in self.holders.get(name, ()):
            if member.address in live and member.address not in asked:
                return member
        return None

    def groups(self, names: Sequence[str]) -> tuple[dict[Member, list[str]], list[str]]:
        """The repositories by the next worker to ask, and those without one."""
        groups: dict[Member, list[str]] = {}
        lost = []
        for name in names:
            member = self.next(name)
            if member is None:
                lost.append(name)
            else:
                groups.setdefault(member, []).append(name)
        return groups, lost

    def ask(self, member: Member, names: Sequence[str]) -> None:
        """Note that a worker is asked for these."""
        for name in names:
            self.asked.setdefault(name, set()).add(member.address)

    def why(self, name: str) -> tuple[Tried, ...]:
        """Why nobody answered for a repository: who was asked, or else those whom nobody asks, with their reasons."""
        return tuple(self.tried.get(name, ())) or self.members.absent

    def failed(self, name: str, tried: Tried) -> None:
        """Note that a worker did not answer for a repository."""
        self.tried.setdefault(name, []).append(tried)

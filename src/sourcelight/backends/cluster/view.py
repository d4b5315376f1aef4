"""A cluster as its administrator sees it: Dask's own client for own work, and where repositories are."""

from __future__ import annotations

from typing import Any

from sourcelight.backends.cluster.fleet import Fleet
from sourcelight.backends.cluster.wiring.addresses import dask_client
from sourcelight.core.errors import RepositoryNotFound


class ClusterView:
    """What `Client.cluster` gives: only for whoever opened the cluster itself, which is an administrator's right.

    Attributes
    ----------
    schedulers
        Addresses of the cells' schedulers.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.schedulers = fleet.schedulers
        self._fleet = fleet
        self._clients: list[Any] = []

    def __repr__(self) -> str:
        workers = self._fleet.run(self._live())
        generation = self._fleet.generation
        return (
            f"<Cluster {', '.join(self.schedulers)}: {len(workers)} workers, generation {generation.number}, "
            f"{len(generation.searchable)} repositories>"
        )

    @property
    def client(self) -> Any:
        """Dask's `Client` of the first cell, for own maps over repositories; made when it is first asked for."""
        if not self._clients:
            self._clients.append(dask_client(self.schedulers[0], self._fleet.tls))
        return self._clients[0]

    @property
    def workers(self) -> dict[str, str]:
        """Addresses of the workers that answer, by name."""
        return {member.name: member.address for member in self._fleet.run(self._live())}

    @property
    def generation(self) -> int:
        """Number of the generation that searches run over."""
        return self._fleet.generation.number

    def replicas(self, repository: str) -> list[str]:
        """Addresses of the workers that hold a repository, the preferred one first: for ``workers=`` of Dask.

        Raises `RepositoryNotFound` for a name that is none.
        """
        holders = self._fleet.holders()
        if repository not in holders:
            raise RepositoryNotFound(repository)
        return [member.address for member in holders[repository]]

    def close(self) -> None:
        """Close Dask's client, if there is one."""
        for client in self._clients:
            client.close()
        self._clients.clear()

    async def _live(self) -> tuple[Any, ...]:
        await self._fleet.members.ready()
        return self._fleet.members.live

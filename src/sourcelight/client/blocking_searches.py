"""The blocking searches of `Client`. A command has these alone: `Client` also loads tools and their methods.

On a small repository, loading those takes longer than the search.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from sourcelight.client.portal import blocking, blocking_generator, call, has_ended
from sourcelight.client.searches import SearchMethods
from sourcelight.core.backend import Backend


class BlockingSearches:
    """The twins of `SearchMethods`, and what their users need of a client besides.

    Parameters
    ----------
    client
        The awaited searches.
    """

    def __init__(self, client: SearchMethods) -> None:
        self._client = client

    def __enter__(self) -> Self:
        """Use the client in ``with``; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def backend(self) -> Backend:
        """The backend of this client."""
        return self._client.backend

    @property
    def services(self) -> Mapping[str, Any]:
        """The client of each service of a federation, by name; empty without a federation."""
        return self._client.services

    @property
    def last(self) -> Any:
        """The newest result of any kind; None before the first.

        A `SearchResult`, an `Export`, a `DeepSearchAnswer`, or the DataFrame of a tool. An interrupted or failed result
        has the rows that arrived; a tool that reports no rows while it runs leaves None.
        """
        return self._client.last

    search = blocking(SearchMethods.search)
    stream = blocking_generator(SearchMethods.stream)
    export = blocking(SearchMethods.export)
    count = blocking(SearchMethods.count)
    count_by = blocking(SearchMethods.count_by)
    count_table = blocking(SearchMethods.count_table)
    search_many = blocking(SearchMethods.search_many)
    explain = blocking(SearchMethods.explain)

    def close(self) -> None:
        """Release connections, threads and files; the client can't be used afterwards."""
        if not has_ended():  # otherwise the operating system frees everything
            call(self._client.aclose)

"""The fields of ``Query``: who asks, the site, searches and repositories."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError

from sourcelight.repos.state.accounts import SITE_ADMINISTRATOR
from sourcelight.server.http.graphql.code import GitRepository, find_repository
from sourcelight.server.http.graphql.reading import Fields, GraphRequest, graph_id
from sourcelight.server.http.graphql.results import Search
from sourcelight.server.identity import Principal

DEFAULT_PAGE = 1_000
_CLONE_SUFFIX = ".git"


@dataclass(frozen=True, slots=True)
class QueryRoot:
    """The root of one request.

    Parameters
    ----------
    request
        Engine, viewer and budget.
    principal
        Who asks.
    account
        The record of the account; None without one, or for the owner's token.
    version
        Version of the public API that is reported to clients.
    """

    request: GraphRequest
    principal: Principal
    account: Any
    version: str

    @property
    def current_user(self) -> Fields | None:
        """The account of the request; None without a credential."""
        name = self.principal.account
        if not name:
            return None

        number = self.account.id if self.account is not None else 0
        is_administrator = self.account is not None and SITE_ADMINISTRATOR in self.account.roles
        return Fields(
            id=graph_id("User", str(number)),
            username=name,
            display_name=None,
            database_id=number,
            site_admin=is_administrator,
            url=f"/users/{name}",
        )

    @property
    def site(self) -> Fields:
        """The version of the public API that this service follows."""
        return Fields(
            id=graph_id("Site", "site"),
            product_version=self.version,
            build_version=self.version,
            has_code_intelligence=False,
        )

    def search(self, version: str, query: str, pattern_type: str | None = None) -> Search:
        """Prepare a search."""
        return Search(self.request, query, version, pattern_type)

    def repository(self, name: str | None = None, clone_url: str | None = None) -> GitRepository | None:
        """Find a repository by name, or by the address it was cloned from."""
        self.request.budget.take_objects()
        if name is None and clone_url is None:
            raise GraphQLError("Name a repository: pass name, or cloneURL.")
        return find_repository(self.request, name if name is not None else _name_of(clone_url or ""))

    def repositories(
        self,
        *,
        cloned: bool,
        not_cloned: bool,
        indexed: bool,
        not_indexed: bool,
        order_by: str,
        descending: bool,
        first: int | None = None,
        after: str | None = None,
        query: str | None = None,
        names: list[str] | None = None,
    ) -> Connection:
        """List repositories by name; every one is cloned and indexed, or is about to be."""
        if order_by != "REPOSITORY_NAME":
            raise GraphQLError("Repositories can only be ordered by name; pass orderBy: REPOSITORY_NAME, or omit it.")

        fragment = (query or "").casefold()
        requested = None if names is None else set(names)
        sources = sorted(
            (
                source
                for source in self.request.repositories()
                if fragment in source.name.casefold() and (requested is None or source.name in requested)
            ),
            key=lambda source: source.name,
        )

        # All repositories count as cloned and as indexed, so a list of the others is empty.
        if not cloned or not indexed:
            sources = []

        del not_cloned, not_indexed
        # A cursor holds a name, not a position, so a list continues correctly after repositories were added or removed.
        if after and descending:
            start = len(sources) - bisect_left(sources, _position(after), key=lambda source: source.name)
        else:
            start = bisect_right(sources, _position(after), key=lambda source: source.name) if after else 0

        if descending:
            sources.reverse()

        end = start + max(DEFAULT_PAGE if first is None else first, 0)
        page = [GitRepository(self.request, source) for source in sources[start:end]]
        self.request.budget.take_objects(len(page))
        return Connection(page, len(sources), end < len(sources))


@dataclass(frozen=True, slots=True)
class Connection:
    """``RepositoryConnection``: a page of repositories."""

    nodes: list[GitRepository]
    total: int
    has_next_page: bool

    def total_count(self, precise: bool = False) -> int:  # noqa: FBT001, FBT002 - the schema's
        """Return how many repositories the whole list has."""
        del precise
        return self.total

    @property
    def page_info(self) -> Fields:
        """The cursor of the next page."""
        cursor = graph_id("name", self.nodes[-1].name) if self.nodes and self.has_next_page else None
        return Fields(end_cursor=cursor, has_next_page=self.has_next_page)


def _position(cursor: str) -> str:
    try:
        kind, _, name = base64.b64decode(cursor, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        kind, name = "", ""
    if kind != "name":
        raise GraphQLError("after is not a cursor; pass pageInfo.endCursor of an earlier answer unchanged.")
    return name


def _name_of(address: str) -> str:
    """Return the name of a repository that was cloned from an address: host and path, without ``.git``."""
    path = address.partition("://")[2] or address.replace(":", "/", 1)
    return path.rpartition("@")[2].removesuffix(_CLONE_SUFFIX).strip("/")

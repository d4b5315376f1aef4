"""Where the cells of a report lead: pages of the service that answered, else of the repository's code host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sourcelight.display.notebook.views.links import Link, LinkResolver

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports.model import LinkOf


class Links:
    """Addresses of commits, files, people and pull requests; empty texts where no page is known.

    Parameters
    ----------
    places
        What is known of pages.
    heads
        The commit of each repository, by name, at which its files and people are shown.
    """

    def __init__(self, places: LinkResolver, heads: Mapping[str, str]) -> None:
        self._places = places
        self._heads = heads

    def commit(self, repository: str, commit: str, url: str = "") -> str:
        """The page of a commit; `url` is what the service said, if anything."""
        row = {"type": "commit", "repository": repository, "commit": commit, "url": url}
        return _first(self._places.of(row))

    def file(self, repository: str, path: str) -> str:
        """The page of a file or, with a slash at its end, nothing: only some hosts have pages of folders."""
        commit = self._heads.get(repository, "")
        if not path or path.endswith("/") or not commit:
            return ""
        return _first(self._places.file(repository, commit, path))

    def request(self, repository: str, number: int) -> str:
        """The page of a pull or merge request."""
        return self._places.request(repository, number)

    def person(self, repository: str, address: str) -> str:
        """The page with someone's commits."""
        return self._places.person(repository, self._heads.get(repository, ""), address)

    def of_commits(self) -> LinkOf:
        """Links of rows of commits."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column not in {"commit", "subject"}:
                return ""
            return self.commit(_text(row, "repository"), _text(row, "commit"), _text(row, "url"))

        return link

    def of_files(self, repository: str = "") -> LinkOf:
        """Links of rows of files, of one repository where the rows name none."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column != "path" or _text(row, "status") == "deleted":
                return ""
            return self.file(_text(row, "repository") or repository, _text(row, "path"))

        return link

    def of_people(self, repository: str = "") -> LinkOf:
        """Links of rows of people; none where it isn't known in which one repository they are looked for."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column != "author":
                return ""
            return self.person(_text(row, "repository") or repository, _text(row, "author_email"))

        return link


def links_of(code: Client, heads: Mapping[str, str]) -> Links:
    """What is known of pages for the repositories of a client."""
    services = {name: client.backend.name for name, client in code.services.items()}
    if services:
        return Links(LinkResolver(services={name: url for name, url in services.items() if "://" in url}), heads)
    if not code.backend.local:
        return Links(LinkResolver(code.backend.name if "://" in code.backend.name else ""), heads)
    known = code.repositories()
    hosts = {
        str(name): str(url) for name, url in zip(known["repository"], known["url"].fillna(""), strict=True) if str(url)
    }
    return Links(LinkResolver("", hosts), heads)


def _first(links: tuple[Link, ...] | list[Link]) -> str:
    """The best address that works for whoever gets the report: not one of this machine's JupyterLab."""
    return next((link.href for link in links if link.kind != "lab"), "")


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    return value if isinstance(value, str) else ""

"""Links of the rows of an answer: the service's page, the code host, or a file in JupyterLab.

What is known of a code host is how it forms addresses of lines; a host that is not known gets no address, since a
wrong one is worse than none. Sources: the documentation of each host on permanent links.

JupyterLab names a file of this machine by the server's root directory and that of the running notebook.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from sourcelight.core.backend import no_folder
from sourcelight.core.batches.results import file_url, repository_url
from sourcelight.core.markup import escape, link, own_address

_ADDRESS = re.compile(
    r"/(?P<repository>[^@?#]+?)(?:@(?P<commit>[^/?#]+))?/-/"
    r"(?:blob/(?P<path>[^?#]+)(?:\?L(?P<line>\d{1,9})(?:-\d{1,9})?)?|commit/(?P<shown_commit>[0-9a-f]{7,64}))"
)
"""Paths of `file_url` and of commits, without a service in front."""


def lab_path(file: str) -> str:
    """Return a file's path at the Jupyter server that started this kernel; empty when it does not show the file."""
    root = _root(os.environ.get("JPY_PARENT_PID", ""))
    real = os.path.realpath(file)
    if not root or not real.startswith(root.rstrip(os.sep) + os.sep):
        return ""
    parts = Path(os.path.relpath(real, root)).parts
    # By default, the server hides names that begin with a dot.
    return "" if any(part.startswith(".") for part in parts) else "/".join(parts)


@lru_cache(maxsize=1)
def _root(server: str) -> str:
    """Return the root directory of the server with this process id, which started this kernel; empty without one."""
    if not server.isdigit():
        return ""

    try:
        from jupyter_core.paths import jupyter_runtime_dir

        server_info = json.loads(Path(jupyter_runtime_dir(), f"jpserver-{server}.json").read_text(encoding="utf-8"))
        return str(os.path.realpath(server_info["root_dir"]))
    except (ImportError, OSError, ValueError, KeyError, TypeError):
        return ""


def relative_to_notebook(file: str) -> str:
    """Return a file's address relative to the running notebook; it can't be read as one with a scheme."""
    notebook = os.environ.get("JPY_SESSION_NAME", "")
    directory = os.path.dirname(notebook) if os.path.isabs(notebook) else os.getcwd()  # noqa: PTH109, PTH120, PTH117
    relative = os.path.relpath(os.path.realpath(file), os.path.realpath(directory)).replace(os.sep, "/")
    return quote(relative if relative.startswith("../") else f"./{relative}", safe="/.")


Kind = Literal["service", "host", "lab"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link: its kind, its label, and its address.

    Of kind ``lab``, `href` is relative to the notebook and `path` the file's path at the Jupyter server.
    """

    kind: Kind
    words: str
    href: str
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class _Host:
    """Address patterns of a code host below a repository.

    ``{c}`` is a commit, ``{p}`` a path, ``{a}``-``{b}`` lines, ``{n}`` the number of a pull request, ``{e}`` an
    author's address; `request` and `person` are empty if a host has no such page.
    """

    words: str
    file: str
    line: str
    lines: str
    commit: str
    request: str = ""
    person: str = ""


_GITHUB = _Host("GitHub", "/blob/{c}/{p}", "#L{a}", "#L{a}-L{b}", "/commit/{c}", "/pull/{n}",
                "/commits/{c}?author={e}")  # fmt: skip
_GITLAB = _Host("GitLab", "/-/blob/{c}/{p}", "#L{a}", "#L{a}-{b}", "/-/commit/{c}", "/-/merge_requests/{n}",
                "/-/commits/{c}?author={e}")  # fmt: skip
_BITBUCKET = _Host("Bitbucket", "/src/{c}/{p}", "#lines-{a}", "#lines-{a}:{b}", "/commits/{c}", "/pull-requests/{n}")
_GITEA = _Host("Forgejo", "/src/commit/{c}/{p}", "#L{a}", "#L{a}-L{b}", "/commit/{c}", "/pulls/{n}")
_SOURCEHUT = _Host("sourcehut", "/tree/{c}/item/{p}", "#L{a}", "#L{a}-{b}", "/commit/{c}")
_GITILES = _Host("Gitiles", "/+/{c}/{p}", "#{a}", "#{a}", "/+/{c}")
_HOSTS: Mapping[str, _Host] = {
    "github.com": _GITHUB,
    "gitlab.com": _GITLAB,
    "bitbucket.org": _BITBUCKET,
    "codeberg.org": _GITEA,
    "gitea.com": _GITEA,
    "git.sr.ht": _SOURCEHUT,
}
_FIRST_LABELS: Mapping[str, _Host] = {"github": _GITHUB, "gitlab": _GITLAB, "gitea": _GITEA, "forgejo": _GITEA}


@dataclass(frozen=True, slots=True)
class LinkResolver:
    """Resolver of links for the rows of one answer.

    Parameters
    ----------
    base_url
        Address of the service that answered; empty in this process.
    hosts
        Address of each repository at its code host, by name.
    folder_of
        Gives the folder of a repository's work tree on this machine, or an empty text.
    services
        Addresses of the services of a federation by name: a row says which one it is of.
    """

    base_url: str = ""
    hosts: Mapping[str, str] = field(default_factory=dict)
    folder_of: Callable[[str], str] = no_folder
    services: Mapping[str, str] = field(default_factory=dict)

    def repository(self, name: str) -> str:
        """Return the address of a repository; empty when none is known."""
        return self.hosts.get(name) or (repository_url(self.base_url, name) if self.base_url and name else "")

    def of(self, row: Mapping[str, Any]) -> tuple[Link, ...]:
        """Return places of a row, best first.

        The row may have `repository`, `commit`, `path`, `line_number` or `start_line`, and of a service `url`.
        """
        if self.services:
            return replace(self, base_url=self.services.get(row.get("service") or "", ""), services={}).of(row)

        repository, path, commit = row.get("repository") or "", row.get("path") or "", row.get("commit") or ""
        line = int(row.get("line_number") or row.get("start_line") or 0)
        if row.get("type") in {"commit", "diff"}:
            return tuple(self._commit(repository, commit, row.get("url") or ""))
        if not path:
            return ()

        return tuple(self.file(repository, commit, path, line, row.get("url") or ""))

    def file(self, repository: str, commit: str, path: str, line: int = 0, url: str = "") -> list[Link]:
        """Return links to a file, or to a line of it; `url` is the service's link, if any."""
        links: list[Link] = []
        address = own_address(url, self.base_url) if url and self.base_url else ""

        # Selected columns may lack the repository; without it, and without an address, there is no location.
        if address or (self.base_url and repository):
            lines = (line, line) if line else None
            links.append(
                Link("service", "service", address or file_url(self.base_url, repository, commit, path, lines))
            )

        base, host = self.hosts.get(repository, ""), _host_of(self.hosts.get(repository, ""))
        if host is not None and commit:
            link = host.file.format(c=quote(commit, safe=""), p=quote(path))
            links.append(Link("host", host.words, base + link + (host.line.format(a=line, b=line) if line else "")))

        links += self._lab(repository, path, line)
        return links

    def _commit(self, repository: str, commit: str, url: str) -> list[Link]:
        links: list[Link] = []
        address = own_address(url, self.base_url) if url and self.base_url else ""
        if address:
            links.append(Link("service", "service", address))

        base, host = self.hosts.get(repository, ""), _host_of(self.hosts.get(repository, ""))
        if host is not None and commit:
            links.append(Link("host", host.words, base + host.commit.format(c=quote(commit, safe=""))))

        return links

    def commit(self, repository: str, commit: str) -> tuple[Link, ...]:
        """Return places of a commit."""
        return tuple(self._commit(repository, commit, ""))

    def of_address(self, url: str) -> tuple[Link, ...]:
        """Return the file, lines or commit that a relative address leads to, such as a citation of an answer.

        The address may come from anyone: it leads to known repositories, and not above their pages.
        """
        match = _ADDRESS.fullmatch(own_address(url))
        if match is None or self.base_url:
            return ()

        repository, commit = unquote(match["repository"]), unquote(match["commit"] or "")
        if match["shown_commit"]:
            return self.commit(repository, match["shown_commit"])

        path = unquote(match["path"])
        if {".", ".."} & set(re.split(r"[/\\]", path)):  # a browser would leave the repository's pages
            return ()

        return tuple(self.file(repository, commit, path, int(match["line"] or 0)))

    def request(self, repository: str, number: int) -> str:
        """Return the address of a pull or merge request at the code host; empty when none is known."""
        base, host = self.hosts.get(repository, ""), _host_of(self.hosts.get(repository, ""))
        if host is not None and host.request:
            return base + host.request.format(n=number)
        return ""

    def person(self, repository: str, commit: str, address: str) -> str:
        """Return the address of the code host's list of someone's commits up to a commit; empty when none is known."""
        base, host = self.hosts.get(repository, ""), _host_of(self.hosts.get(repository, ""))
        if host is None or not host.person or not commit or not address:
            return ""
        return base + host.person.format(c=quote(commit, safe=""), e=quote(address, safe=""))

    def _lab(self, repository: str, path: str, line: int) -> list[Link]:
        folder = self.folder_of(repository)
        if not folder or "\N{REPLACEMENT CHARACTER}" in path:
            return []

        file = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - only text; nothing is followed
        at_server = lab_path(file) if file.startswith(os.path.normpath(folder) + os.sep) else ""
        if not at_server or not os.path.isfile(file):  # noqa: PTH113
            return []

        # A line is counted from 0 in the fragment that JupyterLab's editor takes (RFC 5147).
        return [Link("lab", "JupyterLab", relative_to_notebook(file) + (f"#line={line - 1}" if line else ""),
                     at_server, line)]  # fmt: skip


def _host_of(url: str) -> _Host | None:
    """Return the URL forms of a code host; a name such as ``gitlab.example.org`` reveals its software."""
    try:
        name = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return None
    if name.endswith(".googlesource.com"):
        return _GITILES
    return _HOSTS.get(name) or _FIRST_LABELS.get(name.partition(".")[0])


def anchor(text: str, links: tuple[Link, ...] | list[Link], words: str = "") -> str:
    """Return HTML of `text`, as a link to the best of some places if there is one.

    A file in JupyterLab is a relative link, which JupyterLab opens in a tab of its own; all others open a new window.
    """
    if not links:
        return escape(text)

    first = links[0]
    if first.kind != "lab":
        html = link(text, first.href)
        return html.replace("<a ", f'<a title="{escape(words)}" ', 1) if words else html

    title = f' title="{escape(words or "Open in JupyterLab")}"'
    return f'<a href="{escape(first.href)}"{title}>{escape(text)}</a>'

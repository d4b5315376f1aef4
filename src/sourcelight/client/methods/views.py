"""Methods that show a file with highlighted lines, a commit's changes or a diff, and how a client is displayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.client.portal import blocking, call
from sourcelight.client.provenance import backend_id_of, backend_of
from sourcelight.core.arguments import checks_methods
from sourcelight.core.backend import Backend, HasBackend
from sourcelight.core.batches.events import RepositoryOverview
from sourcelight.core.errors import SourcelightError, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.display.notebook import ProgressChoice
from sourcelight.display.notebook.client_view import client_html, client_text
from sourcelight.display.notebook.frame_views import use_links
from sourcelight.display.notebook.views import LinkResolver

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.core.cells.compare import NotebookDiff
    from sourcelight.display.notebook.views.diff_view import DiffView
    from sourcelight.display.notebook.views.file_view import FileView


class Shower(Protocol):
    """The interface of `self` in these methods."""

    @property
    def backend(self) -> Backend:
        """The backend of the client."""

    async def read_file(self, repo: str, path: str, *, revision: str | None, progress: ProgressChoice) -> DataFrame:
        """Read a file."""

    async def commit_details(self, repo: str, revision: str, *, progress: ProgressChoice) -> DataFrame:
        """Show what one commit did."""

    async def compare_revisions(self, repo: str, base: str, head: str, *, progress: ProgressChoice) -> DataFrame:
        """Compare two revisions."""


@checks_methods
class ViewMethods:
    """Awaited methods that return views; each view has its DataFrame."""

    async def view_file(
        self: Shower,
        repo: str,
        path: str,
        lines: int | tuple[int, int] | Sequence[int] | None = None,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> FileView:
        """Show a file, with some lines highlighted.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Path of the file.
        lines
            A line, or the first and the last one, from 1; None: the file is shown from its beginning.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        FileView
            Shows itself in a notebook, with links to where the file can be opened; its `lines` are all lines.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound, PathNotFound
            The repository, revision or path doesn't exist, or isn't visible.
        ToolError
            The file doesn't have these lines.
        """
        from sourcelight.display.notebook.views.file_view import FileContent, FileView

        bounds = (lines, lines) if isinstance(lines, int) else tuple(lines or (0, 0))
        if len(bounds) != 2 or min(bounds) < (lines is not None) or bounds[0] > bounds[1]:
            raise ToolError(
                f"view_file: lines must be a line number or a pair of first and last, from 1; got {lines!r}",
                tool="view_file",
                argument="lines",
            )

        frame = await self.read_file(repo, path, revision=revision, progress=progress)
        if bounds[0] > len(frame):
            raise ToolError(
                f"view_file: {path} has {count_of(len(frame), 'line')}, not {bounds[0]:,}",
                tool="view_file",
                argument="lines",
            )

        commit = str(frame.attrs.get("commit") or "")
        texts = frame["line"].astype("object").tolist()
        content = FileContent(repo, commit, path, texts, *bounds, links=await links_of(self.backend))
        return FileView(content, frame)

    async def view_commit(self: Shower, repo: str, revision: str, *, progress: ProgressChoice = None) -> DiffView:
        """Show what one commit changed.

        Parameters
        ----------
        repo
            Name of the repository.
        revision
            The commit, or a branch or tag that names it.
        progress
            As in `search`.

        Returns
        -------
        DiffView
            Shows itself in a notebook: who, when, why, and the changed lines; its `files` are those of
            `commit_details`.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            The repository or the revision doesn't exist, or isn't visible.
        """
        frame = await self.commit_details(repo, revision, progress=progress)
        attrs = frame.attrs
        about = {
            "author": str(attrs.get("author") or ""),
            "author_email": str(attrs.get("author_email") or ""),
            "date": str(attrs.get("author_date") or "").replace("T", " ").replace("Z", " UTC"),
            "message": str(attrs.get("message") or ""),
        }
        head = str(attrs.get("commit") or revision)
        return await _diff(
            self, frame, repo=repo, ends=("", head), base=next(iter(attrs.get("parents") or ()), ""), about=about
        )

    async def view_diff(self: Shower, repo: str, base: str, head: str, *, progress: ProgressChoice = None) -> DiffView:
        """Show the differences between two revisions.

        Parameters
        ----------
        repo, base, head
            As in `compare_revisions`.
        progress
            As in `search`.

        Returns
        -------
        DiffView
            Shows itself in a notebook; its `files` are the rows of `compare_revisions`.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            The repository or the revision doesn't exist, or isn't visible.
        """
        frame = await self.compare_revisions(repo, base, head, progress=progress)
        revisions = (str(frame.attrs.get("base") or base), str(frame.attrs.get("head") or head))
        return await _diff(self, frame, repo=repo, ends=revisions, base=revisions[0], about={})


async def _diff(
    reader: Shower, frame: DataFrame, *, repo: str, ends: tuple[str, str], base: str, about: dict[str, str]
) -> DiffView:
    """Return the view of changes.

    `ends` are the commits of its title, and `base` is the commit before them, empty for none.
    """
    from sourcelight.display.notebook.views.diff_view import DiffContent, DiffView

    columns = ["path", "old_path", "status", "additions", "deletions", "binary", "patch", "truncated"]
    part = frame[columns].astype("object")
    rows = part.where(part.notna(), None).itertuples(index=False, name=None)
    files: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in rows]
    notebooks = await _notebooks(reader, files, repo=repo, base=base, head=ends[1])
    notices = tuple(frame.attrs.get("notices", ()))
    links = await links_of(reader.backend)
    return DiffView(DiffContent(repo, *ends, files, about, links, notices, notebooks), frame)


async def _notebooks(
    reader: Shower, files: Sequence[Mapping[str, Any]], *, repo: str, base: str, head: str
) -> dict[str, NotebookDiff]:
    """Return the cells that differ in the first changed notebooks, by path."""
    from sourcelight.core.cells.compare import changed_notebooks, compare_versions

    async def version(path: str, commit: str) -> tuple[str, list[str]] | None:
        if not path:
            return None
        lines = await reader.read_file(repo, path, revision=commit, progress=False)
        return path, lines["line"].astype("object").tolist()

    diffs = {}
    for path, old_path, new_path in changed_notebooks(files, base):
        try:
            old, new = await version(old_path, base), await version(new_path, head)
        except SourcelightError:
            continue  # its patch is shown: a version is missing, too large or no text
        diff = compare_versions(old, new)
        if diff is not None:
            diffs[path] = diff

    return diffs


async def links_of(backend: Backend) -> LinkResolver:
    """Return links to files that a backend can open; a service has its own pages, so no request is sent."""
    if not backend.local:
        return LinkResolver(backend.name if "://" in backend.name else "")
    hosts = {fact.name: fact.url for fact in await backend.repositories() if fact.url}
    return LinkResolver("", hosts, backend.features.folder_of)


def links_by_attrs(attrs: Mapping[Any, Any]) -> LinkResolver:
    """Return the links of an answer by the `attrs` of its frame; none if its client is closed or this is its loop."""
    try:
        return call(links_of, backend_of(attrs))
    except (SourcelightError, RuntimeError):
        return LinkResolver()


use_links(links_by_attrs)


class BlockingViewMethods:
    """The twins of `ViewMethods`."""

    view_file = blocking(ViewMethods.view_file)
    view_commit = blocking(ViewMethods.view_commit)
    view_diff = blocking(ViewMethods.view_diff)


class ShowsOverview:
    """A client that shows its repositories, their sizes, and which indexes are ready. Asks no service."""

    def __repr__(self: HasBackend) -> str:
        return client_text(type(self).__name__, self.backend.name, _overview(self.backend))

    def _repr_html_(self: HasBackend) -> str:
        backend = self.backend
        attrs = {"endpoint": backend.name, "backend_id": backend_id_of(backend)}
        return client_html(type(self).__name__, backend.name, _overview(backend), links_by_attrs(attrs))


def _overview(backend: Backend) -> tuple[RepositoryOverview, ...] | None:
    """Return the data that the backend has without a request, or None for a service and for a closed client."""
    try:
        return backend.features.overview()
    except (SourcelightError, OSError, RuntimeError):
        return None

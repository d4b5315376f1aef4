"""Methods about navigation: definitions, references, outlines, calls, and the graph of imports."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from sourcelight.client.methods.call import Texts, ToolCaller, texts
from sourcelight.client.portal import blocking, blocking_generator
from sourcelight.client.progress import arriving
from sourcelight.core.arguments import checks_methods
from sourcelight.core.errors import MissingExtra
from sourcelight.core.markup import count_of, visible
from sourcelight.core.tools import navigation
from sourcelight.display.notebook import ProgressChoice
from sourcelight.display.notebook.frame_views import links_of

if TYPE_CHECKING:
    from pandas import DataFrame


class DependencyGraph:
    """Imports between repositories, as nodes and edges.

    Parameters
    ----------
    edges
        One row per source, target and module; columns as in ``columns_of("dependencies")``.
    """

    def __init__(self, edges: DataFrame) -> None:
        self.edges = edges

    def __len__(self) -> int:
        return len(self.edges)

    def __repr__(self) -> str:
        inner = int((~self.edges["external"]).sum())
        count = len(self.edges.attrs.get("repositories", ()))
        edges = f"{count_of(inner, 'edge')} among them, {len(self) - inner:,} to others"
        return f"DependencyGraph({count_of(count, 'repository')}, {edges})"

    def _repr_html_(self) -> str:
        from sourcelight.display.notebook.frame_views.table import frame_html, is_answer

        if is_answer(self.edges):
            return frame_html(self.edges, links_of)
        return visible(self.edges.to_html())

    def to_networkx(self) -> Any:
        """Make a ``networkx.MultiDiGraph`` of it, keyed by module.

        Nodes are repositories, and modules of no repository (``external`` true). Edges have ``module``, ``files`` and
        ``imports``.

        Raises
        ------
        MissingExtra
            networkx is not installed.
        """
        try:
            networkx = importlib.import_module("networkx")
        except ImportError as error:
            raise MissingExtra("networkx", "to_networkx") from error

        graph = networkx.MultiDiGraph()
        graph.add_nodes_from(self.edges.attrs.get("repositories", ()), external=False)
        for edge in self.edges.to_dict("records"):
            graph.add_node(edge["target"], external=bool(edge["external"]))
            graph.add_edge(
                edge["source"],
                edge["target"],
                key=edge["module"],
                module=edge["module"],
                files=int(edge["files"]),
                imports=int(edge["imports"]),
            )

        return graph


@checks_methods
class NavigationMethods:
    """Awaited methods about navigation."""

    async def go_to_definition(
        self: ToolCaller,
        repo: str,
        path: str,
        symbol: str,
        revision: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find where a symbol that a file uses is defined, in the same repository or another one.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            The file in which the symbol is used.
        symbol
            Its plain name.
        revision
            Branch, tag or commit; None: the default branch.
        line, column
            Position: 1-based line, and code points before it on that line. Without them, every use in the file votes,
            because one name may mean several things.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            Up to ten candidates, the best first; columns as in ``columns_of("definitions")``. ``how`` is the method
            that found each, ``precise`` whether an index file of a compiler confirms it.
        """
        arguments = navigation.GoToDefinitionArguments(
            repo=repo, path=path, symbol=symbol, revision=revision, line=line, column=column
        )
        return await self._call(navigation.GO_TO_DEFINITION, arguments, progress)

    async def find_references(
        self: ToolCaller,
        repo: str,
        path: str,
        symbol: str,
        revision: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find the places that use a symbol, in its repository and in repositories that import it.

        Parameters
        ----------
        repo, path, symbol, revision, line, column
            As in `go_to_definition`; `path` is the file in which the symbol is defined.
        limit
            Maximum number of references; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per place, the definition itself included; columns as in ``columns_of("references")``.
            ``attrs["left_out"]`` counts uses of that name whose meaning is unknown.
        """
        arguments = navigation.FindReferencesArguments(
            repo=repo, path=path, symbol=symbol, revision=revision, line=line, column=column, limit=limit
        )
        return await self._call(navigation.FIND_REFERENCES, arguments, progress)

    async def stream_references(
        self: ToolCaller,
        repo: str,
        path: str,
        symbol: str,
        revision: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
        limit: int | None = None,
        progress: ProgressChoice = False,
    ) -> AsyncGenerator[DataFrame, None]:
        """Yield the uses of a symbol as they arrive; leaving the loop ends the search.

        Parameters
        ----------
        repo, path, symbol, revision, line, column, limit
            As in `find_references`.
        progress
            As in `search`, but without a display by default.

        Yields
        ------
        DataFrame
            Rows with the columns of `find_references`, each once, in the order of the search: first those of the
            definition's file. The last DataFrame has the ``attrs`` of the complete result, and no rows unless it is
            the only one: a service returns all rows at the end.
        """
        from sourcelight.display.frames.facts import answer_frame

        arguments = navigation.FindReferencesArguments(
            repo=repo, path=path, symbol=symbol, revision=revision, line=line, column=column, limit=limit
        )
        wire_arguments = arguments.to_wire()
        async with aclosing(arriving(self.backend, "references", "find_references", wire_arguments, progress)) as parts:
            async for part in parts:
                yield answer_frame(part)

    async def symbols(
        self: ToolCaller,
        repo: str,
        kind: Texts | None = None,
        path: str | None = None,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the definitions of a repository.

        Parameters
        ----------
        repo
            Name of the repository.
        kind
            Kinds to give, such as ``class`` or ``["function", "method"]``; None: all.
        path
            A file, or a directory with everything below it; None: the whole repository.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per definition, by path and line; columns as in ``columns_of("symbols")``.
        """
        arguments = navigation.SymbolsArguments(repo=repo, kind=texts(kind), path=path, revision=revision)
        return await self._call(navigation.SYMBOLS, arguments, progress)

    async def outline(
        self: ToolCaller, repo: str, path: str, revision: str | None = None, *, progress: ProgressChoice = None
    ) -> DataFrame:
        """List the definitions of one file with their depth.

        Parameters
        ----------
        repo, path
            The file.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per definition, in order of the text; columns as in ``columns_of("symbols")``.
        """
        return await self._call(
            navigation.OUTLINE, navigation.OutlineArguments(repo=repo, path=path, revision=revision), progress
        )

    async def imports(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the imports of a repository's files, and the file that each import refers to.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            A file, or a directory with everything below it; None: the whole repository.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per imported thing, by path and line; columns as in ``columns_of("imports")``.
        """
        return await self._call(
            navigation.IMPORTS, navigation.ImportsArguments(repo=repo, path=path, revision=revision), progress
        )

    async def dependency_graph(
        self: ToolCaller, repos: Texts | None = None, *, external: bool = True, progress: ProgressChoice = None
    ) -> DependencyGraph:
        """Find which repositories import which, from what their files import.

        Parameters
        ----------
        repos
            Repositories whose imports are read; None: all of them.
        external
            Whether to include modules that no repository here has.
        progress
            As in `search`.

        Returns
        -------
        DependencyGraph
            ``.edges`` is a DataFrame with columns as in ``columns_of("dependencies")``;
            ``.to_networkx()`` makes a graph of it.
        """
        arguments = navigation.DependencyGraphArguments(repos=texts(repos), external=external)
        return DependencyGraph(await self._call(navigation.DEPENDENCY_GRAPH, arguments, progress))

    async def repo_map(
        self: ToolCaller,
        repo: str,
        limit: int = 200,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Show a repository on a page: the definitions that matter most, file by file.

        Parameters
        ----------
        repo
            Name of the repository.
        limit
            Maximum number of lines.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per line of the map; columns as in ``columns_of("repository_map")``. Join its
            ``text`` with newlines to read the map.
        """
        arguments = navigation.RepoMapArguments(repo=repo, limit=limit, revision=revision)
        return await self._call(navigation.REPO_MAP, arguments, progress)

    async def callers(
        self: ToolCaller,
        repo: str,
        path: str,
        symbol: str,
        depth: int = 1,
        revision: str | None = None,
        *,
        line: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find who calls a function, and who calls these, to a depth.

        Parameters
        ----------
        repo, path, symbol, revision, line
            As in `find_references`.
        depth
            Number of calls to follow.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per call, the nearest first; columns as in ``columns_of("calls")``.
        """
        arguments = navigation.CallGraphArguments(
            repo=repo, path=path, symbol=symbol, depth=depth, revision=revision, line=line
        )
        return await self._call(navigation.CALLERS, arguments, progress)

    async def callees(
        self: ToolCaller,
        repo: str,
        path: str,
        symbol: str,
        depth: int = 1,
        revision: str | None = None,
        *,
        line: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find the functions that a function calls, and their callees, up to a depth.

        Parameters
        ----------
        repo, path, symbol, revision, line
            As in `find_references`.
        depth
            Number of calls to follow.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per call, the nearest first; columns as in ``columns_of("calls")``.
        """
        arguments = navigation.CallGraphArguments(
            repo=repo, path=path, symbol=symbol, depth=depth, revision=revision, line=line
        )
        return await self._call(navigation.CALLEES, arguments, progress)


class BlockingNavigationMethods:
    """The same methods for `Client`, which block."""

    go_to_definition = blocking(NavigationMethods.go_to_definition)
    find_references = blocking(NavigationMethods.find_references)
    stream_references = blocking_generator(NavigationMethods.stream_references)
    symbols = blocking(NavigationMethods.symbols)
    outline = blocking(NavigationMethods.outline)
    imports = blocking(NavigationMethods.imports)
    dependency_graph = blocking(NavigationMethods.dependency_graph)
    repo_map = blocking(NavigationMethods.repo_map)
    callers = blocking(NavigationMethods.callers)
    callees = blocking(NavigationMethods.callees)

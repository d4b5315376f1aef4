"""Methods about the evolution of one thing: a file, a directory, a definition, an interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client.methods.call import ToolCaller
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools import evolution
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class EvolutionMethods:
    """Awaited methods about the evolution of one thing."""

    async def path_history(
        self: ToolCaller,
        repo: str,
        path: str,
        revision: str | None = None,
        *,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the changes of a file or directory, followed back through renames.

        Each branch is followed by itself, so a name that two branches use for two files is not mixed up. Files that
        were moved into a directory keep their earlier changes, and a directory that was renamed as a whole keeps its
        own. Merges change no file, and copies are not followed.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Path of the file or directory at the revision, or of a path removed before it; ``"."`` or empty: all files.
        revision
            Branch, tag or commit; None: the default branch.
        limit
            Maximum number of changes, the newest first; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per changed file and commit, newest first; columns as in ``columns_of("path_history")``.

        Raises
        ------
        PathNotFound
            Neither the revision nor a commit before it has the path.
        """
        arguments = evolution.PathHistoryArguments(repo=repo, path=path, revision=revision, limit=limit)
        return await self._call(evolution.PATH_HISTORY, arguments, progress)

    async def symbol_history(
        self: ToolCaller,
        repo: str,
        symbol: str,
        path: str | None = None,
        revision: str | None = None,
        *,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the changes of a function, class or other definition, followed through files and names.

        A commit counts when the text of the definition differs before and after it, decorators included. Where the
        definition begins, the commit is searched for its predecessor: a definition that the file lost, or one of the
        same name that another file lost, with at least half of its lines. The parents of a merge are searched in the
        same way if none has the text of the merge.

        Parameters
        ----------
        repo
            Name of the repository.
        symbol
            Name of the definition, or more of it: ``send``, ``Client.send``. A line after it,
            as in ``Client.timeout:12``, tells overloads and setters apart.
        path
            File that has it at the revision; None: whichever file has the only definition of the name.
        revision
            Branch, tag or commit; None: the default branch.
        limit
            Maximum number of changes, the newest first; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per commit that changed the definition, newest first; columns as in
            ``columns_of("symbol_history")``.

        Raises
        ------
        ToolError
            The definition doesn't exist, or there are several; the message names them.
        """
        arguments = evolution.SymbolHistoryArguments(
            repo=repo, symbol=symbol, path=path, revision=revision, limit=limit
        )
        return await self._call(evolution.SYMBOL_HISTORY, arguments, progress)

    async def api_changes(
        self: ToolCaller,
        repo: str,
        base: str,
        head: str,
        path: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the public symbols that two revisions differ in: added, removed, moved, or with another signature.

        Go, Java, Python and TypeScript are read, without tests, examples and what each language calls internal;
        `docs/reports.md` has the rules with their sources. A signature is a text: names of parameters count.

        Parameters
        ----------
        repo
            Name of the repository.
        base, head
            The older and the newer branch, tag or commit.
        path
            Directory or file to look at; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per symbol, by module and name; columns as in ``columns_of("api_changes")``.
        """
        arguments = evolution.ApiChangesArguments(repo=repo, base=base, head=head, path=path)
        return await self._call(evolution.API_CHANGES, arguments, progress)


class BlockingEvolutionMethods:
    """The same methods for `Client`, which block."""

    path_history = blocking(EvolutionMethods.path_history)
    api_changes = blocking(EvolutionMethods.api_changes)
    symbol_history = blocking(EvolutionMethods.symbol_history)

"""Methods that follow a text through history, and that list branches and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client.methods.call import ToolCaller
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools.inspection import HISTORY_OF, LIST_REFS, HistoryOfArguments, ListRefsArguments
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class InspectionMethods:
    """Awaited methods that list refs, and the commits of a text."""

    async def history_of(
        self: ToolCaller,
        repo: str,
        text: str | None = None,
        path: str | None = None,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        use_regex: bool | None = None,
        revision: str | None = None,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Follow a text or lines of a file through history: the commits that brought, removed or changed them.

        Parameters
        ----------
        repo
            Name of the repository.
        text
            Text within one line. Commits count that change how often it occurs in a file, so moved lines don't.
        path
            File to look in; of a text, a glob or path prefix will do.
        start_line, end_line
            Without a text: the lines to follow, from 1 and inclusive, as ``git log -L`` does.
        use_regex
            Read the text as RE2 and respect case.
        revision
            Branch, tag or commit; None: the default branch.
        limit
            Maximum number of changes, the newest first; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per commit and file, newest first; columns as in ``columns_of("text_history")``.

        Raises
        ------
        ToolError
            Unless either a text, or a path and lines are given; and for lines that the file does not have.
        """
        arguments = HistoryOfArguments(
            repo=repo, text=text, path=path, start_line=start_line, end_line=end_line,
            use_regex=use_regex, revision=revision, limit=limit,
        )  # fmt: skip
        return await self._call(HISTORY_OF, arguments, progress)

    async def list_refs(
        self: ToolCaller,
        repo: str,
        query: str | None = None,
        *,
        kind: str | None = None,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the branches and tags of a repository.

        Parameters
        ----------
        repo
            Name of the repository.
        query
            Text that the name has to contain, ignoring case; None: all.
        kind
            ``branch`` or ``tag``; None: both.
        limit
            Maximum number of rows, the newest first; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per ref, newest first; columns as in ``columns_of("refs")``.
        """
        arguments = ListRefsArguments(repo=repo, query=query, kind=kind, limit=limit)
        return await self._call(LIST_REFS, arguments, progress)


class BlockingInspectionMethods:
    """The same methods for `Client`, which block."""

    history_of = blocking(InspectionMethods.history_of)
    list_refs = blocking(InspectionMethods.list_refs)

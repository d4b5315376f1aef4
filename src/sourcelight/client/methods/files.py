"""Methods about repositories, files and text: the tools that every service has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client.methods.call import ToolCaller
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools import files
from sourcelight.core.tools.inspection import VERIFY, VerifyArguments
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class ToolMethods:
    """Awaited methods about repositories, files and text."""

    async def list_repos(
        self: ToolCaller,
        query: str = "",
        limit: int | None = None,
        cursor: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the repositories that can be searched, optionally only names that contain a text.

        Parameters
        ----------
        query
            Text in the name, ignoring case; empty: all repositories.
        limit
            Maximum number of repositories, as one page; None: all.
        cursor
            ``attrs["end_cursor"]`` of the previous page, to get the next one.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per repository, by name; columns as in ``columns_of("repository_list")``.
        """
        arguments = files.ListReposArguments(query=query, limit=limit, after=cursor)
        return await self._call(files.LIST_REPOS, arguments, progress)

    async def list_files(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the entries of a directory.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Path of the directory; None: the root.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per entry, directories first; columns as in ``columns_of("files")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound, PathNotFound
            The repository, revision or path doesn't exist, or isn't visible.
        """
        return await self._call(
            files.LIST_FILES, files.ListFilesArguments(repo=repo, path=path, revision=revision), progress
        )

    async def read_file(
        self: ToolCaller,
        repo: str,
        path: str,
        start_line: int | None = None,
        end_line: int | None = None,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Read a file, or some of its lines; of a service, a large file is read in parts.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Path of the file.
        start_line, end_line
            First and last line, from 1 and inclusive; None: the first and the last of the file.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per line; columns as in ``columns_of("file_lines")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound, PathNotFound
            The repository, revision or path doesn't exist, or isn't visible.
        """
        arguments = files.ReadFileArguments(
            repo=repo, path=path, start_line=start_line, end_line=end_line, revision=revision
        )
        return await self._call(files.READ_FILE, arguments, progress)

    async def keyword_search(self: ToolCaller, query: str, *, progress: ProgressChoice = None) -> DataFrame:
        """Search for exact words.

        Parameters
        ----------
        query
            Words, joined by AND unless ``OR`` and parentheses say otherwise; a quoted text is one word. Filters
            ``repo:``, ``file:`` and ``rev:`` narrow it.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per matching chunk of a file, best first; columns as in ``columns_of("found_chunks")``.

        Raises
        ------
        QueryError
            The query can't be parsed.
        """
        return await self._call(files.KEYWORD_SEARCH, files.KeywordSearchArguments(query=query), progress)

    async def nls_search(
        self: ToolCaller, query: str, limit: int | None = files.BEST_PLACES, *, progress: ProgressChoice = None
    ) -> DataFrame:
        """Search in natural language: words in any of their forms, the best matching chunks of code first.

        Parameters
        ----------
        query
            The question in plain words. Filters ``repo:``, ``file:`` and ``rev:`` narrow it.
        limit
            Maximum number of chunks, 1 to 1,000; None: all that share a word with the query.
            Other services have their own limits.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per chunk of a file, best first; columns as in ``columns_of("found_chunks")``. ``score`` is 1 for
            the best one; ``attrs["matched_files"]`` counts the files that share a word with the query, if the service
            counts them.

        Raises
        ------
        QueryError
            The query can't be parsed.
        """
        return await self._call(files.NLS_SEARCH, files.NlsSearchArguments(query=query, limit=limit), progress)

    async def verify(
        self: ToolCaller,
        markdown: str,
        repo: str | None = None,
        revision: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Check the citations of a text against git: links to lines, ``path:12``, ``path#L3-L9``, quoted code.

        A block of code is a quote if a citation is on the line before or after it, or on the line of its fence.

        Parameters
        ----------
        markdown
            The text. Nothing in it is downloaded or run.
        repo
            Repository for citations that name none; None: the only repository that has the file.
        revision
            Branch, tag or commit of citations without one; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per citation, in the order of the text; columns as in ``columns_of("citations")``. ``attrs`` has the
            numbers of ``verified``, ``moved`` and ``rejected`` ones.
        """
        return await self._call(VERIFY, VerifyArguments(markdown=markdown, repo=repo, revision=revision), progress)


class BlockingToolMethods:
    """The same methods for `Client`, which block."""

    list_repos = blocking(ToolMethods.list_repos)
    list_files = blocking(ToolMethods.list_files)
    read_file = blocking(ToolMethods.read_file)
    keyword_search = blocking(ToolMethods.keyword_search)
    nls_search = blocking(ToolMethods.nls_search)
    verify = blocking(ToolMethods.verify)

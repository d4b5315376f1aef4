"""Methods about history: commits, diffs, comparisons, and the commits behind rows of analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.client.methods.call import Date, Texts, ToolCaller, date_text, several_authors, single_author, texts
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.batches.results import drill_down
from sourcelight.core.errors import ToolError
from sourcelight.core.markup import count_of
from sourcelight.core.tools import commits
from sourcelight.core.tools.catalog import find_tool
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class HistoryMethods:
    """Awaited methods about history.

    Dates are committer dates in UTC and both bounds are exclusive: texts such as ``2024-06-28`` or ``2 weeks ago``,
    or Python dates. `repos` are exact names; None: every repository. `drill_down` lists the commits behind a row
    of a frame, as the frame's ``attrs["drill_down"]`` says.
    """

    async def commit_search(  # noqa: PLR0913 - the tool's own parameters
        self: ToolCaller,
        repos: Texts | None = None,
        message_terms: Texts | None = None,
        authors: Texts | None = None,
        content_terms: Texts | None = None,
        files: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        *,
        limit: int | None = None,
        use_regex: bool | None = None,
        revisions: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find commits. Texts of one list are alternatives; different lists must all hold.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        message_terms
            Texts in the message.
        authors
            Parts of the author's name or address, as written or as the mailmap has them.
        content_terms
            Texts in an added or removed line.
        files
            Globs or path prefixes of changed files.
        after, before
            Bounds of the committer date.
        limit
            Maximum number of commits, the newest first; None: all.
        use_regex
            Read texts as RE2 and respect case; default: literal, ignoring case.
        revisions
            Branches, tags or commits. Searches the commits reachable from any of them, except commits reachable from a
            revision with ``^``, as in ``["v2.0", "^v1.0"]``. None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per commit, newest first; columns as in ``columns_of("commits")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            The repository or the revision doesn't exist, or isn't visible.
        ToolError
            A date or a pattern can't be parsed.
        """
        arguments = commits.CommitSearchArguments(
            repos=texts(repos) or (),
            message_terms=texts(message_terms),
            authors=texts(authors),
            content_terms=texts(content_terms),
            files=texts(files),
            after=date_text(after),
            before=date_text(before),
            limit=limit,
            use_regex=use_regex,
            revisions=texts(revisions),
        )
        return await self._call(commits.COMMIT_SEARCH, arguments, progress)

    async def diff_search(  # noqa: PLR0913 - the tool's own parameters
        self: ToolCaller,
        pattern: str,
        repos: Texts | None = None,
        added: bool | None = None,  # noqa: FBT001 - positional in the service's order
        removed: bool | None = None,  # noqa: FBT001 - positional in the service's order
        authors: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        *,
        files: Texts | None = None,
        limit: int | None = None,
        use_regex: bool | None = None,
        revisions: Texts | None = None,
        changes: str | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find added and removed lines. Messages are not searched; merges have no changes of their own.

        Parameters
        ----------
        pattern
            Text to find within one line.
        repos
            Names of the repositories; None: all.
        added, removed
            Search only added or only removed lines; neither or both: all.
        authors
            Parts of the author's name or address, as written or as the mailmap has them.
        after, before
            Bounds of the committer date.
        files
            Globs or path prefixes of changed files.
        limit
            Maximum number of commits whose lines are returned, the newest first; None: all.
        use_regex
            Read texts as RE2 and respect case; default: literal, ignoring case.
        revisions
            As in `commit_search`. None: the default branch.
        changes
            ``lines``: a matching line was added or removed. ``count``: the number of matches in the file changed.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per changed line that matches; columns as in ``columns_of("diff_lines")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            The repository or the revision doesn't exist, or isn't visible.
        ToolError
            A date or a pattern can't be parsed.
        """
        arguments = commits.DiffSearchArguments(
            pattern=pattern,
            repos=texts(repos) or (),
            added=added,
            removed=removed,
            author=single_author(authors),
            authors=several_authors(authors),
            files=texts(files),
            after=date_text(after),
            before=date_text(before),
            limit=limit,
            use_regex=use_regex,
            revisions=texts(revisions),
            changes=changes,
        )
        return await self._call(commits.DIFF_SEARCH, arguments, progress)

    async def compare_revisions(
        self: ToolCaller,
        repo: str,
        base: str,
        head: str,
        limit: int | None = None,
        cursor: str | None = None,
        *,
        stat: bool | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Compare two revisions, as ``git diff -M base head`` does.

        Parameters
        ----------
        repo
            Name of the repository.
        base, head
            The older and the newer branch, tag or commit; ``~2`` or ``^`` may follow.
        limit
            Maximum number of files, as one page; None: all.
        cursor
            ``attrs["end_cursor"]`` of the previous page, to get the next one.
        stat
            Whether to leave the patches out, as ``git diff --stat`` does; `patch` is null then.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per changed file with its patch; columns as in ``columns_of("file_diffs")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            The repository or the revision doesn't exist, or isn't visible.
        ToolError
            The cursor belongs to another comparison.
        """
        arguments = commits.CompareRevisionsArguments(
            repo=repo, base=base, head=head, limit=limit, cursor=cursor, stat=stat
        )
        return await self._call(commits.COMPARE_REVISIONS, arguments, progress)

    async def get_contributor_repos(
        self: ToolCaller,
        authors: Texts,
        limit: int | None = None,
        min_commits: int | None = None,
        *,
        use_regex: bool | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the repositories in which someone has commits.

        Parameters
        ----------
        authors
            Parts of a name or address, ignoring case; any of them counts.
        limit
            Maximum number of repositories; None: all.
        min_commits
            At least this many commits.
        use_regex
            Read `authors` as RE2.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per repository, most commits first; columns as in ``columns_of("contributor_repositories")``.
        """
        arguments = commits.GetContributorReposArguments(
            author=single_author(authors), authors=several_authors(authors), limit=limit,
            min_commits=min_commits, use_regex=use_regex,
        )  # fmt: skip
        return await self._call(commits.GET_CONTRIBUTOR_REPOS, arguments, progress)

    async def commit_details(
        self: ToolCaller, repo: str, revision: str, *, progress: ProgressChoice = None
    ) -> DataFrame:
        """Return the files that a commit changed; `attrs` has its message, people, times and trailers.

        Parameters
        ----------
        repo
            Name of the repository.
        revision
            Branch, tag or commit.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per changed file; columns as in ``columns_of("file_diffs")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            The repository or the commit is unknown.
        """
        return await self._call(
            commits.COMMIT_DETAILS, commits.CommitDetailsArguments(repo=repo, revision=revision), progress
        )

    async def last_changes(
        self: ToolCaller, repo: str, paths: Texts, revision: str | None = None, *, progress: ProgressChoice = None
    ) -> DataFrame:
        """Return the last commit that changed each of some files and directories.

        Parameters
        ----------
        repo
            Name of the repository.
        paths
            Paths of files and directories.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per path; columns as in ``columns_of("last_changes")``.
        """
        arguments = commits.LastChangesArguments(repo=repo, paths=texts(paths) or (), revision=revision)
        return await self._call(commits.LAST_CHANGES, arguments, progress)

    async def drill_down(self: ToolCaller, frame: DataFrame, row: int, *, progress: ProgressChoice = None) -> DataFrame:
        """List the commits behind a row of a DataFrame that a method of history returned.

        For `hotspots`, `coupling`, `complexity` by file, and `churn` by file, directory or kind of file, these are
        exactly the commits that the row counts, including those under earlier names of its files. For `complexity` by
        function they are those of `symbol_history`, and for `related_tests` the shared ones. Lists for other rows also
        contain merges. For `complexity_trend` the result has the files, or functions, that add up to the row.

        Parameters
        ----------
        frame
            The DataFrame, or a selection of its rows.
        row
            Position of the row, from 0.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            The result of the tool that ``frame.attrs["drill_down"]`` names; in most cases `commit_search`, with the
            columns of ``columns_of("commits")``.

        Raises
        ------
        ToolError
            The DataFrame names no tool, or has no such row.
        """
        if not -len(frame) <= row < len(frame):
            message = f"drill_down: row is {row}, but the frame has {count_of(len(frame), 'row')}, from 0"
            raise ToolError(message, tool="drill_down", argument="row")

        values: dict[str, Any] = dict(zip(map(str, frame.columns), frame.iloc[row].tolist(), strict=True))
        try:
            name, arguments = drill_down({str(key): value for key, value in frame.attrs.items()}, values)
        except KeyError as error:
            raise ToolError("this DataFrame has no details of its rows", tool="drill_down") from error

        tool = find_tool(name)
        if "repos" in tool.input_schema["required"]:
            arguments = {"repos": [], **arguments}

        return await self._call(tool, tool.parse(arguments), progress)


class BlockingHistoryMethods:
    """The same methods for `Client`, which block."""

    commit_search = blocking(HistoryMethods.commit_search)
    diff_search = blocking(HistoryMethods.diff_search)
    compare_revisions = blocking(HistoryMethods.compare_revisions)
    get_contributor_repos = blocking(HistoryMethods.get_contributor_repos)
    commit_details = blocking(HistoryMethods.commit_details)
    last_changes = blocking(HistoryMethods.last_changes)
    drill_down = blocking(HistoryMethods.drill_down)

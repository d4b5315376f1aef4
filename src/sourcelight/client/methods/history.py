"""Methods about history: commits, diffs, comparisons, contributors, and analyses of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sourcelight.client.methods.calling import Caller, Date, Texts, date_text, spelled, texts
from sourcelight.client.twins import blocking
from sourcelight.core.batches.drilling import drill_down
from sourcelight.core.errors import CallError
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


class HistoryMethods:
    """Awaited methods about history.

    Dates are committer dates in UTC and both bounds are exclusive: texts such as ``2024-06-28`` or ``2 weeks ago``,
    or Python dates. `repos` are exact names; None: every repository. `commits_behind` lists the commits behind a row
    of a frame, as the frame's ``attrs["drill_down"]`` says.
    """

    async def commit_search(  # noqa: PLR0913 - the service's own parameters, and their other spelling
        self: Caller,
        repos: Texts | None = None,
        messageTerms: Texts | None = None,
        authors: Texts | None = None,
        contentTerms: Texts | None = None,
        files: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        *,
        count: int | None = None,
        useRegex: bool | None = None,
        revisions: Texts | None = None,
        message_terms: Texts | None = None,
        content_terms: Texts | None = None,
        use_regex: bool | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find commits. Texts of one list are alternatives; different lists must all hold.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        messageTerms
            Texts in the message. Also `message_terms`.
        authors
            Parts of the author's name or address, as written or as the mailmap has them.
        contentTerms
            Texts in an added or removed line. Also `content_terms`.
        files
            Globs or path prefixes of changed files.
        after, before
            Bounds of the committer date.
        count
            Most commits, the newest first; None: all of them.
        useRegex
            Read all texts as RE2 with regard to case; default: literal, in any case. Also `use_regex`.
        revisions
            Branches, tags or commits; what is behind any of them is searched. None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per commit, newest first; columns as in ``columns_of("commits")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            For what is not there.
        CallError
            For a date or a pattern that can't be read.
        """
        spellings = spelled(
            "commit_search",
            messageTerms=(messageTerms, message_terms),
            contentTerms=(contentTerms, content_terms),
            useRegex=(useRegex, use_regex),
        )
        arguments = {
            "repos": texts(repos) or [],
            "messageTerms": texts(spellings["messageTerms"]),
            "authors": texts(authors),
            "contentTerms": texts(spellings["contentTerms"]),
            "files": texts(files),
            "after": date_text(after),
            "before": date_text(before),
            "count": count,
            "useRegex": spellings["useRegex"],
            "revisions": texts(revisions),
        }
        return await self._call("commit_search", arguments, progress)

    async def diff_search(  # noqa: PLR0913 - the service's own parameters, and their other spelling
        self: Caller,
        pattern: str,
        repos: Texts | None = None,
        added: bool | None = None,  # noqa: FBT001 - positional in the service's order
        removed: bool | None = None,  # noqa: FBT001 - positional in the service's order
        author: str | None = None,
        after: Date | None = None,
        before: Date | None = None,
        *,
        authors: Texts | None = None,
        files: Texts | None = None,
        count: int | None = None,
        useRegex: bool | None = None,
        revisions: Texts | None = None,
        changes: str | None = None,
        use_regex: bool | None = None,
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
            Look at one side only; neither or both: at both.
        author, authors
            Parts of the author's name or address, any of which counts.
        after, before
            Bounds of the committer date.
        files
            Globs or path prefixes of changed files.
        count
            Most commits, the newest first; None: all of them.
        useRegex
            Read texts as RE2 with regard to case. Also `use_regex`.
        revisions
            Branches, tags or commits; None: the default branch.
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
            For what is not there.
        CallError
            For a date or a pattern that can't be read.
        """
        arguments = {
            "pattern": pattern,
            "repos": texts(repos) or [],
            "added": added,
            "removed": removed,
            "author": author,
            "authors": texts(authors),
            "files": texts(files),
            "after": date_text(after),
            "before": date_text(before),
            "count": count,
            **spelled("diff_search", useRegex=(useRegex, use_regex)),
            "revisions": texts(revisions),
            "changes": changes,
        }
        return await self._call("diff_search", arguments, progress)

    async def compare_revisions(
        self: Caller,
        repo: str,
        base: str,
        head: str,
        first: int | None = None,
        after: str | None = None,
        *,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Compare two revisions, as ``git diff -M base head`` does.

        Parameters
        ----------
        repo
            Name of the repository.
        base, head
            The older and the newer branch, tag or commit; ``~2`` or ``^`` may follow.
        first
            Most files; None: all of them.
        after
            Where to go on: ``attrs["end_cursor"]`` of the frame before.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per changed file with its patch; columns as in ``columns_of("file_diffs")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound
            For what is not there.
        CallError
            For a cursor of another comparison.
        """
        arguments = {"repo": repo, "base": base, "head": head, "first": first, "after": after}
        return await self._call("compare_revisions", arguments, progress)

    async def get_contributor_repos(
        self: Caller,
        author: Texts,
        limit: int | None = None,
        minCommits: int | None = None,
        *,
        useRegex: bool | None = None,
        min_commits: int | None = None,
        use_regex: bool | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the repositories in which someone has commits.

        Parameters
        ----------
        author
            Part of a name or address, in any case; or several, any of which counts.
        limit
            Most repositories; None: all.
        minCommits
            Fewest commits. Also `min_commits`.
        useRegex
            Read `author` as RE2. Also `use_regex`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per repository, most commits first; columns as in ``columns_of("contributor_repositories")``.
        """
        found = spelled("get_contributor_repos", minCommits=(minCommits, min_commits), useRegex=(useRegex, use_regex))
        who = {"author": author} if isinstance(author, str) else {"authors": texts(author)}
        return await self._call("get_contributor_repos", {**who, "limit": limit, **found}, progress)

    async def blame(
        self: Caller, repo: str, path: str, revision: str | None = None, *, progress: ProgressChoice = None
    ) -> DataFrame:
        """Tell for each line of a file which commit brought it, as ``git blame`` does.

        Returns a DataFrame with one row per line; columns as in ``columns_of("blame_lines")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound, PathNotFound
            For what is not there.
        """
        return await self._call("blame", {"repo": repo, "path": path, "revision": revision}, progress)

    async def ownership(
        self: Caller,
        repo: str,
        path: str | None = None,
        *,
        by: str | None = None,
        depth: int | None = None,
        exact: bool | None = None,
        revision: str | None = None,
        mailmap: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count the lines of today's text by author.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            File or folder; None: everything.
        by
            ``total``, ``directory`` or ``file``: what lines are counted for.
        depth
            With ``directory``: how many names deep folders are told apart; 1 without it.
        exact
            Ask ``git blame`` about files that the replay of history does not prove.
        revision
            Branch, tag or commit; None: the default branch.
        mailmap
            Lines that join identities, such as accepted ``mailmap_line`` of `identity_suggestions`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per author and path; columns as in ``columns_of("ownership")``.
        """
        arguments = {"repo": repo, "path": path, "by": by, "depth": depth, "exact": exact, "revision": revision,
                     "mailmap": _lines(mailmap)}  # fmt: skip
        return await self._call("ownership", arguments, progress)

    async def bus_factor(
        self: Caller,
        repo: str,
        path: str | None = None,
        *,
        depth: int | None = None,
        exact: bool | None = None,
        revision: str | None = None,
        mailmap: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Tell for each folder how few authors own more than half of its lines; parameters as for `ownership`.

        Returns a DataFrame with one row per folder, the whole first; columns as in ``columns_of("bus_factor")``.
        """
        arguments = {"repo": repo, "path": path, "depth": depth, "exact": exact, "revision": revision,
                     "mailmap": _lines(mailmap)}  # fmt: skip
        return await self._call("bus_factor", arguments, progress)

    async def survival(
        self: Caller,
        repo: str,
        path: str | None = None,
        *,
        exact: bool | None = None,
        revision: str | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Tell how much of the text of each year is still there; parameters as for `ownership`.

        Returns a DataFrame with one row per year of birth; columns as in ``columns_of("survival")``.
        """
        arguments = {"repo": repo, "path": path, "exact": exact, "revision": revision}
        return await self._call("survival", arguments, progress)

    async def contributors(
        self: Caller,
        repos: Texts | None = None,
        *,
        by: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        revisions: Texts | None = None,
        mailmap: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count commits and changed lines by author, merges included as ``git shortlog`` does.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        by
            ``repository`` and one of ``day``, ``week``, ``month``, ``quarter``, ``year``: what is told apart beside
            authors.
        after, before
            Bounds of the committer date.
        revisions
            Branches, tags or commits; None: the default branch.
        mailmap
            Lines that join identities, such as accepted ``mailmap_line`` of `identity_suggestions`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per author and group, bots last in each; columns as in ``columns_of("contributors")``.
        """
        arguments = {"repos": texts(repos), "by": texts(by), "after": date_text(after), "before": date_text(before),
                     "revisions": texts(revisions), "mailmap": _lines(mailmap)}  # fmt: skip
        return await self._call("contributors", arguments, progress)

    async def churn(
        self: Caller,
        repos: Texts | None = None,
        *,
        by: Texts | None = None,
        depth: int | None = None,
        after: Date | None = None,
        before: Date | None = None,
        revisions: Texts | None = None,
        mailmap: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count changed lines by folder, file, author and period, as ``git log --numstat`` does.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        by
            Of ``repository``, ``directory``, ``path``, ``author`` and one period (``day`` to ``year``); None:
            ``directory``.
        depth
            How many names deep folders are told apart; None: 1.
        after, before, revisions, mailmap
            As for `contributors`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per group, most changed lines first in each period; columns as in ``columns_of("churn")``.
        """
        arguments = {"repos": texts(repos), "by": texts(by), "depth": depth, "after": date_text(after),
                     "before": date_text(before), "revisions": texts(revisions),
                     "mailmap": _lines(mailmap)}  # fmt: skip
        return await self._call("churn", arguments, progress)

    async def pickaxe(
        self: Caller,
        pattern: str,
        repos: Texts | None = None,
        *,
        by: Texts | None = None,
        files: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        use_regex: bool | None = None,
        revisions: Texts | None = None,
        mailmap: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Tell when lines that match came and went: the rise and fall of an interface.

        Parameters
        ----------
        pattern
            Text to find within one changed line.
        repos
            Names of the repositories; None: all.
        by
            Of ``repository``, ``author`` and one period (``day`` to ``year``); None: ``month``.
        files
            Globs or path prefixes of changed files.
        use_regex
            Read the pattern as RE2 with regard to case.
        after, before, revisions, mailmap
            As for `contributors`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per group, in the order of time; columns as in ``columns_of("pickaxe")``.
        """
        arguments = {"pattern": pattern, "repos": texts(repos), "by": texts(by), "files": texts(files),
                     "after": date_text(after), "before": date_text(before), "useRegex": use_regex,
                     "revisions": texts(revisions), "mailmap": _lines(mailmap)}  # fmt: skip
        return await self._call("pickaxe", arguments, progress)

    async def hotspots(
        self: Caller,
        repos: Texts | None = None,
        *,
        files: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        limit: int | None = None,
        revisions: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Rank today's files by how often they changed and how long they are; parameters as for `churn`.

        Returns a DataFrame with one row per file, the hottest first; columns as in ``columns_of("hotspots")``.
        """
        arguments = {"repos": texts(repos), "files": texts(files), "after": date_text(after),
                     "before": date_text(before), "limit": limit, "revisions": texts(revisions)}  # fmt: skip
        return await self._call("hotspots", arguments, progress)

    async def coupling(
        self: Caller,
        repos: Texts | None = None,
        *,
        after: Date | None = None,
        before: Date | None = None,
        min_commits: int | None = None,
        min_degree: float | None = None,
        max_files: int | None = None,
        limit: int | None = None,
        revisions: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find files that commits change together.

        Parameters
        ----------
        repos, after, before, revisions
            As for `churn`.
        min_commits
            Fewest commits that change both; None: 5.
        min_degree
            Least part of their commits that the two share; None: 0.3.
        max_files
            Commits with more files count for no pair; None: 30.
        limit
            Most pairs; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per pair, the strongest first; columns as in ``columns_of("coupling")``.
        """
        arguments = {"repos": texts(repos), "after": date_text(after), "before": date_text(before),
                     "minCommits": min_commits, "minDegree": min_degree, "maxFiles": max_files, "limit": limit,
                     "revisions": texts(revisions)}  # fmt: skip
        return await self._call("coupling", arguments, progress)

    async def identities(
        self: Caller, repos: Texts | None = None, *, mailmap: Texts | None = None, progress: ProgressChoice = None
    ) -> DataFrame:
        """List the names and addresses under which people write, and what the mailmap makes of them.

        Returns a DataFrame with one row per identity; columns as in ``columns_of("identities")``.
        """
        return await self._call("identities", {"repos": texts(repos), "mailmap": _lines(mailmap)}, progress)

    async def identity_suggestions(
        self: Caller, repos: Texts | None = None, *, mailmap: Texts | None = None, progress: ProgressChoice = None
    ) -> DataFrame:
        """Suggest identities that may be one person; accept rows by passing their ``mailmap_line`` as `mailmap`.

        Returns a DataFrame with one row per identity of a set; columns as in ``columns_of("identity_suggestions")``.
        """
        return await self._call("identity_suggestions", {"repos": texts(repos), "mailmap": _lines(mailmap)}, progress)

    async def commit_details(self: Caller, repo: str, revision: str, *, progress: ProgressChoice = None) -> DataFrame:
        """Show what one commit did; its message, people, times and trailers are in `attrs`.

        Returns a DataFrame with one row per changed file; columns as in ``columns_of("file_diffs")``.
        """
        return await self._call("commit_details", {"repo": repo, "revision": revision}, progress)

    async def last_changes(
        self: Caller, repo: str, paths: Texts, revision: str | None = None, *, progress: ProgressChoice = None
    ) -> DataFrame:
        """Tell for each of some files which commit changed it last.

        Returns a DataFrame with one row per file; columns as in ``columns_of("last_changes")``.
        """
        arguments = {"repo": repo, "paths": texts(paths), "revision": revision}
        return await self._call("last_changes", arguments, progress)

    async def commits_behind(self: Caller, frame: DataFrame, row: int, *, progress: ProgressChoice = None) -> DataFrame:
        """List the commits behind a row of a frame that a method of history gave.

        A list may be wider than the count: of commits by name and file, those that only moved a file are in it too.

        Parameters
        ----------
        frame
            The frame, or a selection of its rows.
        row
            Place of the row, from 0.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            What the call that the frame names gives: mostly that of `commit_search`.

        Raises
        ------
        CallError
            For a frame that names no call.
        """
        values: dict[str, Any] = dict(zip(map(str, frame.columns), frame.iloc[row].tolist(), strict=True))
        try:
            name, arguments = drill_down({str(key): value for key, value in frame.attrs.items()}, values)
        except KeyError as error:
            raise CallError("this frame does not say what is behind its rows", call="commits_behind") from error
        return await self._call(name, {"repos": [], **arguments} if name == "commit_search" else arguments, progress)


def _lines(mailmap: Texts | None) -> str | None:
    """Lines of a mailmap as one text; a column of a DataFrame is taken too."""
    if mailmap is None or isinstance(mailmap, str):
        return mailmap
    lines: Iterable[str] = mailmap
    return "\n".join(line for line in map(str, lines) if line)


class BlockingHistoryMethods:
    """Their twins."""

    commit_search = blocking(HistoryMethods.commit_search)
    diff_search = blocking(HistoryMethods.diff_search)
    compare_revisions = blocking(HistoryMethods.compare_revisions)
    get_contributor_repos = blocking(HistoryMethods.get_contributor_repos)
    blame = blocking(HistoryMethods.blame)
    ownership = blocking(HistoryMethods.ownership)
    bus_factor = blocking(HistoryMethods.bus_factor)
    survival = blocking(HistoryMethods.survival)
    contributors = blocking(HistoryMethods.contributors)
    churn = blocking(HistoryMethods.churn)
    pickaxe = blocking(HistoryMethods.pickaxe)
    hotspots = blocking(HistoryMethods.hotspots)
    coupling = blocking(HistoryMethods.coupling)
    identities = blocking(HistoryMethods.identities)
    identity_suggestions = blocking(HistoryMethods.identity_suggestions)
    commit_details = blocking(HistoryMethods.commit_details)
    last_changes = blocking(HistoryMethods.last_changes)
    commits_behind = blocking(HistoryMethods.commits_behind)

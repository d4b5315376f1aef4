"""Methods that analyse history: who changed how much, where and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client.methods.call import Date, Texts, ToolCaller, date_text, mailmap_text, texts
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools import analyses
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class AnalysisMethods:
    """Awaited analyses of history.

    Dates are committer dates in UTC and both bounds are exclusive: texts such as ``2024-06-28`` or ``2 weeks ago``,
    or Python dates. `repos` are exact names; None: every repository. `Client.drill_down` lists the commits behind
    a row.
    """

    async def contributors(
        self: ToolCaller,
        repos: Texts | None = None,
        *,
        by: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        revisions: Texts | None = None,
        file_kinds: Texts | None = None,
        mailmap: Texts | None = None,
        join_addresses: bool = True,
        lines: bool = True,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count commits and changed lines by author, merges included as ``git shortlog`` does.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        by
            ``repository`` and one of ``day``, ``week``, ``month``, ``quarter``, ``year``: columns to group by besides
            authors.
        after, before
            Bounds of the committer date.
        revisions
            Branches, tags or commits; None: the default branch.
        file_kinds
            Of ``source``, ``documentation``, ``vendored``, ``generated`` and ``lock``: the kinds of files whose lines
            count; None: all. Commits are all.
        mailmap
            Lines that join identities, such as accepted ``mailmap_line`` of `identity_suggestions`.
        join_addresses
            Whether identities with the same address, ignoring case, are one person after the mailmap, unless the
            address is a placeholder such as ``none@none``; False gives the rows of ``git shortlog -sne``, with
            co-authors beside.
        lines
            Whether changed lines and files count. False answers from the commits alone, which takes a second or two
            where a history has not been read yet: `additions`, `deletions` and `files` are then null.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per author and group, bots last in each; columns as in ``columns_of("contributors")``.
        """
        arguments = analyses.ContributorsArguments(
            repos=texts(repos),
            by=texts(by),
            after=date_text(after),
            before=date_text(before),
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
            mailmap=mailmap_text(mailmap),
            join_addresses=None if join_addresses else False,
            lines=None if lines else False,
        )
        return await self._call(analyses.CONTRIBUTORS, arguments, progress)

    async def churn(
        self: ToolCaller,
        repos: Texts | None = None,
        *,
        by: Texts | None = None,
        depth: int | None = None,
        after: Date | None = None,
        before: Date | None = None,
        revisions: Texts | None = None,
        file_kinds: Texts | None = None,
        mailmap: Texts | None = None,
        join_addresses: bool = True,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count changed lines by folder, file, author and period, as ``git log --numstat`` does.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        by
            Of ``repository``, ``commit``, ``directory`` or ``path``, ``file_kind``, ``author`` and one period (``day``
            to ``year``); None: ``directory``.
        depth
            Number of path components by which directories are grouped; None: 1.
        file_kinds
            Kinds of files that count, as for `ownership`; None: all.
        after, before, revisions, mailmap, join_addresses
            As for `contributors`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per group, most changed lines first in each period; columns as in ``columns_of("churn")``.
        """
        arguments = analyses.ChurnArguments(
            repos=texts(repos),
            by=texts(by),
            depth=depth,
            after=date_text(after),
            before=date_text(before),
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
            mailmap=mailmap_text(mailmap),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(analyses.CHURN, arguments, progress)

    async def pickaxe(  # noqa: PLR0913 - its parameters, each by name
        self: ToolCaller,
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
        join_addresses: bool = True,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find when lines that match were added and removed: the rise and fall of an interface.

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
            Read the pattern as a case-sensitive RE2 expression.
        after, before, revisions, mailmap, join_addresses
            As for `contributors`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per group, in the order of time; columns as in ``columns_of("pickaxe")``.
        """
        arguments = analyses.PickaxeArguments(
            pattern=pattern,
            repos=texts(repos),
            by=texts(by),
            files=texts(files),
            after=date_text(after),
            before=date_text(before),
            use_regex=use_regex,
            revisions=texts(revisions),
            mailmap=mailmap_text(mailmap),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(analyses.PICKAXE, arguments, progress)

    async def hotspots(
        self: ToolCaller,
        repos: Texts | None = None,
        *,
        files: Texts | None = None,
        after: Date | None = None,
        before: Date | None = None,
        limit: int | None = None,
        revisions: Texts | None = None,
        file_kinds: Texts | None = None,
        join_addresses: bool = True,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Rank current files by the number of their commits and their length.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        files
            Globs or path prefixes of files; None: all.
        limit
            Maximum number of files; None: all.
        file_kinds
            Kinds of files that count, as for `ownership`; None: all.
        after, before, revisions, join_addresses
            As for `contributors`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per file, the highest rank first; columns as in ``columns_of("hotspots")``.
        """
        arguments = analyses.HotspotsArguments(
            repos=texts(repos),
            files=texts(files),
            after=date_text(after),
            before=date_text(before),
            limit=limit,
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(analyses.HOTSPOTS, arguments, progress)

    async def coupling(
        self: ToolCaller,
        repos: Texts | None = None,
        *,
        after: Date | None = None,
        before: Date | None = None,
        min_commits: int | None = None,
        min_degree: float | None = None,
        max_files: int | None = None,
        limit: int | None = None,
        revisions: Texts | None = None,
        file_kinds: Texts | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Find files that commits change together.

        Parameters
        ----------
        repos, after, before, revisions, file_kinds
            As for `churn`.
        min_commits
            Minimum number of commits that change both; None: 5.
        min_degree
            Minimum share of their commits that change both; None: 0.3.
        max_files
            Commits with more files are ignored; None: 30.
        limit
            Maximum number of pairs; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per pair, the strongest first; columns as in ``columns_of("coupling")``.
        """
        arguments = analyses.CouplingArguments(
            repos=texts(repos),
            after=date_text(after),
            before=date_text(before),
            min_commits=min_commits,
            min_degree=min_degree,
            max_files=max_files,
            limit=limit,
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
        )
        return await self._call(analyses.COUPLING, arguments, progress)

    async def identities(
        self: ToolCaller, repos: Texts | None = None, *, mailmap: Texts | None = None, progress: ProgressChoice = None
    ) -> DataFrame:
        """List the names and addresses that people use, and their mailmap entries.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        mailmap
            Lines that join identities, applied after the repository's ``.mailmap``.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per identity; columns as in ``columns_of("identities")``.
        """
        return await self._call(
            analyses.IDENTITIES,
            analyses.IdentitiesArguments(repos=texts(repos), mailmap=mailmap_text(mailmap)),
            progress,
        )

    async def identity_suggestions(
        self: ToolCaller,
        repos: Texts | None = None,
        *,
        mailmap: Texts | None = None,
        join_addresses: bool = True,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Suggest identities that may be one person; pass the ``mailmap_line`` of rows that you accept as `mailmap`.

        Parameters
        ----------
        repos
            Names of the repositories; None: all.
        mailmap
            Lines of suggestions that you have accepted; these are not suggested again.
        join_addresses
            Whether identities with the same address are already one person, ignoring case.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per identity of a suggested group; columns as in ``columns_of("identity_suggestions")``.
        """
        arguments = analyses.IdentitySuggestionsArguments(
            repos=texts(repos), mailmap=mailmap_text(mailmap), join_addresses=None if join_addresses else False
        )
        return await self._call(analyses.IDENTITY_SUGGESTIONS, arguments, progress)


class BlockingAnalysisMethods:
    """The same methods for `Client`, which block."""

    contributors = blocking(AnalysisMethods.contributors)
    churn = blocking(AnalysisMethods.churn)
    pickaxe = blocking(AnalysisMethods.pickaxe)
    hotspots = blocking(AnalysisMethods.hotspots)
    coupling = blocking(AnalysisMethods.coupling)
    identities = blocking(AnalysisMethods.identities)
    identity_suggestions = blocking(AnalysisMethods.identity_suggestions)

"""Methods that analyse history: who wrote, changed and owns how much, where and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sourcelight.client.methods.call import Date, Texts, ToolCaller, date_text, texts
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools.analyses import (
    CHURN,
    CONTRIBUTORS,
    COUPLING,
    HOTSPOTS,
    IDENTITIES,
    IDENTITY_SUGGESTIONS,
    PICKAXE,
    ChurnArguments,
    ContributorsArguments,
    CouplingArguments,
    HotspotsArguments,
    IdentitiesArguments,
    IdentitySuggestionsArguments,
    PickaxeArguments,
)
from sourcelight.core.tools.blame import (
    BUS_FACTOR,
    OWNERSHIP,
    SURVIVAL,
    BusFactorArguments,
    OwnershipArguments,
    SurvivalArguments,
)
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

    async def ownership(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        *,
        by: str | None = None,
        depth: int | None = None,
        exact: bool | None = None,
        revision: str | None = None,
        file_kinds: Texts | None = None,
        mailmap: Texts | None = None,
        join_addresses: bool = True,
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
            Prove every line to be that of ``git blame``; the first time takes two to three times as long.
        revision
            Branch, tag or commit; None: the default branch.
        file_kinds
            Of ``source``, ``documentation``, ``vendored``, ``generated`` and ``lock``: the kinds of files that count;
            None: all.
        mailmap
            Lines that join identities, such as accepted ``mailmap_line`` of `identity_suggestions`.
        join_addresses
            Whether identities with the same address, ignoring case, are one person after the mailmap.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per author and path; columns as in ``columns_of("ownership")``.
        """
        arguments = OwnershipArguments(
            repo=repo,
            path=path,
            by=by,
            depth=depth,
            exact=exact,
            revision=revision,
            file_kinds=texts(file_kinds),
            mailmap=_lines(mailmap),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(OWNERSHIP, arguments, progress)

    async def bus_factor(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        *,
        depth: int | None = None,
        exact: bool | None = None,
        revision: str | None = None,
        file_kinds: Texts | None = None,
        mailmap: Texts | None = None,
        join_addresses: bool = True,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Return, for each directory, the fewest authors who own more than half of its lines.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Directory to look at; None: the whole repository.
        depth
            Number of path components by which directories are grouped; None: 1.
        exact
            Compare every line with ``git blame``; the first call takes two to three times as long.
        revision
            Branch, tag or commit; None: the default branch.
        file_kinds
            Kinds of files that count, as for `ownership`; None: all.
        mailmap
            Lines that join identities, such as accepted ``mailmap_line`` of `identity_suggestions`.
        join_addresses
            Whether identities with the same address are one person after the mailmap, ignoring case.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per directory, the whole repository first; columns as in ``columns_of("bus_factor")``.
        """
        arguments = BusFactorArguments(
            repo=repo,
            path=path,
            depth=depth,
            exact=exact,
            revision=revision,
            file_kinds=texts(file_kinds),
            mailmap=_lines(mailmap),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(BUS_FACTOR, arguments, progress)

    async def survival(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        *,
        exact: bool | None = None,
        revision: str | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count the lines that survive today, by the year in which they were written.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            File or directory; None: everything.
        exact
            Compare every line with ``git blame``; the first call takes two to three times as long.
        revision
            Branch, tag or commit; None: the default branch.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per year of origin; columns as in ``columns_of("survival")``.
        """
        arguments = SurvivalArguments(repo=repo, path=path, exact=exact, revision=revision)
        return await self._call(SURVIVAL, arguments, progress)

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
            ``repository`` and one of ``day``, ``week``, ``month``, ``quarter``, ``year``: what is told apart beside
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
            Whether identities with the same address, ignoring case, are one person after the mailmap; False gives
            the rows of ``git shortlog -sne``, with co-authors beside.
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
        arguments = ContributorsArguments(
            repos=texts(repos),
            by=texts(by),
            after=date_text(after),
            before=date_text(before),
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
            mailmap=_lines(mailmap),
            join_addresses=None if join_addresses else False,
            lines=None if lines else False,
        )
        return await self._call(CONTRIBUTORS, arguments, progress)

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
            How many names deep folders are told apart; None: 1.
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
        arguments = ChurnArguments(
            repos=texts(repos),
            by=texts(by),
            depth=depth,
            after=date_text(after),
            before=date_text(before),
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
            mailmap=_lines(mailmap),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(CHURN, arguments, progress)

    async def pickaxe(  # noqa: PLR0913 - what it can be asked, each by its name
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
            Read the pattern as RE2 with regard to case.
        after, before, revisions, mailmap, join_addresses
            As for `contributors`.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per group, in the order of time; columns as in ``columns_of("pickaxe")``.
        """
        arguments = PickaxeArguments(
            pattern=pattern,
            repos=texts(repos),
            by=texts(by),
            files=texts(files),
            after=date_text(after),
            before=date_text(before),
            use_regex=use_regex,
            revisions=texts(revisions),
            mailmap=_lines(mailmap),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(PICKAXE, arguments, progress)

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
        arguments = HotspotsArguments(
            repos=texts(repos),
            files=texts(files),
            after=date_text(after),
            before=date_text(before),
            limit=limit,
            revisions=texts(revisions),
            file_kinds=texts(file_kinds),
            join_addresses=None if join_addresses else False,
        )
        return await self._call(HOTSPOTS, arguments, progress)

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
        arguments = CouplingArguments(
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
        return await self._call(COUPLING, arguments, progress)

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
        return await self._call(IDENTITIES, IdentitiesArguments(repos=texts(repos), mailmap=_lines(mailmap)), progress)

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
        arguments = IdentitySuggestionsArguments(
            repos=texts(repos), mailmap=_lines(mailmap), join_addresses=None if join_addresses else False
        )
        return await self._call(IDENTITY_SUGGESTIONS, arguments, progress)


def _lines(mailmap: Texts | None) -> str | None:
    """Lines of a mailmap as one text; a column of a DataFrame is taken too."""
    if mailmap is None or isinstance(mailmap, str):
        return mailmap
    lines: Iterable[str] = mailmap
    return "\n".join(line for line in map(str, lines) if line)


class BlockingAnalysisMethods:
    """The same methods for `Client`, which block."""

    ownership = blocking(AnalysisMethods.ownership)
    bus_factor = blocking(AnalysisMethods.bus_factor)
    survival = blocking(AnalysisMethods.survival)
    contributors = blocking(AnalysisMethods.contributors)
    churn = blocking(AnalysisMethods.churn)
    pickaxe = blocking(AnalysisMethods.pickaxe)
    hotspots = blocking(AnalysisMethods.hotspots)
    coupling = blocking(AnalysisMethods.coupling)
    identities = blocking(AnalysisMethods.identities)
    identity_suggestions = blocking(AnalysisMethods.identity_suggestions)

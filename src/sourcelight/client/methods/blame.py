"""Methods that say by blame who wrote the lines of a file, who owns how much of them, and how old they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client.methods.call import Texts, ToolCaller, mailmap_text, texts
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools.blame import (
    BLAME,
    BUS_FACTOR,
    OWNERSHIP,
    SURVIVAL,
    BlameArguments,
    BusFactorArguments,
    OwnershipArguments,
    SurvivalArguments,
)
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class BlameMethods:
    """Awaited methods that read blame."""

    async def blame(
        self: ToolCaller,
        repo: str,
        path: str,
        revision: str | None = None,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Return, for each line of a file, the commit that added it, as ``git blame`` does.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Path of the file.
        revision
            Branch, tag or commit; None: the default branch.
        start_line, end_line
            First and last line, from 1 and inclusive; None: the first and the last of the file.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per line; columns as in ``columns_of("blame_lines")``.

        Raises
        ------
        RepositoryNotFound, RevisionNotFound, PathNotFound
            The repository, revision or path doesn't exist, or isn't visible.
        """
        arguments = BlameArguments(repo=repo, path=path, revision=revision, start_line=start_line, end_line=end_line)
        return await self._call(BLAME, arguments, progress)

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
            File or directory; None: everything.
        by
            ``total``, ``directory`` or ``file``: groups of the lines.
        depth
            Number of path components by which directories are grouped; None: 1.
        exact
            Verify every line against ``git blame``; the first call takes two to three times as long.
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
            mailmap=mailmap_text(mailmap),
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
            mailmap=mailmap_text(mailmap),
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


class BlockingBlameMethods:
    """The same methods for `Client`, which block."""

    blame = blocking(BlameMethods.blame)
    ownership = blocking(BlameMethods.ownership)
    bus_factor = blocking(BlameMethods.bus_factor)
    survival = blocking(BlameMethods.survival)

"""Methods about the quality of code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client.methods.call import Texts, ToolCaller, texts
from sourcelight.client.portal import blocking
from sourcelight.core.arguments import checks_methods
from sourcelight.core.tools import quality
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame


@checks_methods
class QualityMethods:
    """Awaited methods about the quality of code."""

    async def complexity(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        *,
        by: str | None = None,
        revision: str | None = None,
        dates: bool | None = None,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Measure functions or files at a commit: lines, comments, cyclomatic and cognitive complexity.

        C, C++, Go, Java, JavaScript, Python, Rust and TypeScript are measured. Rows of files also have the commits that
        changed them, and `hotspot`, the product of both: complex files that change often.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            File or directory; None: everything.
        by
            ``function`` or ``file``: the unit of a row; None: ``function``.
        revision
            Branch, tag or commit; None: the default branch.
        dates
            Whether to return the dates of the oldest and the newest line of each row, which requires the whole history.
        limit
            Maximum number of rows, the most complex first; None: all.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per function or file, the most complex (of files: the hottest) first; columns as in
            ``columns_of("complexity")``.
        """
        arguments = quality.ComplexityArguments(
            repo=repo, path=path, revision=revision, by=by, dates=dates, limit=limit
        )
        return await self._call(quality.COMPLEXITY, arguments, progress)

    async def complexity_trend(
        self: ToolCaller,
        repo: str,
        path: str | None = None,
        *,
        revisions: Texts | None = None,
        points: int | None = None,
        by: str | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Measure the same at several commits: how size, comments, tests and complexity have grown.

        A content that several commits have is measured once.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            File or directory; None: everything. Commits without it are named in the notices.
        revisions
            Branches, tags or commits to measure, at most 200; None: commits of the default branch.
        points
            How many commits of the first-parent history to measure, 2 to 200, at even times from the first to the last;
            None: 12. The same commit is measured once.
        by
            ``total``, ``file`` or ``function``: the unit of rows at each commit; None: ``total``.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per commit (and file or function), in the order of `revisions`, else the oldest first; columns as in
            ``columns_of("complexity_trend")``.
        """
        arguments = quality.ComplexityTrendArguments(
            repo=repo, path=path, revisions=texts(revisions), points=points, by=by
        )
        return await self._call(quality.COMPLEXITY_TREND, arguments, progress)

    async def related_tests(
        self: ToolCaller,
        repo: str,
        path: str,
        revision: str | None = None,
        *,
        min_commits: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List the tests that import a file, use its definitions, or change together with it.

        Parameters
        ----------
        repo
            Name of the repository.
        path
            Path of the file at the revision.
        revision
            Branch, tag or commit; None: the default branch.
        min_commits
            Minimum number of shared commits of a test that neither imports nor uses the file; None: 2.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per test, tests that import or use the file first; columns as in ``columns_of("related_tests")``.
        """
        arguments = quality.RelatedTestsArguments(repo=repo, path=path, revision=revision, min_commits=min_commits)
        return await self._call(quality.RELATED_TESTS, arguments, progress)


class BlockingQualityMethods:
    """The same methods for `Client`, which block."""

    complexity = blocking(QualityMethods.complexity)
    complexity_trend = blocking(QualityMethods.complexity_trend)
    related_tests = blocking(QualityMethods.related_tests)

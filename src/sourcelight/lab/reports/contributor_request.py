"""What a contributor report is asked for, and frames that its sections share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sourcelight.core.errors import ToolError
from sourcelight.core.query.dates import parse_date
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.other_files import WRITTEN, OtherFiles
from sourcelight.lab.reports.paths import PathFilter

LEFT_OUT = {"apart": "", "with": "", "without": ", vendored, generated and lock files"}
Owned = tuple[str, Frame, Frame | None]
"""A repository, its owners, and its bus factors."""


def check_dates(call: str, **dates: str | date | None) -> None:
    """Refuse texts that are no dates by the names that the caller gave them.

    Raises
    ------
    ToolError
        For the first that is none.
    """
    for name, value in dates.items():
        if isinstance(value, str) and value:
            try:
                parse_date(value, datetime.now(UTC))
            except ValueError as error:
                raise ToolError(f"{call}: {name}: {error}", tool=call, argument=name) from error


@dataclass(frozen=True, slots=True)
class Request:
    """What a contributor report is asked for, as far as its calls need it."""

    repos: str | list[str] | None
    after: str | date | None
    before: str | date | None
    mailmap: str | list[str] | None
    join_addresses: bool
    other_files: OtherFiles
    paths: PathFilter

    @property
    def people(self) -> dict[str, Any]:
        """Arguments of calls that count people."""
        return {"repos": self.repos, "mailmap": self.mailmap, "join_addresses": self.join_addresses}

    @property
    def dates(self) -> dict[str, Any]:
        """Arguments of calls that have dates."""
        return {"after": self.after, "before": self.before}

    @property
    def table_kinds(self) -> list[str] | None:
        """Kinds of files of the main tables; None: all."""
        return None if self.other_files == "with" else list(WRITTEN)

    @property
    def summary_kinds(self) -> list[str] | None:
        """Kinds of files of the summary; None: all."""
        return self.table_kinds if self.other_files == "without" else None


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Changed lines by kind of file, by folder and by file; None where a service can't tell.

    `behind` gives the way from a row of such a frame, by a column of it, to its commits; None: the frame itself has it.
    """

    kinds: Frame | None
    folders: Frame | None
    files: Frame | None
    behind: Callable[[Frame, str], Callable[[int], Frame]] | None = None

    @property
    def answers(self) -> list[Frame | None]:
        """All of them."""
        return [self.kinds, self.folders, self.files]

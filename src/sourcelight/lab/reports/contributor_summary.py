"""What the contributor report comes to in a few sentences, and why one is empty."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.other_files import WRITTEN
from sourcelight.lab.reports.turnover import Turnover
from sourcelight.lab.reports.wording import against, day, length, shares

OLD_DAYS = 30
_TOP = 3
_FIVE = 5


def lead(
    names: Sequence[str],
    commits: Frame,
    people: Frame | None,
    files: Frame | None,
    compared: Turnover | None,
    newest: Any,
    *,
    whole: bool,
) -> list[str]:
    """Who did how much, where, how that compares with the time before, and how old the newest commit is.

    `compared` is about the time of the report where that has a start, else (`whole` history) about its last year.
    """
    sentences = [
        _who(names, commits, people),
        _most(commits),
        _where(files),
        _compared(compared, whole=whole),
        stale(newest),
    ]
    return [sentence for sentence in sentences if sentence]


def _who(names: Sequence[str], commits: Frame, people: Frame | None) -> str:
    where = names[0] if len(names) == 1 else count_of(len(names), "repository")
    human = commits[~commits["bot"]]
    bots = len(commits) - len(human)
    dates = commits["commit_date"]
    wrote = f"{count_of(human['person'].nunique(), 'person')} wrote {count_of(len(human), 'commit')} in {where}"
    text = f"{wrote}, the first on {day(dates.min())} and the last on {day(dates.max())}"
    more = []
    if bots:
        more.append(f"bots wrote {bots:,} more")
    if people is not None:
        helpers = int(((people["commits"] == 0) & ~people["bot"].fillna(value=False).astype("bool")).sum())
        more += [f"{count_of(helpers, 'co-author')} wrote none"] if helpers else []
    return f"{text}; {join_words(more)}." if more else f"{text}."


def _most(commits: Frame) -> str:
    human = commits[~commits["bot"]]
    counts = human.groupby(["person", "author"], observed=True).size().sort_values(ascending=False, kind="stable")
    if len(counts) < 2:
        return ""
    most = shares([name for _, name in counts.index], counts.tolist(), float(len(human)), _TOP)
    text = f"Most commits by people are by {most}"
    if len(counts) <= _FIVE:
        return f"{text}."
    return f"{text}; the five people with the most wrote {counts.head(_FIVE).sum() / len(human):.0%}."


def _where(files: Frame | None) -> str:
    """The largest places of files that people write, and how much of all changed lines is in others."""
    if files is None or not len(files):
        return ""
    lines = files["additions"] + files["deletions"]
    is_written = files["file_kind"].astype("str").isin(WRITTEN) if files["file_kind"].notna().any() else lines >= 0
    names = files["path"].astype("str").map(lambda path: f"{path.partition('/')[0]}/" if "/" in path else "the top")
    if files["repository"].nunique() > 1:
        names = files["repository"].astype("str")
    totals = lines[is_written].groupby(names[is_written]).sum()
    most = shares(totals.index.astype("str").tolist(), totals.tolist(), float(totals.sum()))
    if not most:
        return ""
    if is_written.all():
        return f"Most changed lines are in {most}."
    other = lines[~is_written].sum() / max(int(lines.sum()), 1)
    kinds = f"vendored, generated and lock files have {other:.0%} of all changed lines"
    return f"Most changed lines of source and documentation are in {most}; {kinds}."


def _compared(compared: Turnover | None, *, whole: bool) -> str:
    if compared is None:
        return ""
    now, then = compared.commits, len(compared.before)
    time = length(compared.days)
    when = f"In the {time} to {day(compared.end)}, " if whole else ""
    begin = f"{when}{'there were ' if whole else ''}{count_of(now, 'commit')}"
    if not then:
        return f"{begin}; there was none in the {time} before."
    are = "" if whole else " is" if now == 1 else " are"
    text = f"{begin}{',' if whole else ''}{are} {against(now, then)} in the {time} before, which had {then:,}"
    return f"{text}; {count_of(len(compared.joined), 'person')} joined and {len(compared.left):,} left."


def stale(newest: Any, now: datetime | None = None) -> str:
    """That the newest commit of the repositories is old, if it is; a clone that is not fetched tells no news."""
    import pandas as pd

    if newest is None or pd.isna(newest):
        return ""
    days = ((now or datetime.now(UTC)) - newest).total_seconds() / 86_400
    if days < OLD_DAYS:
        return ""
    return f"The newest commit is of {day(newest)}, {length(days)} ago; what came later is not in this report."


def nothing(after: Any, before: Any, oldest: Any, newest: Any, names: str) -> str:
    """Why no commit is in a time: which ones are nearest to it; dates are None where they are not known."""
    if newest is None:
        return f"{names or 'No repository'} has no commit." if names else "No repository can be searched."
    if after is not None and newest <= after:
        return f"No commit is after {day(after)}: the newest is of {day(newest)}."
    if before is not None and oldest is not None and oldest >= before:
        return f"No commit is before {day(before)}: the oldest is of {day(oldest)}."
    ends = f"the first is of {day(oldest)}, the newest of {day(newest)}"
    return f"No commit is between {day(after)} and {day(before)}; {ends}."

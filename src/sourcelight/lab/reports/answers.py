"""Answers of a client, as reports use them: calls that a service may lack, and the notices of all answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.notices import RuleSubject, is_rule, lacks_older_history, same_kind
from sourcelight.lab.reports.model import LINE_SUMS, Frame

if TYPE_CHECKING:
    from sourcelight.client import Client


def call_if_supported(ask: Callable[[], Frame], subject: str, notices: list[str]) -> Frame | None:
    """Return the answer of a client; None, with a notice, if its service doesn't support the call."""
    try:
        return ask()
    except UnsupportedTool as exc:
        notices.append(f"Not in this report: {subject}. {exc}")
        return None


def drill_down_of(code: Client, frame: Frame) -> Callable[[int], Frame] | None:
    """Return the way from a row of an analysis to its commits."""
    if "drill_down" in frame.attrs:
        return lambda row: code.drill_down(frame, row, progress=False)
    return None


def limit_to_changes(commits: Frame, changes: Frame) -> Frame:
    """Return commits with one of these changes, and only their lines and files; `changes` has a row per file."""
    keys = ["repository", "commit"]
    rows = changes[[*keys, "path", "additions", "deletions"]].astype(dict.fromkeys(keys, "str"))
    sums = rows.groupby(keys).agg(files=("path", "size"), **LINE_SUMS)
    remaining = commits.drop(columns=["files", "additions", "deletions"]).astype(dict.fromkeys(keys, "str"))
    frame = remaining.merge(sums.reset_index(), on=keys, how="inner")
    frame = frame.astype({"files": "Int32", "additions": "Int64", "deletions": "Int64"})
    frame = frame[list(commits.columns)]
    frame.attrs = dict(commits.attrs)
    return frame


def notices_of(frames: Sequence[Frame | None]) -> list[str]:
    """Return notices of answers, each once, in order.

    A notice of one subject, ``Ownership: 3 commits are missing``, is left out after the same notice without a subject.
    """
    notices: dict[str, None] = {}
    for frame in frames:
        if frame is None:
            continue
        for notice in frame.attrs.get("notices", ()):
            text = notice.rstrip(".") + "."
            statement = text.partition(": ")[2]
            if f"{statement[:1].upper()}{statement[1:]}" not in notices and statement not in notices:
                notices.setdefault(same_kind(text, notice))
    return list(notices)


def name_subject(subject: str, frames: Sequence[Frame | None]) -> list[Frame]:
    """Return answers about one subject, whose notices name it because they don't apply to the whole report."""
    renamed = []
    for frame in frames:
        if frame is not None:
            notices = [
                same_kind(f"{subject}: {text[:1].lower()}{text[1:]}", text) for text in frame.attrs.get("notices", ())
            ]
            renamed.append(_with_notices(frame, notices))

    return renamed


def without_rules(frame: Frame, *subjects: RuleSubject) -> Frame:
    """Return an answer without the rules on some subjects: a report states them itself, with its numbers and tables."""
    return _with_notices(frame, [text for text in frame.attrs.get("notices", ()) if not is_rule(text, *subjects)])


def _with_notices(frame: Frame, notices: list[str]) -> Frame:
    # Callers read only its attributes, so no rows are copied.
    bare = frame.head(0)
    bare.attrs = {**frame.attrs, "notices": notices}
    return bare


def limited_notices(frames: Sequence[Frame | None]) -> list[str]:
    """Return notices on what answers lack, without those on how they count."""
    limited = [frame for frame in frames if frame is not None and frame.attrs.get("status") == "limited"]
    return [notice for notice in notices_of(limited) if not is_rule(notice)]


def is_shallow(frame: Frame | None) -> bool:
    """Return whether an answer lacks the older history of a shallow clone."""
    return frame is not None and lacks_older_history(frame.attrs.get("notices", ()))


def repositories_text(names: Sequence[str], commits_by_name: Mapping[str, Any]) -> str:
    """Return names of repositories with the first digits of the commits that were read."""
    texts = []
    for name in names:
        commits = commits_by_name.get(name, ())
        heads = [commits] if isinstance(commits, str) else list(commits)
        texts.append(f"{name} ({', '.join(str(head)[:12] for head in heads)})" if heads else name)
    return ", ".join(texts) or "none"

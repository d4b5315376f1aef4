"""Who brought a line as it is, and when, by blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.commits import evidence_of
from sourcelight.engines.deepsearch.facts.events import byline
from sourcelight.engines.deepsearch.facts.model import Work, format_call
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.lookups.model import Finding, Statement
from sourcelight.engines.deepsearch.markdown import inline


def find_line_author(  # noqa: PLR0911 - what is not one line of one file is left to others
    work: Work, paths: PathNames, path: str, line: int
) -> Finding | None:
    """Return the commit that brought a line of a file; None if the path is not one file."""
    scope = paths.find(path)
    if scope is None or not scope.is_file:
        return None
    matching = [
        (repository, each)
        for (repository, _), files in paths.paths.items()
        for each in files
        if each == path or each.endswith(f"/{path}")
    ]
    exact = [item for item in matching if item[1] == path]
    if len(exact or matching) != 1:
        return None
    ((repository, file),) = exact or matching
    target = work.inquiry.pins.of(repository)
    if target is None:
        return None
    texts = FileTexts(work.context)
    count = len(texts.lines(target, file))
    if not 1 <= line <= count:
        text = f"{code(file)} has no line {line:,}: it ends with line {count:,}"
        evidence = (texts.evidence(target, file, count, count, "read"),) if count else ()
        return Finding(Statement(text, evidence), "line", is_negative=True)
    arguments: dict[str, Any] = {"repo": repository, "path": file}
    if target.revision:
        arguments["revision"] = target.commit
    try:
        answer = work.call("blame", arguments)
        row = next((each for each in answer.table.to_pylist() if each["line_number"] == line), None)
        if row is None:
            return None
        lookup = {"repos": [repository], "revisions": [row["commit"]], "count": 1}
        commits = work.call("commit_search", lookup).table.to_pylist()
    except (RepositoryError, SourcelightError):
        work.context.cancellation.check()
        return None
    if not commits:
        return None
    commit = commits[0]
    quoted = texts.evidence(target, file, line, line, "read", 1.0)
    text = f"Line {line:,} of {code(file)} was last changed by {byline(commit)} in “{inline(commit['subject'])}”"
    # The name is that of the pin: rows of a table that was built before a repository was renamed have the former one.
    changed = evidence_of(commit, f"last to change line {line}")
    finding = Finding(Statement(text, (replace(changed, repository=repository), quoted)), "line", quotes=[quoted])
    finding.queries = [format_call("blame", arguments)]
    if row["boundary"]:
        finding.method.append("History ends at this commit, so the line may be older.")
    if row["original_path"] != file:
        finding.method.append(f"It was line {row['original_line_number']:,} of {code(row['original_path'])} then.")
    return finding

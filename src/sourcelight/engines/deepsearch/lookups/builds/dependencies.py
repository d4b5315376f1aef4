"""Whether manifests list a package, for what, and its version."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import code, count_of, join_first
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, row_evidence, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    is_own,
    is_repository,
    list_manifests,
    own_first,
    select_manifests,
    state_requirement,
    unread_manifests,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    MANIFESTS,
    OTHER_MANIFESTS,
    PARTLY_READ,
    PLATFORM,
    PLUGIN,
    Requirement,
    has_part,
    has_word,
    is_called,
    lists_by_reference,
    normalize,
    says_scope,
)

_OWN_WORK = re.compile(
    r"dev|docs?\b|test|lint|typ|\bci\b|style|bench|release|pre-commit|suggests|build|^extras$|" + f"{PLUGIN}",
    re.IGNORECASE,
)
_GROUPS = {
    "dev": r"dev", "test": r"test", "optional": r"optional|extra|\bhttp2?\b", "peer": r"peer", "build": r"build",
    "doc": r"doc", "indirect": r"indirect", "suggested": r"suggest",
}  # fmt: skip
_GROUP_NAMES = {"dev": "development", "test": "test", "doc": "documentation"}
_VARIABLE = re.compile(r"\$\{?\(?([\w.-]+)\)?\}?")
_MAX_SET = 40
_MAY_NAME_OTHERWISE = re.compile(r"(?:^|/)(?:flake\.nix|WORKSPACE|stack\.yaml|dub\.sdl|Brewfile)$")
"""Manifests of formats that name packages in their own way."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A package that a manifest lists."""

    manifest: Manifest
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class PackageQuestion:
    """A question about a package: which one, of whom, and what is asked of it.

    Attributes
    ----------
    name
        The package.
    owner
        The package that may need it, a directory or a file; empty without one.
    group
        The list that is meant, such as ``dev`` or ``runtime``; empty for any.
    asks
        ``version``, ``listed``, ``use`` or ``need``.
    """

    name: str
    owner: str = ""
    group: str = ""
    asks: str = "listed"


def find_dependency(work: Work, question: PackageQuestion, notes: list[str]) -> Finding | None:
    """Return whether manifests list a package, and its version; None without a readable manifest."""
    if is_repository(work, question.name) and not question.owner:
        return None  # the repository itself

    texts = FileTexts(work.context)
    queries: list[str] = []
    manifests_of_all = own_first(work, list(list_manifests(work, texts, notes, queries, PARTLY_READ)))
    selection = _select(work, manifests_of_all, question)
    if selection is None:
        return None

    manifests, matches, read = selection
    is_selected = len(manifests) < len(manifests_of_all)
    if not matches:
        related = _find_related(manifests, question.name)
        # Their versions are not that of the requested package.
        if related and question.asks != "version":
            return _state_related(work, texts, question.name, related, queries, notes)
        # Manifests of tests and examples alone say nothing of the project.
        if all(manifest.rank > 1 for manifest in manifests if manifest.path in read):
            return None
        return _no_dependency(work, texts, question, read, queries, notes, is_selected=is_selected)

    matches_of_all = _match(manifests_of_all, question.name)[0] if is_selected else matches
    matches = _in_order(work, matches, question)

    # What examples list decides nothing where the project itself lists the package.
    rank = max(1, matches[0].manifest.rank)
    of_group = [
        match
        for match in matches
        if match.manifest.rank <= rank
        and (_is_of_group(match, question.group) or _is_for_work(match, question.group, manifests_of_all))
    ]
    # Most formats have one list for all that developers need: what it has may be for tests, or for something else.
    may_be_of_tests = question.group == "test" and question.asks != "listed" and not of_group
    of_developers = [match for match in matches if match.manifest.rank <= rank and _is_of_group(match, "dev")]
    selected = of_group or (of_developers if may_be_of_tests else []) or matches
    first = _statement(work, texts, selected[0], matches_of_all, queries, notes)
    text = first.text
    # A manifest in a directory of tests lists for them, while another one may have the version.
    of_tests = question.group == "test" and any(match.manifest.rank > rank for match in matches)
    is_of_question = of_group or of_tests or (may_be_of_tests and of_developers)
    if question.group and not is_of_question and says_scope(selected[0].manifest.path, selected[0].requirement):
        noun = _GROUP_NAMES.get(question.group, question.group)
        text += f", but not as {in_words_with_article(noun)} dependency"
    elif of_group and _may_say_yes(work, question, selected[0], manifests_of_all):
        text = f"Yes: {text}"

    versions = {match.requirement.version for match in selected if match.manifest.rank <= 1}
    if question.asks == "version" and len(versions - {""}) > 1:
        text += "; other lines list it differently"

    finding = Finding(Statement(text, first.evidence), "dependency", queries=[join_queries(queries)], notes=notes)
    remaining = [*selected[1:], *(match for match in matches if match not in selected)]
    finding.heading = "Other manifests and lists"
    finding.details = [
        state_requirement(work, texts, match.manifest, match.requirement) for match in remaining[: MAX_DETAILS - 1]
    ]
    read_paths = {*read, *(match.manifest.path for match in matches)}
    finding.method.append(f"Read {count_of(len(read_paths), 'manifest')}, but no lock files and no installed packages.")
    return finding


def _select(
    work: Work, manifests: Sequence[Manifest], question: PackageQuestion
) -> tuple[list[Manifest], list[_Match], list[str]] | None:
    """Return the manifests that a question is about, their lines that list its package, and the paths read whole.

    An owner that is neither a package nor a directory is a condition, such as "on Linux": a part of the name of a list.
    None if no list has it.
    """
    of_owner = select_manifests(work, list(manifests), question.owner)
    if of_owner is not None:
        return of_owner, *_match(of_owner, question.name)
    matches, read = _match(manifests, question.name)
    condition = question.owner.casefold()
    matches = [match for match in matches if condition in match.requirement.group.casefold()]
    return (list(manifests), matches, read) if matches else None


def _match(manifests: Sequence[Manifest], name: str) -> tuple[list[_Match], list[str]]:
    """Return the lines that list a package, the fully read manifests, and the others."""
    matches: list[_Match] = []
    read: list[str] = []
    for manifest in manifests:
        requirements = manifest.requirements
        if requirements is None:
            continue
        if not lists_by_reference(manifest.path, manifest.lines):
            read.append(manifest.path)
        matches += [_Match(manifest, item) for item in requirements if item.line and is_called(item, name)]

    # `vendor/react` is another package, where `react` itself is listed.
    exact = [match for match in matches if normalize(match.requirement.name) == normalize(name)]
    return exact or matches, read


def _in_order(work: Work, matches: Sequence[_Match], question: PackageQuestion) -> list[_Match]:
    """Put the project's own lists first, then those that it always needs; for a version, those that have one."""
    return sorted(
        matches,
        key=lambda match: (
            match.manifest.rank > 1,
            question.asks == "version" and not match.requirement.version,
            not is_own(work, match.manifest),
            _OWN_WORK.search(match.requirement.group) is not None,
            bool(match.requirement.group),
        ),
    )


def _is_of_group(match: _Match, group: str) -> bool:
    if not group:
        return True

    list_name = match.requirement.group
    if group == "direct":
        return "indirect" not in list_name
    if group in {"runtime", "required"}:
        return not list_name or list_name == PLATFORM

    # Groups of `pyproject.toml`, and the manifest of a project of tests, are for work on the package.
    if group == "dev" and (list_name.startswith("group ") or is_test(match.manifest.path)):
        return True
    if group == "test" and is_test(match.manifest.path):
        return True

    text = f"{match.manifest.path.rpartition('/')[2]} {list_name}" if group in {"dev", "test", "doc"} else list_name
    return re.search(_GROUPS[group], text, re.IGNORECASE) is not None


def _is_for_work(match: _Match, group: str, manifests: Sequence[Manifest]) -> bool:
    """Return whether a ``Gemfile`` beside a gemspec lists a package: what the gem needs is in the gemspec."""
    if group != "dev" or match.manifest.path.rpartition("/")[2] != "Gemfile":
        return False

    directory = match.manifest.directory
    return any(manifest.directory == directory and manifest.path.endswith(".gemspec") for manifest in manifests)


def _may_say_yes(work: Work, question: PackageQuestion, match: _Match, manifests: Sequence[Manifest]) -> bool:
    """Return whether "Yes" answers exactly the question: not for what only tests or examples of it list."""
    if re.match(r"\W*(?:does|do|is|are|did)\b", work.inquiry.question, re.IGNORECASE) is None:
        return False
    if match.manifest.rank > 1:
        return False

    base = match.manifest.path.rpartition("/")[2]
    packaged = {"Gemfile": r"\.gemspec$"}.get(
        base, r"^(?:pyproject\.toml|setup\.(?:py|cfg))$" if base.endswith(".txt") else r"^$"
    )

    # What a package needs is in its own manifest; a list beside that is for work on it.
    is_beside = any(
        manifest.directory == match.manifest.directory
        and re.search(packaged, manifest.path.rpartition("/")[2]) is not None
        for manifest in manifests
    )
    is_own_work = is_beside or _OWN_WORK.search(match.requirement.group) is not None
    return question.asks == "use" or bool(question.group) or not is_own_work


def _statement(
    work: Work, texts: FileTexts, match: _Match, all_matches: Sequence[_Match], queries: list[str], notes: list[str]
) -> Statement:
    """State what a line lists, with the line that has its version if that is another one."""
    statement = state_requirement(work, texts, match.manifest, match.requirement)
    version = match.requirement.version
    if not version:
        above = next(
            (
                other
                for other in all_matches
                if other.requirement.version
                and other.manifest.target is match.manifest.target
                and other.manifest.directory != match.manifest.directory
                and _is_above(other.manifest.path, match.manifest.path)
            ),
            None,
        )
        if above is None:
            return statement

        line = above.requirement.line
        evidence = texts.evidence(above.manifest.target, above.manifest.path, line, line, "read", 1.0)
        text = f"{statement.text}; {code(above.manifest.path)} gives the version {code(above.requirement.version)}"
        return Statement(text, (*statement.evidence, evidence))

    variable = _VARIABLE.search(version)
    if variable is None:
        return statement

    assigned = _find_variable(work, texts, match.manifest, variable[1], queries, notes)
    if assigned is None:
        return statement

    value, value_line = assigned
    return Statement(f"{statement.text}, which is set to {code(value)}", (*statement.evidence, value_line))


def _find_variable(
    work: Work, texts: FileTexts, manifest: Manifest, name: str, queries: list[str], notes: list[str]
) -> tuple[str, FileEvidence] | None:
    """Return the only value that build files of a repository give a variable, and the line that has it."""
    tail = name.rpartition(".")[2]
    if manifest.path.endswith(("pom.xml", "proj", ".props", ".targets")):
        pattern = rf"<{escape_regexp(name)}>[^<$]+<\/"
        expression = re.compile(rf"<{re.escape(name)}>([^<$]+)</")
        files = r"(^|/)pom\.xml$|\.(props|targets|[cfv][sb]proj)$"
    else:
        pattern = rf"\b{escape_regexp(tail)}[\"']?\s*[:=]\s*[\"']?\d"
        expression = re.compile(rf"\b{re.escape(tail)}[\"']?\s*[:=]\s*[\"']?([\d][\w.+-]*)[\"']?")
        files = r"\.(gradle|kts|properties)$|\.versions\.toml$"

    searches = make_queries(work, f"case:yes type:file file:{quote_value(files)} /{pattern}/")
    queries += searches
    values: dict[str, FileEvidence] = {}
    for row in run_searches(work, searches, notes)[:_MAX_SET]:
        match = expression.search((row["line"] or "")[:500])
        if row["type"] == "content" and match is not None and row["repository"] == manifest.target.repository.name:
            number = row["line_number"]
            evidence = texts.evidence(manifest.target, row["path"], number, number, "read", 1.0)
            values.setdefault(match[1].strip(), evidence)

    return next(iter(values.items())) if len(values) == 1 else None


def _find_related(manifests: Sequence[Manifest], name: str) -> list[_Match]:
    """Return packages whose names have the requested one as a part, such as `jackson-databind` for `jackson`."""
    return [
        _Match(manifest, requirement)
        for manifest in manifests
        if manifest.rank <= 1
        for requirement in manifest.requirements or ()
        if requirement.line and has_part(requirement.name, name)
    ]


def _state_related(
    work: Work, texts: FileTexts, name: str, related: Sequence[_Match], queries: list[str], notes: list[str]
) -> Finding:
    statements = [state_requirement(work, texts, match.manifest, match.requirement) for match in related]
    note = f", a package whose name begins with {code(name)}"
    statements[0] = Statement(f"{statements[0].text}{note}", statements[0].evidence)
    finding = Finding(
        statements[0], "dependency", queries=[join_queries(queries)], notes=notes, heading="Other packages of the name"
    )
    finding.details = statements[1:MAX_DETAILS]
    finding.method.append("No manifest lists a package with exactly the requested name. Lock files were not read.")
    return finding


def _no_dependency(
    work: Work,
    texts: FileTexts,
    question: PackageQuestion,
    read: list[str],
    queries: list[str],
    notes: list[str],
    *,
    is_selected: bool,
) -> Finding | None:
    if question.asks == "version" or not read or notes:
        return None

    tail = question.name.rpartition("/")[2]
    searches = make_queries(work, f"case:no type:file /{escape_regexp(tail)}/")
    rows = [row for row in run_searches(work, searches, notes) if has_word(row["line"] or "", tail)]
    if notes:
        return None

    # What no manifest lists may still be in use: a module of the language, or a copy in the repository.
    if question.asks in {"use", "need"} and rows and "/" not in question.name:
        return None

    mentioning = _manifests_with_word(rows, tail)
    if is_selected:
        # A manifest above may list it for all packages below; one of a sibling package says nothing of this one.
        mentioning = {path for path in mentioning if any(_is_above(path, manifest) for manifest in read)}

    unread = [row for row in unread_manifests(work, notes) if _MAY_NAME_OTHERWISE.search(row["path"]) is not None]
    if notes or unread or mentioning:
        return None

    # Without a number, which would need a second count.
    manifests = join_first([code(path) for path in read], MAX_NAMED)
    if is_selected:
        # Another package of the repository may list it, so the manifests are the subject.
        text = f"No: {manifests} {'does' if len(read) == 1 else 'do'} not list {code(question.name)}"
    else:
        text = f"No: no searched manifest lists {code(question.name)} ({manifests})"

    finding = Finding(
        Statement(text), "dependency", queries=[join_queries(queries), join_queries(searches)], is_negative=True
    )
    _add_other_lines(work, texts, finding, rows, tail)
    return finding


def _manifests_with_word(rows: Sequence[Mapping[str, Any]], word: str) -> set[str]:
    """Return the manifests and lists among the files with a word: they may list it in a form that isn't read.

    Those can't prove a "no". A manifest without the word lists nothing of its name, also if it can't be read whole.
    """
    is_manifest = re.compile(f"{MANIFESTS}|{OTHER_MANIFESTS}|{PARTLY_READ}")
    # A program may read its list from a text file, with an entry on each line.
    entry = re.compile(rf"\s*{re.escape(word)}(?![\w-])", re.IGNORECASE)
    return {
        row["path"]
        for row in rows
        if (is_manifest.search(row["path"]) and not row["path"].endswith("Makefile"))
        or (row["path"].endswith((".txt", ".in")) and entry.match(row["line"] or "") is not None)
    }


def _add_other_lines(work: Work, texts: FileTexts, finding: Finding, rows: list[dict[str, Any]], word: str) -> None:
    """Add the lines of other files that contain a word: code may use what no manifest lists."""
    if not rows:
        finding.method.append(f"No searched file contains {code(word)}.")
        return

    rows.sort(key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))
    verb = "contains" if len(rows) == 1 else "contain"
    finding.method.append(f"{count_of(len(rows), 'line')} in other files {verb} {code(word)}.")
    finding.heading = "Lines with this text"
    for row in rows[:MAX_NAMED]:
        line = row_evidence(work, texts, row)
        if line is not None:
            finding.details.append(Statement(code((row["line"] or "").strip()[:160]), (line,)))


def _is_above(path: str, manifest: str) -> bool:
    """Return whether a manifest is in the directory of another one, or in one above it."""
    directory = path.rpartition("/")[0]
    # A catalog of versions is in a separate directory, for all packages of the repository.
    if path.endswith(".versions.toml"):
        directory = directory.rpartition("/")[0]
    return not directory or manifest.startswith(f"{directory}/")

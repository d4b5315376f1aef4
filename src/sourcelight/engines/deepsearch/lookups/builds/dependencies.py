"""Whether manifests list a package, for what, and its version.

The manifest that a question names decides, else that of the project, before those of tests and examples. A "No" needs
more than manifests without the package: no other file that may list packages has the name, and no search left out a
file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.markup import code, count_of, join_first
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, row_evidence, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    is_own,
    is_repository,
    list_manifests,
    manifests_of_word,
    select_manifests,
    state_requirement,
    unread_manifests,
)
from sourcelight.engines.deepsearch.lookups.builds.package_lines import (
    PackageLine,
    find_package_lines,
    have_one_version,
    is_above,
    lines_of_subject,
    state_package_line,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    MANIFESTS,
    OTHER_MANIFESTS,
    PARTLY_READ,
    PLATFORM,
    Likeness,
    has_word,
    likeness,
    requirements_rank,
    says_scope,
)

_OWN_WORK = re.compile(
    r"dev|docs?\b|test|lint|typ|\bci\b|style|bench|release|pre-commit|suggest|recommend|image|installed|build|^extras$",
    re.IGNORECASE,
)
_OPTIONAL_LIST = re.compile(r"\boptional\b|\bsuggests?\b", re.IGNORECASE)
_VERSIONS_ALONE = re.compile(r"\bcatalog\b|^managed$|^workspace$")
"""Lists that have versions for what others list: they make nothing a dependency."""
_GROUPS = {
    "dev": r"dev", "test": r"test", "optional": r"optional|extra|\bhttp2?\b", "peer": r"peer", "build": r"build",
    "doc": r"doc", "indirect": r"indirect", "suggested": r"suggest",
}  # fmt: skip
_GROUP_NAMES = {"dev": "development", "test": "test", "doc": "documentation"}
_PART = re.compile(
    r"\b(?:of|by|in|does|do|for) (?:the|our|its) "
    r"(?P<name>app|website|server|cli|frontend|backend|client|core|api)\b(?!-)",
    re.IGNORECASE,
)
"""A part of a project that its kind names."""
_MAY_NAME_OTHERWISE = re.compile(r"(?:^|/)(?:flake\.nix|WORKSPACE|stack\.yaml|dub\.sdl|Brewfile)$")
"""Manifests of formats that name packages in their own way."""


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
        ``version``, ``listed``, ``use``, ``need`` or ``condition``.
    is_free, subject
        Whether the question has a subject of no form, so that "Yes" and "No" may answer something else; and the words
        of that subject, such as ``listener``, by which one of several manifests may be chosen.
    """

    name: str
    owner: str = ""
    group: str = ""
    asks: str = "listed"
    is_free: bool = False
    subject: tuple[str, ...] = ()


def find_dependency(work: Work, question: PackageQuestion) -> Finding | None:
    """Return whether manifests list a package, and its version; None without a readable manifest."""
    if is_repository(work, question.name) and not question.owner:
        return None  # the repository itself

    scripts = [word for word in (question.owner, *question.subject) if word.lower().endswith(".ps1")]
    # Any script may say which modules it requires; only one that the question names is read.
    further_files = "|".join([PARTLY_READ, *(rf"(^|/){escape_regexp(script)}$" for script in scripts)])
    manifest_list = list_manifests(work, further_files, own_first=True)
    manifests_of_all = manifest_list.manifests
    part = _PART.search(work.inquiry.question) if not question.owner else None
    of_part = manifests_of_word(work, manifests_of_all, part["name"].lower()) if part is not None else []
    if part is not None and of_part:
        # "A dependency of the app" is in the manifest of `mill-app`, if there is one.
        question = replace(question, owner=part["name"].lower())

    selection = _select(work, manifests_of_all, question)
    if selection is None:
        return None

    manifests, matches, read = selection
    is_selected = len(manifests) < len(manifests_of_all)
    if not matches:
        return _find_unlisted(work, question, manifests, read, manifest_list.query, is_selected=is_selected)

    matches_of_all = find_package_lines(manifests_of_all, question.name)[0] if is_selected else matches
    matches = _in_order(work, matches, question)

    # What examples list decides nothing where the project itself lists the package.
    rank = max(1, matches[0].manifest.rank)
    # A list such as `dev.requirements.txt` says by its name what it is for.
    of_group = [
        match
        for match in matches
        if (match.manifest.rank <= rank or (question.group and requirements_rank(match.manifest.path) > 1))
        and _is_of_list(match, question.group, manifests_of_all)
    ]
    # Most formats have one list for all that developers need: what it has may be for tests, or for something else.
    may_be_of_tests = question.group == "test" and question.asks != "listed" and not of_group
    of_developers = [match for match in matches if match.manifest.rank <= rank and _is_of_group(match, "dev")]
    selected = of_group or (of_developers if may_be_of_tests else []) or matches
    first, queries = state_package_line(work, selected[0], matches_of_all)
    text = first.text
    # A manifest in a directory of tests lists for them, while another one may have the version.
    # What Cargo lists for development is for tests, examples and benchmarks.
    is_of_cargo = bool(of_developers) and selected[0].manifest.path.endswith("Cargo.toml")
    of_tests = question.group == "test" and any(match.manifest.rank > rank for match in matches)
    is_of_question = of_group or of_tests or (may_be_of_tests and of_developers)
    if (
        question.group
        and not (is_of_question or question.subject or (question.group == "test" and is_of_cargo))
        and says_scope(selected[0].manifest.path, selected[0].requirement)
    ):
        noun = _GROUP_NAMES.get(question.group, question.group)
        text += f", but not as {in_words_with_article(noun)} dependency"
    elif of_group and _may_say_yes(work, question, selected[0], manifests_of_all):
        # "Only" is true where no other list has the package.
        is_only = re.search(r"\bonly\b", work.inquiry.question, re.IGNORECASE) is not None
        text = text if is_only and len(of_group) < len(matches) else f"Yes: {text}"

    versions = {match.requirement.version for match in selected if match.manifest.rank.is_of_project}
    if question.asks == "version" and len(versions - {""}) > 1:
        text += "; other lines list it differently"

    finding = Finding(
        Statement(text, first.evidence),
        "dependency",
        queries=[join_queries([manifest_list.query, *queries])],
        notes=work.notes,
    )
    remaining = [*selected[1:], *(match for match in matches if match not in selected)]
    finding.heading = "Other manifests and lists"
    finding.details = [
        state_requirement(work, match.manifest, match.requirement) for match in remaining[: MAX_DETAILS - 1]
    ]
    read_paths = {*read, *(match.manifest.path for match in matches)}
    finding.method.append(f"Read {count_of(len(read_paths), 'manifest')}, but no lock files and no installed packages.")
    return finding


def _find_unlisted(
    work: Work,
    question: PackageQuestion,
    manifests: Sequence[Manifest],
    read: list[str],
    query: str,
    *,
    is_selected: bool,
) -> Finding | None:
    """Return packages that are called alike, or that no manifest lists a package; None where that isn't certain."""
    if question.is_free:
        return None

    related = _find_related(manifests, question.name)
    # Their versions are not that of the requested package, unless it is merely written otherwise.
    same = [match for match, alike in related if alike is Likeness.SAME_LETTERS]
    if same or (related and question.asks != "version"):
        return _state_related(work, question.name, same or [match for match, _ in related], query)
    # Manifests of tests and examples alone say nothing of the project.
    if all(not manifest.rank.is_of_project for manifest in manifests if manifest.path in read):
        return None
    return _no_dependency(work, question, read, query, is_selected=is_selected)


def _select(
    work: Work, manifests: Sequence[Manifest], question: PackageQuestion
) -> tuple[list[Manifest], list[PackageLine], list[str]] | None:
    """Return the manifests that a question is about, their lines that list its package, and the paths read whole.

    An owner that is neither a package nor a directory is a condition, such as "on Linux": a part of the name of a list.
    None if no list has it. Of a free subject, a word that a manifest or a list is named by chooses it; without one, the
    question has to describe it, and all lists have to have the same version.
    """
    of_owner = None if question.subject else select_manifests(work, list(manifests), question.owner)
    if of_owner is None and not question.subject and not find_package_lines(manifests, question.owner)[0]:
        of_owner = manifests_of_word(work, list(manifests), question.owner) or None
    if of_owner is not None:
        return of_owner, *find_package_lines(of_owner, question.name)
    matches, read = find_package_lines(manifests, question.name)
    condition = question.owner.casefold()
    of_condition = [match for match in matches if condition and condition in match.requirement.group.casefold()]
    if of_condition:
        return list(manifests), of_condition, read

    subject = question.subject or (question.owner,)
    # "The numpy that pandas needs": a package in the place of the subject has a manifest of its own.
    if any(find_package_lines(manifests, word)[0] for word in subject):
        return None

    selected = lines_of_subject(matches, subject)
    # Whether a subject that no manifest names uses a package is another question than its version.
    is_of_version = question.asks == "version" and _is_described(work.inquiry.question, subject)
    if not selected and is_of_version and have_one_version(matches):
        selected = matches

    return (list(manifests), selected, read) if selected else None


def _is_described(question: str, subject: Sequence[str]) -> bool:
    """Return whether a question describes its subject, as "the weaving machine", rather than names another thing."""
    described = r"\b(?:the|this|our|its|your|my)\s+(?:[\w./-]{1,40}\s+){0,3}"
    return all(re.search(rf"{described}{re.escape(word)}\b", question, re.IGNORECASE) for word in subject)


def _in_order(work: Work, matches: Sequence[PackageLine], question: PackageQuestion) -> list[PackageLine]:
    """Put the project's own lists first, then those that it always needs; for a version, those that have one."""
    return sorted(
        matches,
        key=lambda match: (
            not match.manifest.rank.is_of_project,
            question.asks == "version" and not match.requirement.version,
            not is_own(work, match.manifest),
            _is_of_profile(match),
            _OWN_WORK.search(match.requirement.group) is not None,
            bool(match.requirement.group),
        ),
    )


def _is_of_group(match: PackageLine, group: str) -> bool:
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


def _is_of_list(match: PackageLine, group: str, manifests: Sequence[Manifest]) -> bool:
    """Return whether a package is listed for a group; a ``Gemfile`` beside a gemspec lists what is for work on it."""
    if group in {"runtime", "required"} and (_is_for_work(match, manifests) or _is_of_profile(match)):
        return False
    return _is_of_group(match, group) or (group == "dev" and _is_for_work(match, manifests))


def _is_of_profile(match: PackageLine) -> bool:
    """Return whether only a profile of a build lists a package, which is chosen by hand."""
    return match.requirement.condition.startswith("profile ")


def _is_for_work(match: PackageLine, manifests: Sequence[Manifest]) -> bool:
    """Return whether a ``Gemfile`` beside a gemspec lists a package: what the gem needs is in the gemspec."""
    if match.manifest.path.rpartition("/")[2] != "Gemfile":
        return False

    directory = match.manifest.directory
    return any(manifest.directory == directory and manifest.path.endswith(".gemspec") for manifest in manifests)


def _may_say_yes(work: Work, question: PackageQuestion, match: PackageLine, manifests: Sequence[Manifest]) -> bool:
    """Return whether "Yes" answers exactly the question: not for what only tests or examples of it list."""
    if re.match(r"\W*(?:does|do|is|are|did)\b", work.inquiry.question, re.IGNORECASE) is None:
        return False
    # "Is it needed to run, or only for tests?" has no yes and no no.
    # "Is it needed on Python 3.12?" is answered by the condition that the line has.
    is_of_project = match.manifest.rank.is_of_project
    if not is_of_project or question.subject or " or " in work.inquiry.question or question.asks == "condition":
        return False
    # "Is it pinned?" asks for neither of them.
    if question.asks == "version" and re.search(r"\b(?:which|what)\b", work.inquiry.question, re.IGNORECASE) is None:
        return False
    list_name = match.requirement.group
    is_of_versions = _VERSIONS_ALONE.search(list_name) is not None
    is_optional = question.asks == "need" and _OPTIONAL_LIST.search(list_name) is not None
    if (not question.group and (is_of_versions or is_optional)) or _is_of_profile(match):
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


def _find_related(manifests: Sequence[Manifest], name: str) -> list[tuple[PackageLine, Likeness]]:
    """Return packages whose names resemble the requested one, such as `jackson-databind` does `jackson`, and how."""
    alike = [
        (PackageLine(manifest, requirement), likeness(requirement.name, name))
        for manifest in manifests
        if manifest.rank.is_of_project
        for requirement in manifest.requirements or ()
        if requirement.line
    ]
    return [(match, resemblance) for match, resemblance in alike if resemblance is not None]


def _state_related(work: Work, name: str, related: Sequence[PackageLine], query: str) -> Finding:
    statements = [state_requirement(work, match.manifest, match.requirement) for match in related]
    resemblance = likeness(related[0].requirement.name, name)
    note = f", {resemblance.value.format(code(name))}" if resemblance is not None else ""
    statements[0] = Statement(f"{statements[0].text}{note}", statements[0].evidence)
    finding = Finding(
        statements[0],
        "dependency",
        queries=[query],
        notes=work.notes,
        heading="Other packages of the name",
    )
    finding.details = statements[1:MAX_DETAILS]
    finding.method.append("No manifest lists a package with exactly the requested name. Lock files were not read.")
    return finding


def _no_dependency(
    work: Work,
    question: PackageQuestion,
    read: list[str],
    query: str,
    *,
    is_selected: bool,
) -> Finding | None:
    if question.asks == "version" or not read or work.notes:
        return None

    tail = question.name.rpartition("/")[2]
    searches = make_queries(work, f"case:no type:file /{escape_regexp(tail)}/")
    rows = [row for row in run_searches(work, searches) if has_word(row["line"] or "", tail)]
    if work.notes:
        return None

    # What no manifest lists may still be in use: a module of the language, or a copy in the repository.
    if question.asks in {"use", "need"} and rows and "/" not in question.name:
        return None

    mentioning = _manifests_with_word(rows, tail)
    if is_selected:
        # A manifest above may list it for all packages below; one of a sibling package says nothing of this one.
        mentioning = {path for path in mentioning if any(is_above(path, manifest) for manifest in read)}

    unread = [row for row in unread_manifests(work) if _MAY_NAME_OTHERWISE.search(row["path"]) is not None]
    if work.notes or unread or mentioning:
        return None

    # Without a number, which would need a second count.
    manifests = join_first([code(path) for path in read], MAX_NAMED)
    if is_selected:
        # Another package of the repository may list it, so the manifests are the subject.
        text = f"No: {manifests} {'does' if len(read) == 1 else 'do'} not list {code(question.name)}"
    else:
        text = f"No: no searched manifest lists {code(question.name)} ({manifests})"

    finding = Finding(Statement(text), "dependency", queries=[query, join_queries(searches)], is_negative=True)
    _add_other_lines(work, finding, rows, tail)
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


def _add_other_lines(work: Work, finding: Finding, rows: list[dict[str, Any]], word: str) -> None:
    """Add the lines of other files that contain a word: code may use what no manifest lists."""
    if not rows:
        finding.method.append(f"No searched file contains {code(word)}.")
        return

    rows.sort(key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))
    verb = "contains" if len(rows) == 1 else "contain"
    finding.method.append(f"{count_of(len(rows), 'line')} in other files {verb} {code(word)}.")
    finding.heading = "Lines with this text"
    for row in rows[:MAX_NAMED]:
        line = row_evidence(work, row)
        if line is not None:
            finding.details.append(Statement(code((row["line"] or "").strip()[:160]), (line,)))

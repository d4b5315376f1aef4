"""Whether manifests list a package, for what, and its version.

The manifest that a question names decides, else that of the project, before those of tests and examples. Of its lines,
those of the list that is asked for count. Without any line, `unlisted_packages` has the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.core.markup import count_of
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, Finding, Statement
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathRank
from sourcelight.engines.deepsearch.facts.searches import join_queries
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    is_own,
    is_repository,
    list_manifests,
    manifests_of_word,
    select_manifests,
    state_requirement,
)
from sourcelight.engines.deepsearch.lookups.builds.package_lines import (
    PackageLine,
    PackageQuestion,
    find_package_lines,
    have_one_version,
    lines_of_subject,
    state_package_line,
)
from sourcelight.engines.deepsearch.lookups.builds.unlisted_packages import find_unlisted
from sourcelight.engines.deepsearch.lookups.manifests import PARTLY_READ, PLATFORM, requirements_rank, says_scope

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
        return find_unlisted(work, question, manifests, read, manifest_list.query, is_selected=is_selected)

    matches_of_all = find_package_lines(manifests_of_all, question.name)[0] if is_selected else matches
    matches = _in_order(work, matches, question)

    choice = _choose_lines(question, matches, manifests_of_all)
    selected = choice.lines
    first, queries = state_package_line(work, selected[0], matches_of_all)
    text = first.text
    if (
        not choice.is_of_group
        and not question.subject
        and says_scope(selected[0].manifest.path, selected[0].requirement)
    ):
        noun = _GROUP_NAMES.get(question.group, question.group)
        text += f", but not as {in_words_with_article(noun)} dependency"
    elif choice.of_group and _may_say_yes(work, question, selected[0], manifests_of_all):
        # "Only" is true where no other list has the package.
        is_only = re.search(r"\bonly\b", work.inquiry.question, re.IGNORECASE) is not None
        text = text if is_only and len(choice.of_group) < len(matches) else f"Yes: {text}"

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


@dataclass(frozen=True, slots=True)
class _LineChoice:
    """The lines that a question about a list is answered by, those that are of the list, and whether they are meant."""

    lines: list[PackageLine]
    of_group: list[PackageLine]
    is_of_group: bool


def _choose_lines(question: PackageQuestion, matches: list[PackageLine], manifests: Sequence[Manifest]) -> _LineChoice:
    """Choose the lines of the list that a question names; all of them if it names none, or none is of the list."""
    # What examples list decides nothing where the project itself lists the package.
    rank = max(PathRank.TOOLS, matches[0].manifest.rank)
    decisive = [match for match in matches if match.manifest.rank <= rank]
    # A list such as `dev.requirements.txt` says by its name what it is for.
    of_group = [
        match
        for match in matches
        if (match.manifest.rank <= rank or (question.group and requirements_rank(match.manifest.path) > 1))
        and _is_of_list(match, question.group, manifests)
    ]
    of_developers = [match for match in decisive if _is_of_group(match, "dev")]
    if question.group != "test":
        return _LineChoice(of_group or matches, of_group, bool(of_group) or not question.group)

    # Most formats have one list for all that developers need: what it has may be for tests, or for something else.
    may_be_of_tests = question.asks != "listed" and not of_group
    lines = of_group or (of_developers if may_be_of_tests else []) or matches
    # What Cargo lists for development is for tests, examples and benchmarks.
    is_of_cargo = bool(of_developers) and lines[0].manifest.path.endswith("Cargo.toml")
    # A manifest in a directory of tests lists for them, while another one may have the version.
    is_in_tests = len(decisive) < len(matches)
    return _LineChoice(
        lines, of_group, bool(of_group) or is_in_tests or (may_be_of_tests and bool(of_developers)) or is_of_cargo
    )


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


def _is_of_sibling(work: Work, manifest: Manifest, manifests: Sequence[Manifest]) -> bool:
    """Return whether a manifest is that of another package than the one with the repository's name, beside it.

    What a sibling in a repository of several packages needs, that one may do without.
    """
    base = manifest.path.rpartition("/")[2]
    namesakes = [item for item in manifests if item.rank.is_of_project and is_own(work, item)]
    has_own = any(item.path.rpartition("/")[2] == base and item.directory for item in namesakes)
    return has_own and bool(manifest.name) and not is_own(work, manifest)


def _may_say_yes(work: Work, question: PackageQuestion, match: PackageLine, manifests: Sequence[Manifest]) -> bool:
    """Return whether "Yes" answers exactly the question: not for what only tests or examples of it list."""
    if re.match(r"\W*(?:does|do|is|are|did)\b", work.inquiry.question, re.IGNORECASE) is None:
        return False
    # "Is it needed to run, or only for tests?" has no yes and no no.
    # "Is it needed on Python 3.12?" is answered by the condition that the line has.
    is_of_project = match.manifest.rank.is_of_project
    # Another list than that of the package, such as `requirements/testing.in`, is for work on it.
    is_other_list = not question.group and question.asks != "use" and requirements_rank(match.manifest.path) > 1
    if (
        not is_of_project
        or is_other_list
        or question.subject
        or " or " in work.inquiry.question
        or question.asks == "condition"
    ):
        return False
    # "Is it pinned?" asks for neither of them.
    if question.asks == "version" and re.search(r"\b(?:which|what)\b", work.inquiry.question, re.IGNORECASE) is None:
        return False
    if not question.owner and _is_of_sibling(work, match.manifest, manifests):
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

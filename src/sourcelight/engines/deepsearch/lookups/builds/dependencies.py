"""Versions of packages and of its language that the manifests of a repository require."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.markup.counts import list_names
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement, join_evidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.manifests import (
    MANIFESTS,
    OTHER_MANIFESTS,
    RUNTIME_CLAIMS,
    Requirement,
    is_same,
    normalize,
    read_requirements,
    read_runtime,
    requirements_rank,
)
from sourcelight.engines.deepsearch.lookups.names import MAX_DETAILS, SHOWN, rank_of
from sourcelight.engines.search import Target

_MAX_MANIFESTS = 200
_FUNCTIONS = r"setup\.py|build\.gradle(?:\.kts)?|build\.sbt|mix\.exs|cpanfile"
_BY_FUNCTIONS = re.compile(rf"(?:^|/)(?:{_FUNCTIONS})$")
"""Manifests whose calls name packages, in lists or not."""
_AS_CODE = re.compile(rf"(?:^|/)(?:{_FUNCTIONS}|[\w.-]+\.gemspec|Gemfile)$")
"""Manifests that are programs: code may add to the lists that are read."""
_OWN_WORK = re.compile(r"dev|build|docs?\b|test|lint|typ|\bci\b|style|bench|release|pre-commit", re.IGNORECASE)
_RUNTIME = re.compile(r"\b(?:runtime|production)\b", re.IGNORECASE)
_DECLARATION = re.compile(
    r"^[ \t]*(?:(?:api|implementation|compileOnly|runtimeOnly|\w+Implementation|\w+Api|kapt|ksp|classpath"
    r"|gem|\w*requires|recommends|suggests)\b[ \t(]+\S"
    r"|\w+\.add_\w*dependency\b|\{[ \t]*:\w+[ \t]*,|\"[\w.-]+\"[ \t]*%{1,3})",
    re.MULTILINE,
)
"""Lines by which a build program names a package."""
_GROUPS = {"dev": "development", "tes": "test", "pee": "peer", "opt": "optional", "bui": "build"}
_MAX_LISTED, _MAX_DETAILS = 12, 60


def find_dependency(work: Work, name: str, owner: str, notes: list[str]) -> Finding | None:
    """Return whether manifests list a package, and its version; None without a readable manifest.

    With an `owner`, those count that are in a directory of this name: the packages of a repository with several.
    """
    texts = FileTexts(work.context)
    queries: list[str] = []
    matches: list[tuple[Target, str, Requirement]] = []
    read, unread = [], []
    directory = owner.rpartition("/")[2].casefold()
    for target, path, lines in _manifests(work, texts, notes, queries):
        if directory and path.casefold().split("/")[-2:-1] != [directory]:
            continue
        requirements = read_requirements(path, lines)
        if requirements is None:
            unread.append(path)
            continue
        read.append(path)
        # It is listed, but no line can be cited: neither yes nor no.
        unread += [path for item in requirements if not item.line and is_same(item.name, name)]
        matches += [
            (target, path, requirement)
            for requirement in requirements
            if requirement.line and is_same(requirement.name, name)
        ]
    # `@types/react` and `vendor/react` are other packages, where `react` itself is listed.
    exact = [match for match in matches if normalize(match[2].name) == normalize(name)]
    matches = exact or matches
    if not matches:
        return _no_dependency(work, texts, name, owner, read, unread, queries, notes)
    many_repositories = len(work.inquiry.pins) > 1
    statements = [
        _statement(texts, target, path, requirement, many_repositories=many_repositories)
        for target, path, requirement in matches
    ]
    first = statements[0]
    finding = Finding(
        Statement(f"Yes: {first.text}" if _is_yes_no(work) else first.text, first.evidence),
        "dependency",
        queries=[join_queries(queries)],
        notes=notes,
        heading="Other manifests and lists",
    )
    finding.details = statements[1:MAX_DETAILS]
    finding.method.append(
        f"Read {count_of(len(read), 'manifest')}; lock files and what is installed were not looked at."
    )
    return finding


def _manifests(
    work: Work, texts: FileTexts, notes: list[str], queries: list[str]
) -> Iterator[tuple[Target, str, list[str]]]:
    """Yield the manifests of each repository: those at the top first, lists of requirements behind other manifests."""
    searches = make_queries(work, f"type:path file:{quote_value(MANIFESTS)}")
    queries += searches
    rows = [row for row in run_searches(work, searches, notes) if row["path"]]
    rows.sort(
        key=lambda row: (
            row["repository"],
            rank_of(row["path"]) > 1,
            row["path"].count("/"),
            requirements_rank(row["path"]),
            row["path"],
        )
    )
    for row in rows[:_MAX_MANIFESTS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is not None:
            yield target, row["path"], texts.lines(target, row["path"])
    if len(rows) > _MAX_MANIFESTS:
        notes.append(f"The first {_MAX_MANIFESTS} of {len(rows):,} manifests were read.")


def _is_yes_no(work: Work) -> bool:
    return re.match(r"\W*(?:does|do|is|are)\b", work.inquiry.question, re.IGNORECASE) is not None


def _statement(
    texts: FileTexts, target: Target, path: str, requirement: Requirement, *, many_repositories: bool
) -> Statement:
    name = requirement.name.rpartition(":")[2] if path.endswith((".xml", ".gradle", ".kts")) else requirement.name
    requirement_text = (
        f"{name}{requirement.version}"
        if requirement.version[:1] in "<>=!~" and path.endswith((".toml", ".txt", ".cfg", ".py", ".in"))
        else ""
    )
    version = (
        code(requirement_text)
        if requirement_text
        else f"{code(name)} {code(requirement.version)}"
        if requirement.version
        else f"{code(name)} without a version"
    )
    group = f" ({requirement.group})" if requirement.group else ""
    repository_text = f" of {code(target.repository.name)}" if many_repositories else ""
    line = texts.evidence(target, path, requirement.line, requirement.line, "read", 1.0)
    return Statement(f"{code(path)}{repository_text} lists {version}{group}", (line,))


def _no_dependency(
    work: Work,
    texts: FileTexts,
    name: str,
    owner: str,
    read: list[str],
    unread: list[str],
    queries: list[str],
    notes: list[str],
) -> Finding | None:
    # A manifest that can't be read may list it.
    if not read or unread or notes:
        return None
    tail = name.rpartition("/")[2]
    searches = make_queries(work, f"case:no type:file /{escape_regexp(tail)}/")
    rows = [row for row in run_searches(work, searches, notes) if row["type"] == "content"]
    if notes:
        return None
    # A manifest has the word, or one that isn't read may list it under another name: neither yes nor no.
    is_manifest = re.compile(f"{MANIFESTS}|{OTHER_MANIFESTS}")
    other_rows = _unread_manifests(work, notes)
    with_word = sorted({row["path"] for row in rows if is_manifest.search(row["path"])})
    if owner:
        # A manifest above may list it for all packages below; one of a sibling package says nothing of this one.
        with_word = [path for path in with_word if any(_is_above(path, manifest) for manifest in read)]
    if notes or other_rows or with_word:
        return None
    manifests = list_names([code(path) for path in read], SHOWN)
    if owner:
        # Another package of the repository may list it, so the manifests are the subject.
        text = f"No: {manifests} {'does' if len(read) == 1 else 'do'} not list {code(name)}"
    else:
        text = f"No: no manifest that is searched lists {code(name)} ({manifests})"
    finding = Finding(
        Statement(text), "dependency", queries=[join_queries(queries), join_queries(searches)], is_negative=True
    )
    if not rows:
        finding.method.append(f"No file that is searched has the letters {code(tail)} at all.")
        return finding
    rows.sort(key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))
    finding.method.append(
        f"{count_of(len(rows), 'line')} of files {'has' if len(rows) == 1 else 'have'} the letters {code(tail)}."
    )
    finding.heading = "Lines with these letters"
    for row in rows[:SHOWN]:
        target = work.inquiry.pins.of(row["repository"])
        if target is not None:
            line = texts.evidence(target, row["path"], row["line_number"], row["line_number"], "usage")
            finding.details.append(Statement(code((row["line"] or "").strip()[:160]), (line,)))
    return finding


def _unread_manifests(work: Work, notes: list[str]) -> list[dict[str, Any]]:
    """Return the rows of manifests in unsupported formats, which may list anything."""
    return run_searches(work, make_queries(work, f"type:path file:{quote_value(OTHER_MANIFESTS)}"), notes)


def _is_above(path: str, manifest: str) -> bool:
    """Return whether a manifest is in the directory of another one, or in one above it."""
    directory = path.rpartition("/")[0]
    return not directory or manifest.startswith(f"{directory}/")


def list_dependencies(work: Work, group: str, notes: list[str]) -> Finding | None:
    """Return the packages of the first manifest that lists any; None without a readable manifest.

    With a `group` such as ``dev``, only those that are listed for it count.
    """
    texts = FileTexts(work.context)
    queries: list[str] = []
    # One list for several repositories would be true of none of them.
    if len({pin.repository for pin in work.inquiry.pins}) > 1:
        return None
    every = [
        (target, path, read_requirements(path, lines))
        for target, path, lines in _manifests(work, texts, notes, queries)
        if rank_of(path) <= 1
    ]
    manifests = [
        (
            target,
            path,
            [item for item in requirements or () if item.line and group[:3].lower() in item.group.lower()],
        )
        for target, path, requirements in every
    ]
    # A list of what is always needed comes before one of what building, testing, documents or an option needs.
    manifests.sort(
        key=lambda manifest: requirements_rank(manifest[1]) > 1 or all(requirement.group for requirement in manifest[2])
    )
    top = min((path.count("/") for _, path, _ in every), default=0)
    root = [(target, path, requirements) for target, path, requirements in every if path.count("/") == top]
    if not group and not any(requirements for _, _, requirements in root):
        # Packages of a subdirectory aren't dependencies of the root.
        root_finding = _no_dependencies(work, texts, root, group, queries, notes)
        if root_finding is not None:
            return root_finding
    # Where one at the top can't be read, those of examples and benchmarks below would be taken for its own.
    if any(requirements is None for _, _, requirements in root):
        return None
    roots = {(target.repository.key, path) for target, path, _ in root}
    for target, path, requirements in manifests:
        if (target.repository.key, path) not in roots:
            continue
        required = [requirement for requirement in requirements if not requirement.group] or requirements
        if not required:
            continue
        statements = [
            _statement(texts, target, path, requirement, many_repositories=False) for requirement in requirements
        ]
        lines_cited = sorted({requirement.line for requirement in required[:_MAX_LISTED]})
        proofs = join_evidence([texts.evidence(target, path, line, line, "read", 1.0) for line in lines_cited])
        distinct = list(dict.fromkeys(requirement.name for requirement in required))
        names = join_words([code(requirement_name) for requirement_name in distinct[:_MAX_LISTED]])
        among = ", among them" if len(distinct) > _MAX_LISTED else ":"
        groups = sorted({requirement.group for requirement in required if requirement.group})
        of_group = f" ({', '.join(groups[:SHOWN])})" if groups else ""
        count = count_of(len({requirement.name for requirement in required}), "dependency")
        # For "runtime dependencies?" of a package without any, development dependencies alone are no answer.
        lines = texts.lines(target, path)
        manifest_text = "\n".join(lines)
        folded_text = manifest_text.casefold()
        confirmed_names = [name for name in distinct if re.split(r"[:/]", name)[-1].casefold() in folded_text]
        # A program may list more than what is read of it, by variables or in another form.
        is_least = len(_DECLARATION.findall(manifest_text)) > len(read_requirements(path, lines) or ())
        count = f"at least {count}" if is_least and _AS_CODE.search(path) else count
        has_none = not group and groups and not is_least and _are_for_development(path, lines, groups)
        if not has_none and groups and len(required) == len(requirements) and _RUNTIME.search(work.inquiry.question):
            return None
        none_text = "no dependencies to run with, and " if has_none else ""
        other_requirements = [requirement for requirement in requirements if requirement not in required]
        of_others = _of_others(other_requirements)
        verb = "names" if _BY_FUNCTIONS.search(path) else "lists"
        text = f"{code(path)} {verb} {none_text}{count}{of_group}{among} {names}{of_others}"
        finding = Finding(Statement(text, proofs), "dependencies", queries=[join_queries(queries)], notes=notes)
        finding.recounts = frozenset({len(confirmed_names), len(other_requirements)})
        finding.heading = "All that it lists"
        finding.details = statements[:_MAX_DETAILS]
        if len(statements) > _MAX_DETAILS:
            finding.method.append(f"The first {_MAX_DETAILS} of {len(statements):,} lines are listed.")
        finding.method.append("Other manifests, lock files and what is installed were not looked at.")
        return finding
    return _no_dependencies(work, texts, every, group, queries, notes)


def _are_for_development(path: str, lines: Sequence[str], groups: Sequence[str]) -> bool:
    """Return whether all groups of a manifest are for its own work, and no program adds others."""
    if all("dev" in name.lower() for name in groups):
        return True
    is_data = _AS_CODE.search(path) is None and not any(re.match(r"\s*dynamic\b", line) for line in lines)
    return is_data and all(_OWN_WORK.search(name) for name in groups)


def _of_others(requirements: Sequence[Requirement]) -> str:
    """State how many more packages a manifest lists, and for what."""
    if not requirements:
        return ""
    groups = list(dict.fromkeys(requirement.group for requirement in requirements))
    names = [*groups[:SHOWN], *(["other groups"] if len(groups) > SHOWN else [])]
    verb = "is" if len(requirements) == 1 else "are"
    return f"; {len(requirements):,} more {verb} for {join_words(names)}"


def _no_dependencies(
    work: Work,
    texts: FileTexts,
    manifests: Sequence[tuple[Target, str, list[Requirement] | None]],
    group: str,
    queries: list[str],
    notes: list[str],
) -> Finding | None:
    """State that manifests list nothing, if all of them could be read as data."""
    other_rows = _unread_manifests(work, notes)
    is_unsure = any(requirements is None or _AS_CODE.search(path) for _, path, requirements in manifests)
    if not manifests or other_rows or notes or is_unsure or len(manifests) > SHOWN:
        return None
    if not group and any(requirements for _, _, requirements in manifests):
        return None
    evidence = tuple(texts.evidence(target, path, 1, 1, "read", 1.0) for target, path, _ in manifests)
    verb = "lists" if len(manifests) == 1 else "list"
    of_group = f" {_GROUPS.get(group[:3].lower(), group)}" if group else ""
    text = f"{join_words([code(path) for _, path, _ in manifests])} {verb} no{of_group} dependencies"
    return Finding(
        Statement(text, evidence), "dependencies", queries=[join_queries(queries)], notes=notes, is_negative=True
    )


def find_runtime(work: Work, runtime: str, notes: list[str]) -> Finding | None:
    """Return the version of a language that manifests require, or None."""
    texts = FileTexts(work.context)
    queries: list[str] = []
    statements: list[Statement] = []
    many_repositories = len(work.inquiry.pins) > 1
    for target, path, lines in _manifests(work, texts, notes, queries):
        required = read_runtime(path, lines, runtime)
        if required is None:
            continue
        version, line = required
        repository_text = f" of {code(target.repository.name)}" if many_repositories else ""
        evidence = texts.evidence(target, path, line, line, "read", 1.0)
        statements.append(
            Statement(f"{code(path)}{repository_text} {RUNTIME_CLAIMS[runtime]} {code(version)}", (evidence,))
        )
    if not statements:
        return None
    finding = Finding(statements[0], "runtime", queries=[join_queries(queries)], notes=notes, heading="Other manifests")
    finding.details = statements[1:MAX_DETAILS]
    return finding

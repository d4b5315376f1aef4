"""Lists of the packages that a manifest names, for all of its work or for a part such as development.

One manifest is stated: that of the named package, else that of the project. Where a program may add to its lists, the
number is said to be a least one, or nothing is stated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    cite_lines,
    is_repository,
    list_manifests,
    manifests_of_word,
    state_requirement,
    unread_manifests,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    BY_NAME,
    MAX_LINE,
    PARTLY_READ,
    PLATFORM,
    PLUGIN,
    READ_WHOLE,
    Requirement,
    lists_by_reference,
    normalize,
    requirements_rank,
)

PLUGINS = "plugin"
_MAX_HEAD = 100
_LUA = re.compile(r"""["']lua\b\s*[<>=~]""")
_FUNCTIONS = r"setup\.py|build\.gradle(?:\.kts)?|build\.sbt|mix\.exs|cpanfile"
_BY_FUNCTIONS = re.compile(rf"(?:^|/)(?:{_FUNCTIONS})$")
"""Manifests whose calls name packages, in lists or not."""
_AS_CODE = re.compile(rf"(?:^|/)(?:{_FUNCTIONS}|[\w.-]+\.gemspec|Gemfile)$")
"""Manifests that are programs: code may add to the lists that are read."""
_OWN_WORK = re.compile(r"dev|build|docs?\b|test|lint|typ|\bci\b|style|bench|release|pre-commit", re.IGNORECASE)
_RUNTIME = re.compile(r"\b(?:run[ -]?time|production)\b", re.IGNORECASE)
_DECLARATION = re.compile(
    r"^[ \t]*(?:(?:api|implementation|compileOnly|runtimeOnly|\w+Implementation|\w+Api|kapt|ksp|classpath"
    r"|gem|\w*requires|recommends|suggests)\b[ \t(]+\S"
    r"|\w+\.add_\w*dependency\b|\{[ \t]*:\w+[ \t]*,|\"[\w.-]+\"[ \t]*%{1,3})",
    re.MULTILINE,
)
"""Lines by which a build program names a package."""
_GROUPS = {"dev": "development", "tes": "test", "pee": "peer", "opt": "optional", "bui": "build"}
_ALWAYS_NEEDED = re.compile(r"^requirements/(?:default|base|main|core|common|requirements|install)\.(?:txt|in)$")
"""Lists at the top of what a project always needs."""
_MAX_LISTED, _MAX_DETAILS, _MIN_PACKAGES = 12, 60, 2


def list_dependencies(work: Work, group: str, owner: str) -> Finding | None:
    """Return the packages of the first manifest that lists any; None without a readable manifest.

    With a `group` such as ``dev``, only those that are listed for it count; with an `owner`, those of its manifests.
    """
    # One list for several repositories would be true of none of them.
    if len({pin.repository for pin in work.inquiry.pins}) > 1 or group == PLUGINS:
        return _list_plugins(work, owner) if group == PLUGINS else None

    manifest_list = list_manifests(work, READ_WHOLE)
    queries = [manifest_list.query]
    candidates = [manifest for manifest in manifest_list.manifests if _may_be_meant(manifest, owner)]
    selected = _of_package(work, candidates, owner)
    if not selected or (owner and not any(_requirements(manifest) for manifest in selected)):
        # A package of Emacs Lisp has no other manifest than the head of its file.
        names = [owner] if owner else sorted(work.inquiry.pins.short_names)[:1]
        partial = _list_partly_read(work, names[0], group, queries, is_top=not owner) if names else None
        partial = partial or (_list_of_part(work, owner, queries) if owner and not group else None)
        if not selected or partial is not None:
            return partial

    selected = _of_repository(work, selected) if not owner or is_repository(work, owner) else selected
    top = min((_depth(manifest) for manifest in selected), default=0)
    root = [manifest for manifest in selected if _depth(manifest) == top]
    if not group and not any(_requirements(manifest) for manifest in root):
        # Packages of a subdirectory aren't dependencies of the root.
        root_finding = _no_dependencies(work, root, group, queries)
        if root_finding is not None:
            return root_finding

    decisive = _decisive(root, group)
    if decisive is None:
        return None

    lists = _sorted_lists(decisive, group)
    first = next((entry for entry in lists if entry[1]), None)
    if first is None:
        is_named = bool(owner) and len({manifest.directory for manifest in selected}) == 1
        return _no_dependencies(work, selected, group, queries, is_named=is_named)

    return _state_list(work, *first, group, queries)


def _may_be_meant(manifest: Manifest, owner: str) -> bool:
    """Return whether a manifest is of the project, of what is always needed, or of the directory of the owner."""
    is_of_owner = bool(owner) and manifest.directory.lower() == owner.lower()
    return manifest.rank.is_of_project or _ALWAYS_NEEDED.search(manifest.path) is not None or is_of_owner


def _decisive(root: list[Manifest], group: str) -> list[Manifest] | None:
    """Return the manifests at the top whose lists count; None if one of them can't be read."""
    if not group and any(_is_complete(manifest) for manifest in root):
        # What the package needs is in its own manifest: lists beside it are for work on it.
        root = [manifest for manifest in root if not requirements_rank(manifest.path)]

    # Where one at the top can't be read, those of examples and benchmarks below would be taken for its own.
    if all(_requirements(manifest) is not None for manifest in root):
        return root

    # A `setup.py` that reads its lists from files has them beside it.
    always_needed = [manifest for manifest in root if _ALWAYS_NEEDED.search(manifest.path) is not None]
    return None if group else always_needed or None


def _sorted_lists(manifests: Sequence[Manifest], group: str) -> list[tuple[Manifest, list[Requirement]]]:
    """Return the lists of a group; one of what is always needed comes before one of building, testing or an option."""
    lists = [(manifest, _of_group(_requirements(manifest) or (), group)) for manifest in manifests]
    return sorted(
        lists,
        key=lambda entry: (
            requirements_rank(entry[0].path) > 1 and _ALWAYS_NEEDED.search(entry[0].path) is None,
            all(item.group for item in entry[1]),
        ),
    )


def _is_complete(manifest: Manifest) -> bool:
    """Return whether a ``pyproject.toml`` has all that its package needs, rather than a program or another file."""
    if not manifest.path.endswith("pyproject.toml") or not any(line.strip() == "[project]" for line in manifest.lines):
        return False
    text = "\n".join(manifest.lines)
    dynamic = re.search(r"^[ \t]*dynamic\s*=\s*\[(?P<names>[^\]]{0,400})\]", text, re.MULTILINE)
    return "dynamic" not in text or (dynamic is not None and "dependencies" not in dynamic["names"])


def _of_repository(work: Work, manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the manifests of the package called as the repository, if none is at the top; none if that isn't clear.

    A repository of several packages has no list of its own, and the first one would be that of another package.
    """
    directories = {manifest.path.rpartition("/")[0] for manifest in manifests}
    if len(directories) < _MIN_PACKAGES or not all(_depth(manifest) for manifest in manifests):
        return list(manifests)

    names = [name for name in work.inquiry.pins.short_names if name]
    matches = [manifest for manifest in manifests if any(manifest.is_of(name) for name in names)]
    return matches if len({manifest.directory for manifest in matches}) == 1 else []


def _list_partly_read(work: Work, owner: str, group: str, queries: list[str], *, is_top: bool) -> Finding | None:
    """Return what the only manifest of an owner lists in a format of which more may be unread, such as a podspec.

    With `is_top`, one at the top that names no package is that of the repository.
    """
    manifest_list = list_manifests(work, PARTLY_READ)
    queries.append(manifest_list.query)
    manifests = [
        manifest
        for manifest in manifest_list.of_project
        if (_is_of(manifest, owner) or (is_top and not manifest.directory and _WITHOUT_NAME.search(manifest.path)))
        and manifest.requirements
    ]
    if len(manifests) != 1:
        return None

    requirements = [item for item in manifests[0].requirements or () if item.group not in {PLUGIN, PLATFORM, BY_NAME}]
    of_group = _of_group(requirements, group)
    if not of_group:
        return None
    return _state_list(work, manifests[0], of_group, group, queries, is_least=True)


def _list_plugins(work: Work, owner: str) -> Finding | None:
    """Return the plugins of its build that the only manifest at the top with any lists."""
    every = list_manifests(work, PARTLY_READ, own_first=True)
    lists = [
        (manifest, items)
        for manifest in manifests_of_word(work, every.of_project, owner)
        if (items := [item for item in manifest.requirements or () if PLUGINS in item.group.lower() and item.line])
    ]
    top = min((_depth(manifest) for manifest, _ in lists), default=0)
    lists = [entry for entry in lists if _depth(entry[0]) == top]
    return _state_list(work, *lists[0], PLUGINS, [every.query], is_least=True) if len(lists) == 1 else None


def _list_of_part(work: Work, part: str, queries: list[str]) -> Finding | None:
    """Return what the only manifest with a part of a name lists for it: a subspec, a system of Lisp, a subpackage."""
    names = {normalize(part), *(normalize(f"{noun} {part}") for noun in ("subspec", "configuration", "subPackage"))}
    lists = [
        (manifest, items)
        for manifest in list_manifests(work, PARTLY_READ).of_project
        if (items := [item for item in manifest.requirements or () if normalize(item.group) in names])
    ]
    return _state_list(work, *lists[0], part, queries, is_least=True) if len(lists) == 1 else None


_WITHOUT_NAME = re.compile(r"^deps\.edn$")
"""A manifest of a format that names no package."""


def _is_of(manifest: Manifest, owner: str) -> bool:
    """Return whether a manifest is of a package; a file of Emacs Lisp is called as its package."""
    if manifest.path.endswith(".el"):
        return normalize(manifest.path.rpartition("/")[2].removesuffix(".el")) == normalize(owner)
    return manifest.is_of(owner)


def _depth(manifest: Manifest) -> int:
    """Return how many directories a manifest is in; `requirements` is a list of the directory above it."""
    return manifest.path.count("/") - (manifest.directory.rpartition("/")[2] == "requirements")


def _of_group(requirements: Sequence[Requirement], group: str) -> list[Requirement]:
    """Return the packages of a list that a group names by its first letters; all without a group."""
    return [item for item in requirements if item.line and group[:3].lower() in item.group.lower()]


def _state_list(
    work: Work,
    manifest: Manifest,
    requirements: Sequence[Requirement],
    group: str,
    queries: list[str],
    *,
    is_least: bool = False,
) -> Finding | None:
    """State the packages of one manifest; None if it has only others than the question is about."""
    required = [requirement for requirement in requirements if not requirement.group] or requirements
    path = manifest.path
    statements = [state_requirement(work, manifest, requirement) for requirement in requirements]
    conditional = _conditional(requirements)
    lines_cited = sorted({requirement.line for requirement in [*required[:_MAX_LISTED], *conditional]})
    proofs = cite_lines(work.texts, manifest.target, path, lines_cited)
    distinct = list(dict.fromkeys(requirement.name for requirement in required))
    names = join_words([code(requirement_name) for requirement_name in distinct[:_MAX_LISTED]])
    among = ", including" if len(distinct) > _MAX_LISTED else ":"
    groups = sorted({requirement.group for requirement in required if requirement.group})
    of_group = f" ({', '.join(groups[:MAX_NAMED])})" if groups else ""
    # The language is in the list of what is always needed.
    beside = _beside_platform(manifest) if not group else ""
    of_group += f" beside {beside}" if beside else ""
    count = count_of(len(distinct), "dependency")

    # For "runtime dependencies?" of a package without any, development dependencies alone are no answer.
    manifest_text = "\n".join(manifest.lines)
    folded_text = manifest_text.casefold()
    confirmed_names = [name for name in distinct if re.split(r"[:/]", name)[-1].casefold() in folded_text]

    # A program may list more than what is read of it, by variables or in another form.
    has_further = len(_DECLARATION.findall(manifest_text)) > len(_requirements(manifest) or ())
    count = f"at least {count}" if is_least or (has_further and _AS_CODE.search(path)) else count
    is_least = is_least or has_further
    has_none = not group and groups and not is_least and _are_for_development(path, manifest.lines, groups)
    if not has_none and groups and len(required) == len(requirements) and _RUNTIME.search(work.inquiry.question):
        return None

    none_text = "no runtime dependencies, but " if has_none else ""
    other_requirements = [requirement for requirement in requirements if requirement not in required]
    of_others = _of_others(other_requirements)
    verb = "names" if _BY_FUNCTIONS.search(path) else "lists"
    text = f"{code(path)} {verb} {none_text}{count}{of_group}{among} {names}{_under_conditions(required)}{of_others}"
    finding = Finding(Statement(text, proofs), "dependencies", queries=[join_queries(queries)], notes=work.notes)
    finding.recounts = frozenset({len(confirmed_names), len(other_requirements)})
    finding.heading = "Full list"
    finding.details = statements[:_MAX_DETAILS]
    if len(statements) > _MAX_DETAILS:
        finding.method.append(f"The list has the first {_MAX_DETAILS} of {len(statements):,} lines.")

    finding.method.append("Other manifests, lock files and installed packages were not read.")
    return finding


def _beside_platform(manifest: Manifest) -> str:
    """Return what a manifest lists among its packages that is none: the language itself; empty for nothing."""
    if manifest.path.endswith("composer.json"):
        has_platform = any(item.group == PLATFORM for item in manifest.requirements or ())
        return "PHP and its extensions" if has_platform else ""
    if manifest.path.endswith(".el"):
        return "Emacs itself" if any("(emacs " in line[:MAX_LINE] for line in manifest.lines[:_MAX_HEAD]) else ""
    if manifest.path.endswith(".rockspec"):
        return "Lua itself" if any(_LUA.search(line[:MAX_LINE]) for line in manifest.lines) else ""
    return ""


def _of_package(work: Work, manifests: Sequence[Manifest], owner: str) -> list[Manifest] | None:
    """Return the manifests of one package: of the owner, or of what is called as the repository."""
    if owner and not is_repository(work, owner):
        return [manifest for manifest in manifests if manifest.is_of(owner)] or (
            manifests_of_word(work, list(manifests), owner) or None
        )

    tops = [manifest for manifest in manifests if not manifest.directory or _ALWAYS_NEEDED.search(manifest.path)]
    # The manifest of a workspace alone names no package: its members have the lists.
    if not tops or any(manifest.name or _lists_any(manifest) for manifest in tops):
        return list(manifests)

    members = [
        manifest
        for manifest in manifests
        if manifest.directory
        and (is_repository(work, manifest.name) or is_repository(work, manifest.directory.rpartition("/")[2]))
    ]
    return members[:1] or None


def _lists_any(manifest: Manifest) -> bool:
    """Return whether a manifest lists packages for itself, or may do so; versions for members of a workspace don't."""
    requirements = _requirements(manifest)
    return requirements is None or any(item.group != "workspace" for item in requirements)


def _requirements(manifest: Manifest) -> list[Requirement] | None:
    """Return the packages of a manifest, without plugins of its build; None if it can't be read whole."""
    requirements = manifest.requirements
    if requirements is None or lists_by_reference(manifest.path, manifest.lines):
        return None
    return [item for item in requirements if item.group not in {PLUGIN, PLATFORM, BY_NAME}]


def _are_for_development(path: str, lines: Sequence[str], groups: Sequence[str]) -> bool:
    """Return whether all groups of a manifest are for its own work, and no program adds others."""
    if all("dev" in name.lower() for name in groups):
        return True

    is_dynamic = any(
        re.match(r"\s*dynamic\b(?!\s*=\s*\[[^\]]*\]\s*$)|\s*dynamic\b.*\bdependencies\b", line) for line in lines
    )
    is_data = _AS_CODE.search(path) is None and not is_dynamic

    # Groups of `pyproject.toml` are for work on the package; its users never install them.
    return is_data and all(name.startswith("group ") or _OWN_WORK.search(name) for name in groups)


def _under_conditions(requirements: Sequence[Requirement]) -> str:
    """State under which conditions packages are needed, such as a marker of Python: on Windows alone."""
    texts: dict[str, list[str]] = {}
    for item in requirements:
        texts.setdefault(item.name, []).append(item.condition or item.version.partition(";")[2].strip())
    # What a line without a condition lists is needed in any case.
    conditions = {name: " or ".join(dict.fromkeys(of_name)) for name, of_name in texts.items() if all(of_name)}
    if len(conditions) > MAX_NAMED:
        return f"; {len(conditions):,} of them under a condition"
    return "".join(f"; {code(name)} under the condition {code(text)}" for name, text in conditions.items())


def _of_others(requirements: Sequence[Requirement]) -> str:
    """State how many more packages a manifest lists, and for what."""
    if not requirements:
        return ""
    groups = list(dict.fromkeys(requirement.group for requirement in requirements))
    if len(requirements) == len(_conditional(requirements)):
        # A condition is part of what is needed, rather than a list for other work.
        return "; " + "; ".join(f"{code(item.name)} is listed for {code(item.group)}" for item in requirements)

    names = [*groups[:MAX_NAMED], *(["other groups"] if len(groups) > MAX_NAMED else [])]
    verb = "is" if len(requirements) == 1 else "are"
    return f"; {len(requirements):,} more {verb} listed for {join_words(names)}"


def _conditional(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Return the packages that a manifest of Nimble lists under a condition, if these are few."""
    items = [item for item in requirements if item.group.startswith("when ")]
    return items if len(items) <= MAX_NAMED else []


def _no_dependencies(
    work: Work,
    manifests: Sequence[Manifest],
    group: str,
    queries: list[str],
    *,
    is_named: bool = False,
) -> Finding | None:
    """State that manifests list nothing, if all could be read as data; `is_named` if the question names them."""
    # A chart or an example in a subdirectory says nothing of the project.
    if (
        not is_named
        and any(_depth(manifest) for manifest in manifests)
        and not any(not _depth(manifest) for manifest in manifests)
    ):
        return None

    other_rows = unread_manifests(work)
    if is_named:
        prefix = f"{manifests[0].directory}/" if manifests and manifests[0].directory else ""
        other_rows = [row for row in other_rows if (row["path"] or "").startswith(prefix)]

    is_unsure = any(
        _requirements(manifest) is None or _AS_CODE.search(manifest.path) is not None for manifest in manifests
    )
    if not manifests or other_rows or work.notes or is_unsure or len(manifests) > MAX_NAMED:
        return None
    if not group and any(_requirements(manifest) for manifest in manifests):
        return None

    evidence = tuple(work.texts.read_line(manifest.target, manifest.path, 1) for manifest in manifests)
    verb = "lists" if len(manifests) == 1 else "list"
    of_group = f" {_GROUPS.get(group[:3].lower(), group)}" if group else ""
    text = f"{join_words([code(manifest.path) for manifest in manifests])} {verb} no{of_group} dependencies"
    return Finding(
        Statement(text, evidence), "dependencies", queries=[join_queries(queries)], notes=work.notes, is_negative=True
    )

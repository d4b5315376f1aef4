"""Answer questions about manifests and other build files: choose what reads them.

A name with the form of an action is looked up in workflows first. Else a manifest may list the package, a key have its
version, or a lock file pin it, in this order. A name of several words is tried in its likeliest spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.builds.actions import find_action, find_workflow_runtime, names_workflow
from sourcelight.engines.deepsearch.lookups.builds.commands import find_command
from sourcelight.engines.deepsearch.lookups.builds.dependencies import find_dependency
from sourcelight.engines.deepsearch.lookups.builds.dependency_lists import list_dependencies
from sourcelight.engines.deepsearch.lookups.builds.extras import (
    extra_of_question,
    find_in_extra,
    list_extra,
    list_feature,
)
from sourcelight.engines.deepsearch.lookups.builds.fields import find_field, find_runtime
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import is_called, is_repository
from sourcelight.engines.deepsearch.lookups.builds.package_lines import PackageQuestion, asks_for_lock, find_locked
from sourcelight.engines.deepsearch.lookups.builds.settings import find_base_image, find_key, find_version_key
from sourcelight.engines.deepsearch.lookups.builds.workflows import find_tested_versions, find_workflow_image
from sourcelight.engines.deepsearch.lookups.defaults import find_value
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions
from sourcelight.engines.deepsearch.question.lookups import Lookup

_VENDOR = re.compile(r"(?:apache|google|microsoft|spring|facebook|jetbrains|eclipse|gnu)-", re.IGNORECASE)
"""The first word of a name that people say, and that its package leaves out: "Apache Ignite" is ignite."""


def find_package_answer(lookup: Lookup, work: Work) -> Finding | None:
    """Return what manifests say about a package, by the likeliest spellings of a name of several words."""
    extra = extra_of_question(work.inquiry.question)
    if extra:
        # What other lists have says nothing of the extra.
        return find_in_extra(work, extra, lookup.name, lookup.asks)

    if asks_for_lock(work.inquiry.question):
        # A manifest has a range, and no lock file has the version that another one was given.
        return find_locked(work, lookup.name, is_exact=True)

    if lookup.asks == "condition":
        return _find_condition(lookup, work)
    if lookup.asks == "which":
        # No word of the question says "version", so that only what lists a package of the name answers it.
        question = PackageQuestion(lookup.name, lookup.owner or _package_named(work), lookup.group, "version")
        return find_dependency(work, question)

    names = [lookup.name]
    if lookup.is_free and "-" in lookup.name:
        names += [lookup.name.replace("-", ""), _VENDOR.sub("", lookup.name)]

    findings = (_find_package(replace(lookup, name=name), work) for name in dict.fromkeys(names))
    return next((finding for finding in findings if finding is not None), None)


_CONDITION = re.compile(r"under the condition|`[^`]*;[^`]*`|\(target ")
"""A condition in the sentence about a package: of its own, of Python, or of a target of Cargo."""


def _find_condition(lookup: Lookup, work: Work) -> Finding | None:
    """Return the line that lists a package if it says when the package is needed."""
    finding = find_dependency(work, PackageQuestion(lookup.name, lookup.owner, asks="condition"))
    return finding if finding is not None and _CONDITION.search(finding.headline.text) is not None else None


def _find_package(lookup: Lookup, work: Work) -> Finding | None:
    """Return what manifests say about a package; about the repository itself, its version."""
    if lookup.asks == "version" and not (lookup.owner or lookup.subject) and is_repository(work, lookup.name):
        return find_field(work, "version", "", "", "")
    action = find_action(work, lookup.name)
    if action is not None:
        return action

    owner = lookup.owner or _package_named(work)
    question = PackageQuestion(lookup.name, owner, lookup.group, lookup.asks, lookup.is_free, lookup.subject)
    finding = find_dependency(work, question)
    is_of_all = bool(owner) and (is_repository(work, owner) or is_called(work, owner))
    if finding is None and lookup.asks == "version" and is_of_all:
        # The package of the repository has no list with it: a list for all of the work may, such as a Gemfile.
        finding = find_dependency(work, replace(question, owner=""))
    if finding is None and lookup.asks == "version":
        finding = find_version_key(work, lookup.name)

    # Without its owner, an action has the name of a repository, which a package could have, too.
    if finding is None and lookup.asks == "version":
        finding = find_action(work, lookup.name, any_owner=True)

    # What only other packages need is in a lock file alone.
    is_of_any = lookup.asks == "version" and not (lookup.owner or lookup.group or lookup.subject)
    return find_locked(work, lookup.name) if finding is None and is_of_any else finding


def find_required_runtime(lookup: Lookup, work: Work) -> Finding | None:
    """Return the version of a language or a tool that a project requires; a tool may be one of its packages, too."""
    if names_workflow(work.inquiry.question):
        # What a workflow runs with is no version that the project requires.
        return find_workflow_runtime(work, lookup.name)

    runtime = find_runtime(work, lookup.name, lookup.owner)
    if runtime is not None or lookup.name not in _TOOLS:
        return runtime
    return _find_package(replace(lookup, kind="dependency", asks="version"), work)


_TOOLS = frozenset(["gradle", "maven", "sbt", "bazel", "mill", "cabal", "dune", "meson", "gleam"])
"""Tools that projects also list as packages, or whose version a key of a build has."""


def _package_named(work: Work) -> str:
    """Return the name of the repository if the question calls it a package: one of several may have its name."""
    names = work.inquiry.pins.short_names
    noun = r"(?:package|crate|gem|library|chart|module)"
    is_named = [
        name for name in names if re.search(rf"\b{re.escape(name)}\s+{noun}\b", work.inquiry.question, re.IGNORECASE)
    ]
    return is_named[0] if len(is_named) == 1 else ""


def find_build_field(lookup: Lookup, work: Work) -> Finding | None:
    """Return what build files have of a field, such as a license, a script or an extra."""
    kind, name = lookup.symbol_kind, lookup.name
    if kind == "command" and lookup.owner and not is_repository(work, lookup.owner):
        return None  # "how do I build URLs"

    if kind == "image":
        return find_base_image(work, name, lookup.owner)

    find = _OF_FIELDS.get(kind)
    if find is not None:
        return find(work, name)
    finding = find_field(work, kind, name, lookup.owner, lookup.group)
    is_of_all = finding is None and kind == "version" and not lookup.owner and len(work.inquiry.pins) == 1
    return _find_version_constant(work) if is_of_all else finding


_IS_VERSION = re.compile(r" is set to `+ ?[\"']v?\d+\.\d")


def _find_version_constant(work: Work) -> Finding | None:
    """Return the version that a constant of the code has, such as that of a gem; None for none or several."""
    queries: list[str] = []
    for name in ("VERSION", "__version__"):
        definitions = find_definitions(work, name, queries, unparsed=True)
        finding = find_value(work, definitions, name, queries) if definitions else None
        if finding is not None and _IS_VERSION.search(finding.headline.text) is not None:
            return finding
    return None


_ACTIONS = {"compile": "build"}
_LANGUAGES = {"jdk": "java", "JDK": "java", "golang": "go", "nodejs": "node", ".NET": "dotnet", ".net": "dotnet"}
_OF_FIELDS: Mapping[str, Callable[[Work, str], Finding | None]] = {
    "manager": lambda work, _: find_key(work, "packageManager", ""),
    "tested": lambda work, name: (
        find_tested_versions(work, name) or find_workflow_runtime(work, _LANGUAGES.get(name, name))
    ),
    "workflow-image": lambda work, _: find_workflow_image(work),
    "command": lambda work, name: find_command(work, _ACTIONS.get(name.lower(), name.lower())),
    "extra": list_extra,
    "feature": list_feature,
}
"""Functions that answer questions about build files that aren't about one field of a manifest, by kind."""


def find_package_list(lookup: Lookup, work: Work) -> Finding | None:
    """List what a manifest lists: of the repository, or of the package that the question names."""
    package = "" if lookup.name == "dependencies" else lookup.name
    return list_dependencies(work, lookup.owner, package)

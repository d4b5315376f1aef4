"""Extras of packages and features of crates: what they need, whether they need a package, and that there is none.

The first manifest of the project that has an extra is stated. That there is none is stated only if the manifest has all
extras as data, and nothing else in it may add one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    asks_yes_or_no,
    cite_lines,
    list_manifests,
    state_requirement,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    MAX_LINE,
    PARTLY_READ,
    Requirement,
    is_called,
    normalize,
    read_empty_extras,
    read_feature,
    read_fields,
)

_MAX_LISTED = 12
_OPTIONAL, _GROUP = "optional: ", "group "
_OF_EXTRA = re.compile(
    r"\bthe\s+[`\"']?(?P<name>[\w-]{1,60})[`\"']?\s+(?P<noun>extra|(?:optional\s+|dependency\s+|dev\s+)?group)\b",
    re.IGNORECASE,
)
_DATA = re.compile(r"(?:^|/)(?:pyproject\.toml|setup\.cfg|vcpkg\.json)$")
"""Manifests that have all their extras as data."""
_MAY_ADD = re.compile(r"\s*dynamic\s*=.*optional-dependencies|\s*extras_require\b|\[options\.extras_require\]")


@dataclass
class _Extras:
    """The extras of one manifest, in its order."""

    manifest: Manifest
    items: dict[str, list[Requirement]] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    """Extras without packages, and the line of each."""

    @property
    def names(self) -> list[str]:
        """The names of all extras, in the order of their lines."""
        lines = {name: items[0].line for name, items in self.items.items()} | self.empty
        return sorted(lines, key=lambda name: lines[name])

    def find(self, name: str) -> list[Requirement] | None:
        """Return what an extra lists, under any spelling of its name; None if there is none."""
        lists: dict[str, list[Requirement]] = {**self.items, **{empty: [] for empty in self.empty}}
        return next((items for extra, items in lists.items() if normalize(extra) == normalize(name)), None)


def extra_of_question(question: str) -> str:
    """Return the extra that a question about a package names; empty for none."""
    match = _OF_EXTRA.search(question)
    return match["name"] if match is not None else ""


def list_extra(work: Work, name: str) -> Finding | None:
    """Return the packages of an extra or a feature, or that there is none; without a name, the names of all extras."""
    manifests = list_manifests(work, PARTLY_READ)
    with_extras = _with_extras(manifests.of_project)
    of_name = next((extras for extras in with_extras if extras.find(name) is not None), None)
    match = _OF_EXTRA.search(work.inquiry.question)
    if not name:
        statement = _state_names(work.texts, with_extras[0]) if with_extras else None
    elif match is not None and match["noun"].endswith("group") and not match["noun"].startswith("optional"):
        statement = _state_group(work.texts, name, manifests.of_project)
    elif of_name is not None:
        statement = _state_extra(work.texts, of_name, name)
    else:
        feature = list_feature(work, name)
        if feature is not None:
            return feature

        # Of a group for development, people say "extra", too.
        statement = _state_group(work.texts, name, manifests.of_project) if not with_extras else None
        statement = statement or _state_no_extra(work, name, manifests.of_project, with_extras)

    if statement is None:
        return None
    return Finding(statement, "dependencies", queries=[manifests.query], notes=work.notes)


def _state_group(texts: FileTexts, name: str, manifests: Sequence[Manifest]) -> Statement | None:
    """State the packages of a group for development; None if no manifest has one of the name."""
    for manifest in manifests:
        items = _read_extras(manifest, _GROUP).find(name)
        if items:
            return _state_items(texts, manifest, items, f"for the group {code(name)}")
    return None


def list_feature(work: Work, name: str) -> Finding | None:
    """Return what a feature of Cargo enables; None if no crate has one of the name."""
    findings = []
    manifests = list_manifests(work)
    for manifest in manifests.of_project:
        values = read_feature(manifest.path, manifest.lines, name)
        if values:
            key, *enabled = values
            path = manifest.path
            lines = sorted({value.line for value in values})
            proofs = cite_lines(work.texts, manifest.target, path, lines)
            names = [code(value.key) for value in enabled]
            effect = f", which enables {join_words(names)}" if names else ", which enables nothing else"
            findings.append(Statement(f"{code(path)} defines the feature {code(key.key)}{effect}", proofs))

    if not findings:
        return None
    finding = Finding(findings[0], "dependencies", queries=[manifests.query], notes=work.notes, heading="Other crates")
    finding.details = findings[1:]
    return finding


def find_in_extra(work: Work, extra: str, package: str, asks: str) -> Finding | None:
    """Return whether an extra lists a package, and its version; None where that isn't certain."""
    manifests = list_manifests(work, PARTLY_READ)
    with_extras = _with_extras(manifests.of_project)
    of_extra = [(extras, items) for extras in with_extras if (items := extras.find(extra)) is not None]
    if not of_extra:
        no_extra = _state_no_extra(work, extra, manifests.of_project, with_extras)
        return None if no_extra is None else Finding(no_extra, "dependencies", queries=[manifests.query])

    for extras, items in of_extra:
        requirement = next((item for item in items if item.line and is_called(item, package)), None)
        if requirement is not None:
            statement = state_requirement(work, extras.manifest, requirement)
            text = f"Yes: {statement.text}" if asks_yes_or_no(work.inquiry.question) else statement.text
            statement = Statement(text, statement.evidence)
            return Finding(statement, "dependency", queries=[manifests.query], notes=work.notes)

    # An extra may consist of others: `all = ["mill[docs]"]`.
    names = {normalize(extras.manifest.name) for extras, _ in of_extra}
    is_sure = all(
        _DATA.search(extras.manifest.path) is not None and not any(normalize(item.name) in names for item in items)
        for extras, items in of_extra
    )
    if asks == "version" or work.notes or not is_sure or len(of_extra) > 1:
        return None

    text = f"No: {code(of_extra[0][0].manifest.path)} does not list {code(package)} for the extra {code(extra)}"
    return Finding(Statement(text), "dependency", queries=[manifests.query], is_negative=True)


def _with_extras(manifests: Sequence[Manifest]) -> list[_Extras]:
    """Return the extras of each manifest that has any."""
    return [extras for manifest in manifests if (extras := _read_extras(manifest, _OPTIONAL)).names]


def _read_extras(manifest: Manifest, prefix: str) -> _Extras:
    """Return the extras of a manifest, or its groups for development: what lists with a prefix have."""
    extras = _Extras(manifest)
    for item in manifest.requirements or ():
        if item.line and item.group.startswith(prefix):
            # A kind behind the name, such as "host", isn't part of it.
            extras.items.setdefault(item.group.removeprefix(prefix).partition(" ")[0], []).append(item)

    # Some extras list nothing any more, so that former commands keep working.
    for name, line in read_empty_extras(manifest.path, manifest.lines) if prefix == _OPTIONAL else ():
        extras.empty[name] = line
    return extras


def _state_extra(texts: FileTexts, extras: _Extras, name: str) -> Statement:
    """State the packages of an extra that a manifest has, or that it lists none any more."""
    manifest, items = extras.manifest, extras.find(name)
    if items:
        return _state_items(texts, manifest, items, f"for the extra {code(name)}")
    lines = [line for empty, line in extras.empty.items() if normalize(empty) == normalize(name)]
    proof = cite_lines(texts, manifest.target, manifest.path, lines[:1])
    return Statement(f"{code(manifest.path)} defines the extra {code(name)} without packages", proof)


def _state_names(texts: FileTexts, extras: _Extras, beginning: str = "") -> Statement:
    manifest = extras.manifest
    names = [code(name) for name in extras.names]
    noun = "extra" if len(names) == 1 else "extras"
    text = f"{code(manifest.path)} defines {beginning}the {noun} {join_words(names)}"
    lines = sorted({*(item.line for items in extras.items.values() for item in items), *extras.empty.values()})
    return Statement(text, cite_lines(texts, manifest.target, manifest.path, lines))


def _state_items(texts: FileTexts, manifest: Manifest, items: Sequence[Requirement], purpose: str) -> Statement:
    packages = [
        code(f"{item.name}{item.version}" if not item.version[:1].isalnum() else f"{item.name} {item.version}")
        for item in items[:_MAX_LISTED]
    ]
    among = ", among others:" if len(items) > _MAX_LISTED else ""
    text = f"{code(manifest.path)} lists{among} {join_words(packages)} {purpose}"
    lines = sorted({item.line for item in items})
    return Statement(text, cite_lines(texts, manifest.target, manifest.path, lines))


def _state_no_extra(
    work: Work, name: str, manifests: Sequence[Manifest], with_extras: Sequence[_Extras]
) -> Statement | None:
    """State that a project has no extra of a name, with those that it has; None where one could be hidden."""
    of_project = [
        manifest for manifest in manifests if manifest.path.endswith(("pyproject.toml", "setup.cfg", "setup.py"))
    ]
    is_program = any(
        manifest.path.endswith("setup.py") and any("extras_require" in line for line in manifest.lines)
        for manifest in of_project
    )
    is_dynamic = any(_MAY_ADD.match(line) for manifest in of_project for line in manifest.lines[:3_000])
    features = any(read_fields(manifest.path, manifest.lines, "features") for manifest in manifests)
    is_mentioned = any(
        re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=\s*(?:\[|$)", line[:MAX_LINE], re.IGNORECASE)
        for extras in with_extras
        for line in extras.manifest.lines
    )
    if work.notes or is_program or features or is_mentioned:
        return None
    if not with_extras:
        return None if is_dynamic else _state_none(work.texts, of_project)
    if len(with_extras) > 1 or _DATA.search(with_extras[0].manifest.path) is None:
        return None
    return _state_names(work.texts, with_extras[0], f"no extra {code(name)}, only ")


def _state_none(texts: FileTexts, manifests: Sequence[Manifest]) -> Statement | None:
    """State that the only manifest of a project defines no extras; None if it isn't the standard one."""
    if len(manifests) != 1 or any("tool.poetry" in line for line in manifests[0].lines):
        return None

    manifest = manifests[0]
    line = next((number for number, text in enumerate(manifest.lines, 1) if re.match(r"\[project\]", text)), 0)
    if not line or manifest.requirements is None:
        return None
    proof = texts.read_line(manifest.target, manifest.path, line)
    text = f"{code(manifest.path)} defines no extras"
    return Statement(text, (proof,))

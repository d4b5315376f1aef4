"""Fields that a manifest has: license, version, features, scripts, targets, programs.

The manifest of the project comes first. One in a subdirectory says nothing of the project if one at the top could
have the field. Manifests of one directory that differ are stated together, since none of them decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.builds.fields.licenses import find_license_text
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    cite_lines,
    is_own,
    list_manifests,
    select_manifests,
)
from sourcelight.engines.deepsearch.lookups.manifests import PARTLY_READ, ManifestField, read_fields

_MAKEFILES = r"(^|/)(GNUm|M|m)akefile$"

_MAX_LISTED, _MAX_STEPS = 20, 5
"""Fields, and commands of a target, that a sentence names."""

_MAX_VALUE = 200
"""Characters of a value."""

_NAMES = {"license": "license", "version": "version", "edition": "edition", "backend": "build backend",
          "frameworks": "target frameworks", "platform": "oldest version of the platform"}  # fmt: skip


def find_field(work: Work, kind: str, name: str, owner: str, group: str) -> Finding | None:
    """Return what a manifest has of a field; None if none has it, or if several packages could be meant.

    Parameters
    ----------
    kind
        As of `read_fields`.
    name
        The name of the script or target.
    owner
        The package that is meant; empty for the project.
    group
        ``default`` for features that are on by default.
    """
    texts = work.texts
    further_files = _MAKEFILES if kind == "target" else PARTLY_READ
    manifest_list = list_manifests(work, further_files, own_first=True)
    manifests = select_manifests(work, manifest_list.of_project, owner)
    if manifests is None or len(work.inquiry.pins) > 1:
        return None

    with_field = [
        (manifest, fields)
        for manifest in manifests
        if (fields := read_fields(manifest.path, manifest.lines, kind, name, group))
    ]
    if kind == "version":
        # A project of CMake or Bazel often has the version of the package that another manifest describes.
        with_field.sort(key=lambda entry: entry[0].path.endswith(("CMakeLists.txt", "MODULE.bazel")))

    first = next(iter(with_field), None)
    # A package of a subdirectory has fields of its own, which say nothing of the project.
    if first is not None and not owner and _is_elsewhere(work, first[0], kind, manifests):
        first = None

    if first is None:
        return find_license_text(work, manifest_list.query) if kind == "license" and not owner else None

    statement = _state(texts, first[0], first[1], kind, name, group)
    if statement is None:
        return None

    if kind in _NAMES:
        statement = _with_others(texts, statement, with_field, kind)

    finding = Finding(statement, "field", queries=[manifest_list.query], notes=work.notes, heading="Other manifests")
    statements = [_state(texts, manifest, fields, kind, name, group) for manifest, fields in with_field[1:MAX_DETAILS]]
    finding.details = [other for other in statements if other is not None]
    return finding


def _with_others(
    texts: FileTexts, statement: Statement, with_field: Sequence[tuple[Manifest, list[ManifestField]]], kind: str
) -> Statement:
    """Add what other manifests of the same directory give, if it differs: none of them decides."""
    first, fields = with_field[0]
    values = {tuple(field.value for field in fields)}
    for manifest, other_fields in with_field[1:_MAX_STEPS]:
        value = tuple(field.value for field in other_fields)
        other = _state(texts, manifest, other_fields, kind, "", "")
        # Rockspecs of one directory are those of former versions.
        is_beside = manifest.directory == first.directory and not manifest.path.endswith(".rockspec")
        if is_beside and value not in values and other is not None:
            values.add(value)
            statement = Statement(f"{statement.text}; {other.text}", (*statement.evidence, *other.evidence))

    return statement


def _is_elsewhere(work: Work, manifest: Manifest, kind: str, manifests: Sequence[Manifest]) -> bool:
    """Return whether the project has a manifest at the top that could have a field of one in a subdirectory."""
    if not manifest.directory or is_own(work, manifest):
        return False
    base = manifest.path.rpartition("/")[2]
    top_level = [other for other in manifests if not other.directory]
    if kind in {"license", "version"}:
        return any(other.name for other in top_level)
    return any(other.path == base for other in top_level)


def _state(
    texts: FileTexts, manifest: Manifest, fields: Sequence[ManifestField], kind: str, name: str, group: str
) -> Statement | None:
    """State the fields of one manifest, with their lines."""
    lines = sorted({field.line for field in fields[:_MAX_LISTED]})
    evidence = cite_lines(texts, manifest.target, manifest.path, lines)
    path = code(manifest.path)
    names = join_words([code(field.key) for field in fields[:_MAX_LISTED]])
    among = ", among others:" if len(fields) > _MAX_LISTED else ""
    if kind in _NAMES:
        values = join_words([code(field.value[:_MAX_VALUE]) for field in fields])
        return Statement(f"{path} gives {values} as the {_NAMES[kind]}", evidence)

    if kind == "script":
        value = fields[0].value
        return (
            Statement(f"{path} sets the script {code(name)} to {code(value[:_MAX_VALUE])}", evidence) if value else None
        )

    if kind == "target":
        return _state_target(path, fields, name, evidence)

    noun = {"features": "feature", "flags": "flag", "scripts": "script"}.get(kind, "program")
    noun += "" if len(fields) == 1 else "s"
    verb, end = ("enables", " by default") if group == "default" else ("defines", "")
    return Statement(f"{path} {verb} the {noun}{among} {names}{end}", evidence)


def _state_target(
    path: str, fields: Sequence[ManifestField], name: str, evidence: tuple[FileEvidence, ...]
) -> Statement | None:
    """State the recipe of a target of make: its commands, and the targets before it."""
    targets = join_words([code(word) for word in fields[0].value.split()[:_MAX_LISTED]])
    steps = [field.value for field in fields[1:] if field.value]
    if not steps:
        return Statement(f"{path} builds {targets} for the target {code(name)}", evidence) if targets else None

    commands = join_words([code(step[:_MAX_VALUE]) for step in steps[:_MAX_STEPS]])
    among = ", among others," if len(steps) > _MAX_STEPS else ""
    after = f", after {targets}" if targets else ""
    return Statement(f"{path} runs{among} {commands} for the target {code(name)}{after}", evidence)

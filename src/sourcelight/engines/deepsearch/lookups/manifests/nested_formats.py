"""Read manifests of Clojure, Erlang, OCaml, Haskell, Perl, .NET and others whose lists are for a purpose.

A list for tests or plugins is in the same file as what is always needed: what is around an entry tells them apart.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from sourcelight.engines.deepsearch.lookups.manifests.requirement import MAX_LINE, PLUGIN, Requirement

_MAX_DEPTH = 60


@dataclass(slots=True)
class _KeyPaths:
    """The keys of the brackets around each place of a text.

    Attributes
    ----------
    starts
        Places at which a bracket opens or closes.
    paths
        The keys around what follows each of them, outermost first.
    """

    starts: list[int] = field(default_factory=lambda: [0])
    paths: list[tuple[str, ...]] = field(default_factory=lambda: [()])

    def add(self, start: int, keys: Sequence[str]) -> None:
        """Add the keys that hold from a place on."""
        self.starts.append(start)
        self.paths.append(tuple(key for key in keys if key))

    def keys_at(self, offset: int) -> tuple[str, ...]:
        """Return the keys around a place."""
        return self.paths[bisect_right(self.starts, offset) - 1]


class _Lines:
    """Lines joined to one text, and the number of the line of each place."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.text = "\n".join(line[:MAX_LINE] for line in lines)
        self._starts = [0, *accumulate(min(len(line), MAX_LINE) + 1 for line in lines)]

    def number_at(self, offset: int) -> int:
        """Return the number of the line of an offset, from 1."""
        return bisect_right(self._starts, offset)


_EDN_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.|#_|:[\w.+*!?/<>=-]+|[\[({]|[\])}]", re.DOTALL)
_LEIN_ENTRY = re.compile(r"\[(?P<name>[A-Za-z][\w./-]*)\s{1,100}\"(?P<version>\d[^\"]*)\"")
_DEPS_ENTRY = re.compile(
    r"(?<![\w./-])(?P<name>[A-Za-z][\w./-]*)\s{0,100}\{\s{0,100}:(?:mvn/version\s+\"(?P<version>[^\"]+)\"|git/tag\s+\"(?P<tag>[^\"]+)\"|git/)"
)
_DISCARDED = "#_"


def _edn_paths(text: str) -> _KeyPaths:
    """Return the keywords before the brackets of a text in EDN; what ``#_`` discards has this as its key."""
    paths = _KeyPaths()
    keys: list[str] = []
    pending = [""]
    for match in _EDN_TOKEN.finditer(text):
        mark = match[0]
        if mark[0] in ":#":
            pending[-1] = mark.lstrip(":")
        elif mark in "[({" and len(keys) < _MAX_DEPTH:
            keys.append(pending[-1])
            pending[-1] = ""
            pending.append("")
            paths.add(match.end(), keys)
        elif mark in "])}" and keys:
            keys.pop()
            pending.pop()
            paths.add(match.end(), keys)

    return paths


def _leiningen(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the vectors of ``:dependencies`` and ``:plugins``, with the profile around them."""
    for match, group, number in _edn_entries(lines, _LEIN_ENTRY):
        yield Requirement(match["name"], match["version"], group, number)


def _deps_edn(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the libraries of ``:deps``, and those of aliases with the name of the alias."""
    for match, group, number in _edn_entries(lines, _DEPS_ENTRY):
        yield Requirement(match["name"], match["version"] or match["tag"] or "", group, number)


def _edn_entries(lines: Sequence[str], entry: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
    """Yield the entries that are neither discarded nor in a comment, each with its list and its line."""
    manifest = _Lines(lines)
    paths = _edn_paths(manifest.text)
    for match in entry.finditer(manifest.text):
        keys = paths.keys_at(match.start("name"))
        if _DISCARDED not in keys and not _is_in_comment(manifest.text, match.start()):
            yield match, _edn_group(keys), manifest.number_at(match.start())


def _edn_group(keys: Sequence[str]) -> str:
    """Return the list of an entry: its profile or alias, or that of plugins."""
    if "plugins" in keys:
        return PLUGIN

    for holder, noun in (("profiles", "profile"), ("aliases", "alias")):
        if holder in keys[:-1]:
            return f"{noun} {keys[keys.index(holder) + 1]}"

    return "managed" if "managed-dependencies" in keys else ""


def _is_in_comment(text: str, offset: int) -> bool:
    start = text.rfind("\n", 0, offset) + 1
    return re.match(r"[^\"]*;", text[start:offset]) is not None


_ERLANG_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'[^'\n]*'|%[^\n]*|\{\s*(?P<key>[a-z]\w*)(?=\s*,)|[\[{]|[\]}]", re.DOTALL
)
_ERLANG_COMMENT = re.compile(r"(?P<text>\"(?:[^\"\\]|\\.)*+(?:\"|\\?$))|%.*")
"""A comment, or a text that may have its sign. A text without an end takes the line, so that no sign is read twice."""
_REBAR_ENTRY = re.compile(
    r"\{\s*(?P<name>[a-z]\w*)\s*,\s*(?:\"(?P<range>[~>=<]*\s*\d[^\"]*)\"|(?:\"[^\"]*\"\s*,\s*)?\{\s*(?:git|hg)\s*,\s*"
    r"\"[^\"]*\"(?:\s*,\s*(?:\{\s*(?:tag|branch|ref)\s*,\s*)?\"(?P<tag>[^\"]*)\")?)"
)


def _rebar(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of rebar3: with a range, or the tag, branch or commit of a repository; and their profile."""
    manifest = _Lines([_ERLANG_COMMENT.sub(lambda match: match["text"] or "", line) for line in lines])
    paths = _KeyPaths()
    keys: list[str] = []
    for match in _ERLANG_TOKEN.finditer(manifest.text):
        if match[0][0] in "[{" and len(keys) < _MAX_DEPTH:
            keys.append(match["key"] or "")
            paths.add(match.end(), keys)
        elif match[0] in "]}" and keys:
            keys.pop()
            paths.add(match.end(), keys)

    for match in _REBAR_ENTRY.finditer(manifest.text):
        around = paths.keys_at(match.start())
        if not {"deps", "overrides", "plugins", "project_plugins"}.intersection(around):
            # A pair elsewhere is an option of a tool: `{minimum_otp_vsn, "27"}`.
            continue
        group = f"profile {around[1]}" if around[:1] == ("profiles",) and len(around) > 1 else ""
        if {"plugins", "project_plugins"} & set(around):
            group = PLUGIN
        yield Requirement(match["name"], match["range"] or match["tag"] or "", group, manifest.number_at(match.start()))


_ON_PLATFORM = re.compile(r"\b(?:os|os-family|os-distribution|arch)\s*!?=\s*\"?[\w.-]{1,40}\"?")
_WITH = re.compile(r"(?<![\w-]):?with-(?P<group>test|doc|dev-setup)\b")


def join_bounds(text: str) -> str:
    """Return the bounds of a version in a condition of OCaml, such as ``>= 1.2 & < 2``; the text with alternatives."""
    bounds = re.findall(r"(?:[<>!]=?|=)\s*\"?[\w.~+-]+", text)
    bare_text = " ".join(text.replace('"', "").split()).strip(", ")
    if not bounds or re.search(r"\||\(or\b|\bor\s", text) is not None:
        return bare_text
    return " & ".join(" ".join(bound.replace('"', "").split()) for bound in bounds)


def _by_condition(pattern: str, comment: str, head: str) -> Callable[[Sequence[str]], Iterator[Requirement]]:
    """Make a reader of OCaml's lines: a condition such as ``with-test`` is the list of an entry, and no version.

    Parameters
    ----------
    pattern
        The line of an entry.
    comment
        The mark of a comment.
    head
        The line that begins a field. Entries of ``conflicts`` and others have the same form, and are needed by nothing.
    """
    entry, field_head = re.compile(pattern), re.compile(head)

    def read(lines: Sequence[str]) -> Iterator[Requirement]:
        field, is_in_text = "depends", False
        for number, line in enumerate(lines, 1):
            text = line[:MAX_LINE]
            if not is_in_text and text.lstrip().startswith(comment):
                continue

            # A long text, such as a description, may have lines that look like fields.
            was_in_text, is_in_text = is_in_text, is_in_text ^ bool(text.count('"""') % 2)
            if was_in_text:
                continue

            field_match = field_head.match(text)
            field = field_match["field"] if field_match is not None else field
            match = entry.match(text) if field in {"depends", "depopts"} else None
            if match is None:
                continue

            version = match["version"] or ""
            condition = _WITH.search(version)
            group = condition["group"] if condition is not None else "build" if re.search(r"\bbuild\b", version) else ""
            group = group or ("optional" if field == "depopts" else "")
            of_platform = " & ".join(_ON_PLATFORM.findall(version))
            bounds = join_bounds(_ON_PLATFORM.sub("", version)) if re.search(r"[<>=]", version) else ""
            yield Requirement(match["name"], bounds, group, number, condition=of_platform)

    return read


_HPACK_ITEM = re.compile(r"\s*-\s+(?P<name>[A-Za-z][\w-]*)(?:\s+(?P<version>[<>=^&|\d][^#]*))?\s*$")
_HPACK_KEY = re.compile(r"(?P<indent> *)(?P<key>[\w-]+)\s*:\s*(?:#.*)?$")


def _hpack(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the items below ``dependencies:``; those of tests, benchmarks and programs have their section as a list."""
    section, indent = "", -1
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        key = _HPACK_KEY.match(text)
        if key is not None:
            depth = len(key["indent"])
            section = key["key"] if not depth else section
            indent = depth if key["key"] in {"dependencies", "build-tools"} else -1
            continue

        if re.match(r"\S", text) and not text.startswith(("-", "#")):
            indent = -1

        item = _HPACK_ITEM.match(text) if indent >= 0 else None
        if item is not None:
            group = "" if section in {"dependencies", "library", "internal-libraries"} else section
            yield Requirement(item["name"], (item["version"] or "").strip(), group, number)


_PERL_LIST = re.compile(
    r"(?<![\w$@%])[\"']?(?P<kind>(?:TEST|BUILD|CONFIGURE)_REQUIRES|PREREQ_PM"
    r"|(?:test_|build_|configure_)?requires|recommends)[\"']?\s*=>\s*\{"
)
_PERL_ENTRY = re.compile(
    r"(?<![\w:$@%'\"])(?P<quote>[\"']?)(?P<name>[A-Za-z]\w*(?:::\w+)*)(?P=quote)\s*=>\s*"
    r"(?P<mark>[\"']?)(?P<version>(?:[<>=!]=?\s*)?v?\d[\w.]*)(?P=mark)(?=\s*(?:[,;})#]|$))"
)
_PERL_PHASE = re.compile(r"(?<![\w$@%])[\"']?(?P<phase>test|build|configure|develop)[\"']?\s*=>\s*\{")
_PERL_LISTS = {"PREREQ_PM": "", "requires": ""}


def _makefile_pl(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the modules of a ``Makefile.PL`` or ``Build.PL``, with the list that they are in.

    Other keys, such as `VERSION`, look like modules, so that only what a list encloses counts.
    """
    kind = phase = ""
    depth = depth_of_phase = 0
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        if text.lstrip().startswith("#"):
            continue

        # Metadata has the lists of each phase: `test => {requires => {...}}`.
        if (opening := _PERL_PHASE.search(text)) is not None and not kind:
            phase, depth_of_phase = opening["phase"], depth + text[: opening.end()].count("{")

        depth += text.count("{") - text.count("}")
        position = 0
        while position < len(text):
            if not kind:
                head = _PERL_LIST.search(text, position)
                if head is None:
                    break
                kind, position = head["kind"], head.end()

            end = text.find("}", position)
            part = text[position:] if end < 0 else text[position:end]
            for match in _PERL_ENTRY.finditer(part):
                # The language is among the modules.
                if match["name"] != "perl":
                    group = " ".join(filter(None, (phase, _PERL_LISTS.get(kind, kind.lower()))))
                    yield Requirement(match["name"], match["version"], group, number)

            if end < 0:
                break
            kind, position = "", end + 1

        if depth < depth_of_phase:
            phase, depth_of_phase = "", 0


_PAKET_ENTRY = re.compile(r"\s*nuget\s+(?P<name>[\w.-]+)\s*(?P<version>[^#]*)")


def _paket(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of Paket, with the group that they are in."""
    group = ""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        head = re.match(r"\s*group\s+(\w+)", text)
        if head is not None:
            group = "" if head[1].lower() == "main" else f"group {head[1]}"

        match = _PAKET_ENTRY.match(text)
        if match is not None:
            yield Requirement(match["name"], match["version"].strip(), group, number)


_BAZEL_ENTRY = re.compile(r"\bbazel_dep\(\s*name\s*=\s*\"(?P<name>[\w.-]+)\"(?P<rest>[^)]{0,300})")


def _bazel(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the modules of Bazel; those for development have this list."""
    manifest = _Lines(["" if line.lstrip().startswith("#") else line for line in lines])
    for match in _BAZEL_ENTRY.finditer(manifest.text):
        version = re.search(r"\bversion\s*=\s*\"([^\"]*)\"", match["rest"])
        group = "dev" if re.search(r"\bdev_dependency\s*=\s*True\b", match["rest"]) else ""
        yield Requirement(
            match["name"], version[1] if version is not None else "", group, manifest.number_at(match.start())
        )


_NIMBLE_ENTRY = re.compile(r"\"(?P<name>[A-Za-z][\w./:-]*)\s*(?P<version>[^\"]*)\"")
_NIMBLE_CALL = re.compile(r"\s*(?P<call>requires|taskRequires)\b\s*\(?\s*(?:\"(?P<task>\w+)\"\s*,)?")


def _nimble(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of Nimble; what one task or one platform needs has this as its list."""
    group: str | None = None
    condition = ""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE].split(" #")[0]
        if text.lstrip().startswith("#"):
            continue

        if re.match(r"\S", text):
            when = re.match(r"(when|elif|feature)\s+(.{1,60}):", text)
            condition = f"{when[1].replace('elif', 'when')} {when[2]}" if when is not None else ""

        call = _NIMBLE_CALL.match(text)
        if call is not None:
            of_task = call["call"] == "taskRequires"
            group = f"task {call['task'] or ''}".strip() if of_task else condition
            text = text[call.end() :] if of_task else text[call.end("call") :]

        if group is not None:
            for match in _NIMBLE_ENTRY.finditer(text):
                yield Requirement(match["name"], match["version"].strip(), group, number)
            group = group if text.rstrip().endswith(",") else None


_POD_BLOCK = re.compile(
    r"\s*(?:target|abstract_target)\s*\(?\s*[\"'](?P<target>[^\"']*)[\"'].*\bdo\b|.*\.(?P<spec>test_spec|app_spec)\b.*\bdo\b"
    r"|\s*\w+\.subspec\s*\(?\s*[\"'](?P<sub>[^\"']{1,80})[\"'].*\bdo\b"
    r"|.*\bdo\b(?:\s*\|[^|]*\|)?\s*$"
)
_POD_ENTRY = re.compile(
    r"\s*(?:pod\s+|\w+\.(?:(?P<system>ios|osx|macos|tvos|watchos|visionos)\.)?dependency\s*\(?\s*)"
    r"[\"'](?P<name>[\w+./-]+)[\"'](?:\s*,\s*[\"'](?P<version>[^\"']*)[\"'])?"
)


def _pods(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the pods of CocoaPods; those of a target or specification of tests have this as their list."""
    blocks: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        if text.lstrip().startswith("#"):
            continue

        match = _POD_ENTRY.match(text)
        if match is not None:
            group = next((block for block in blocks if "test" in block.lower()), "")
            group = group or next((block for block in reversed(blocks) if block.startswith("subspec ")), "")
            condition = f"platform {match['system']}" if match["system"] else ""
            yield Requirement(match["name"], match["version"] or "", group, number, condition=condition)
            continue

        block = _POD_BLOCK.match(text)
        if block is not None and len(blocks) < _MAX_DEPTH:
            blocks.append(block["target"] or block["spec"] or (f"subspec {block['sub']}" if block["sub"] else ""))
        elif re.match(r"\s*end\b", text) and blocks:
            blocks.pop()


NESTED_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^project\.clj$", _leiningen),
    (r"^deps\.edn$", _deps_edn),
    (r"^rebar\.config$", _rebar),
    (
        r"\.opam$",
        _by_condition(
            r"\s*(?:depends:\s*\[\s*)?\"(?P<name>[a-z][\w-]*)\"\s*(?:\{(?P<version>[^}]*)\})?\s*\]?\s*$",
            "#",
            r"\s*(?P<field>[a-z][\w-]*):",
        ),
    ),
    (
        r"^dune-project$",
        _by_condition(
            r"\s*(?:\(depends\s+)?\((?P<name>[a-z][\w-]*)\s+\(?(?P<version>(?:[<>=]+|and|or|:with)[^)]*)",
            ";",
            r"\s*\((?P<field>depends|depopts|conflicts)\b",
        ),
    ),
    (r"^package\.yaml$", _hpack),
    (r"^(?:Makefile|Build)\.PL$", _makefile_pl),
    (r"^paket\.dependencies$", _paket),
    (r"^MODULE\.bazel$", _bazel),
    (r"\.nimble$", _nimble),
    (r"\.podspec$|^Podfile$", _pods),
)
"""Readers by the name of a file."""

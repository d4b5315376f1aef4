"""Read manifests of Swift, Elixir, Haskell, Dart, .NET, Zig, Lua, Scala, R and Perl, line by line.

Lists that are put together by code are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from sourcelight.engines.deepsearch.lookups.manifests.requirement import MAX_LINE, PLUGIN, Requirement

_SWIFT = re.compile(r"\.package\s*\(")
_MIX = re.compile(r"^\s*\{\s*:(\w+)\s*,\s*(?:\"([^\"]*)\")?(.*)$")
_PACKAGE_REFERENCE = re.compile(
    r"<(?:PackageReference|PackageVersion|GlobalPackageReference)\b[^>]*?\b(?:Include|Update)=\"([^\"$]+)\"([^>]*)>"
)
_CABAL_NAME = re.compile(r"^[\s,]*([A-Za-z][\w-]*)(?::[\w-]+)?\s*([^,]*)$")
_ROCK = re.compile(r"[\"']([A-Za-z][\w.-]*)\s*([^\"']*)[\"']")
_SBT = re.compile(r"\"([\w.-]+)\"\s*%%?%?\s*\"([\w.-]+)\"\s*%\s*(?:\"([^\"]+)\"|(\w[\w.]*))(.*)$")

_R_GROUPS = {"Depends": "", "Imports": "", "LinkingTo": "LinkingTo", "Suggests": "Suggests", "Enhances": "Enhances"}
_R_PACKAGE = re.compile(r"([A-Za-z][\w.]*+)\s*+(?:\(([^()]*+)\))?")
_CPAN = re.compile(
    r"\s*(?P<kind>(?:test_|build_|author_|configure_)?requires|recommends|suggests)\b\s*\(?\s*"
    r"[\"'](?P<name>[\w:]+)[\"']\s*(?:(?:=>|,)\s*[\"']?(?P<version>[^\"',;)]+)[\"']?)?"
)


def _swift(lines: Sequence[str]) -> Iterator[Requirement]:
    for number, line in enumerate(lines, 1):
        package = None if line.lstrip().startswith("//") else _SWIFT.search(line)
        if package is None:
            continue

        text = " ".join([line[package.end() :], *lines[number : number + 4]])
        source = re.search(r"\b(?:url|path|id)\s*:\s*\"([^\"]+)\"", text)
        if source is None:
            continue

        version = re.match(
            r"[^()]*?,\s*((?:from|exact|branch|revision)\s*:\s*\"[^\"]*\"|\.\w+\([^)]*\)|\"[^\"]+\"\s*\.\.[.<]\s*\"[^\"]+\")",
            text,
        )
        start = next(
            (index for index in range(number - 1, min(number + 4, len(lines))) if source[1] in lines[index]), number - 1
        )
        name = source[1].rstrip("/").rpartition("/")[2].removesuffix(".git")
        if not name.strip("."):  # the package itself, by its directory
            continue

        yield Requirement(name, version[1] if version is not None else "", "", start + 1)


_MIX_OPTION = re.compile(r"\b(?P<key>only|targets?|env):\s*(?P<value>\[[^\]]{0,200}\]|[:@]?\w+)")
_MIX_SOURCE = re.compile(r"\b(?:tag|branch|ref):\s*\"([^\"]{1,80})\"")
_MAX_TUPLE_LINES = 8


def _mix(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the tuples of ``defp deps``; those of other functions, such as of aliases, are none."""
    is_inside = False
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"\s*defp?\s+(\w+)", line)) is not None:
            is_inside = "deps" in head[1]
        match = _MIX.match(line) if is_inside else None
        if match is None or line.lstrip().startswith("#"):
            continue

        # A tuple may go on below, with its options.
        text = match[3]
        for other in lines[number : number + _MAX_TUPLE_LINES]:
            if "}" in text or _MIX.match(other) is not None:
                break
            text += f" {other.strip()[:MAX_LINE]}"

        options = {option["key"]: option["value"] for option in _MIX_OPTION.finditer(text)}
        group = ", ".join(re.findall(r"\w+", options.get("only", "")))
        if re.search(r"\boptional:\s*true", text):
            group = " ".join(part for part in (group, "optional") if part)
        source = _MIX_SOURCE.search(text)
        version = (match[2] or "").strip() or (source[1] if source is not None else "")
        condition = f"targets: {options['targets']}" if "targets" in options else ""
        yield Requirement(match[1], version, group, number, condition=condition)


def _cabal(lines: Sequence[str]) -> Iterator[Requirement]:
    section, indent = "", -1
    for number, line in enumerate(lines, 1):
        text = line.split("--")[0].rstrip()
        if not text.strip():
            continue

        depth = len(text) - len(text.lstrip())
        if (
            head := re.match(
                r"(library|executable|test-suite|benchmark|common|foreign-library)\b\s*(\S*)", text, re.IGNORECASE
            )
        ) is not None:
            section, indent = " ".join(part for part in head.groups() if part), -1
            continue

        field = re.match(r"\s*([A-Za-z][\w-]*)\s*:\s*(.*)$", text)
        if field is not None:
            indent = depth if field[1].lower() == "build-depends" else -1
            text = field[2]
        elif indent >= 0 and depth <= indent:
            indent = -1

        if indent < 0 or re.match(r"\s*(?:if|else|elif)\b", text):
            continue

        kind = section.partition(" ")[0].lower()
        group = "" if kind in {"library", "common"} else section
        for part in text.split(","):
            match = _CABAL_NAME.match(part)
            if match is not None and match[1] not in {"if", "else"}:
                yield Requirement(match[1], " ".join(match[2].split()), group, number)


_PUB_SOURCE = re.compile(r"\s{3,}(?P<key>version|ref|sdk|path)\s*:\s*(?P<value>[^\s#][^#]{0,80}?)\s*(?:#.*)?$")


def _pubspec(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of Dart; one from elsewhere has its version, its commit or its path on a line below."""
    block = ""
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"(\w+)\s*:", line)) is not None:
            block = head[1]
        match = re.match(r"  ?([A-Za-z]\w*)\s*:\s*(.*?)\s*(?:#.*)?$", line)
        if match is None or block not in {"dependencies", "dev_dependencies", "dependency_overrides"}:
            continue

        version, version_line = match[2].strip("\"'"), 0
        for below, text in enumerate(lines[number : number + 6] if not version else (), number + 1):
            source = _PUB_SOURCE.match(text[:MAX_LINE])
            if text.strip() and not text.startswith("   ") and not re.match(r" +\w+\s*:\s*$", text):
                break
            if source is not None:
                value = source["value"].strip("\"'")
                version, version_line = value if source["key"] == "version" else f"{source['key']}: {value}", below
                break

        yield Requirement(match[1], version, "" if block == "dependencies" else block, number, version_line)


_CONDITION = re.compile(r"\bCondition=\"(?P<condition>[^\"]{1,160})\"")


def _dotnet(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of .NET, with the condition of their own or of the group around them."""
    around = ""
    for number, line in enumerate(lines, 1):
        text = line[:1_000]
        if "<ItemGroup" in text:
            group = _CONDITION.search(text)
            around = " ".join(group["condition"].split()) if group is not None else ""
        match = _PACKAGE_REFERENCE.search(text)
        if match is not None:
            version = re.search(r"\bVersion(?:Override)?=\"([^\"]*)\"", match[0])
            private = re.search(r"PrivateAssets=\"all\"", match[0], re.IGNORECASE)
            version_line = 0
            # An element of its own has the version: `<Version>4</Version>`.
            for below, other in enumerate(lines[number : number + 4] if version is None else (), number + 1):
                if match[0].endswith("/>") or "</PackageReference" in other:
                    break
                if (element := re.search(r"<Version>([^<]*)</Version>", other[:MAX_LINE])) is not None:
                    version, version_line = element, below

            condition = _CONDITION.search(match[0])
            yield Requirement(
                match[1],
                version[1] if version is not None else "",
                "private assets" if private else "",
                number,
                version_line,
                condition["condition"] if condition is not None else around,
            )
        if "</ItemGroup>" in text:
            around = ""


_ZIG_URL = re.compile(
    r"\s*\.url\s*=\s*\"[^\"]{0,200}?[/#?=](?P<version>v?\d[\w.-]{0,40}?|[0-9a-f]{7,40})(?:\.tar\.\w+|\.zip)?\""
)
_MAX_ZIG_ENTRY = 6


def _zig_version(lines: Sequence[str], number: int) -> tuple[str, int]:
    """Return the tag or the commit in the address of an entry that begins on a line (from 1), and the line of it."""
    for index in range(number, min(number + _MAX_ZIG_ENTRY, len(lines))):
        match = _ZIG_URL.match(lines[index][:MAX_LINE])
        if match is not None:
            return match["version"], index + 1
        if "}" in lines[index]:
            break

    return "", 0


def _zig(lines: Sequence[str]) -> Iterator[Requirement]:
    depth, start = 0, -1
    for number, line in enumerate(lines, 1):
        text = line.split("//")[0]
        if start >= 0 and depth == start + 1 and (match := re.match(r"\s*\.@?\"?([\w-]+)\"?\s*=\s*\.\{", text)):
            version, version_line = _zig_version(lines, number)
            yield Requirement(match[1], version, "", number, version_line)
        if re.match(r"\s*\.dependencies\s*=\s*\.\{", text):
            start = depth
        depth += text.count("{") - text.count("}")
        if start >= 0 and depth <= start:
            start = -1


def _rockspec(lines: Sequence[str]) -> Iterator[Requirement]:
    group: str | None = None
    for number, line in enumerate(lines, 1):
        opening = re.match(r"\s*(\w*dependencies)\s*=\s*\{", line)
        text = line.split("--")[0]
        if opening is not None:
            group = "" if opening[1] == "dependencies" else opening[1]
            text = text[opening.end() :]

        if group is not None:
            for match in _ROCK.finditer(text):
                if match[1] != "lua":
                    yield Requirement(match[1], " ".join(match[2].split()), group, number)
            group = None if "}" in text else group


def _sbt(lines: Sequence[str]) -> Iterator[Requirement]:
    for number, line in enumerate(lines, 1):
        match = _SBT.search(line[:MAX_LINE])
        if match is not None and not line.lstrip().startswith("//"):
            scope = re.search(r"%\s*\"?(\w+)", match[5] or "")
            group = scope[1].lower() if scope is not None else ""
            # A plugin of the build, which has its own form.
            group = PLUGIN if "addSbtPlugin" in line or "addCompilerPlugin" in line else group
            yield Requirement(f"{match[1]}:{match[2]}", match[3] or match[4] or "", group, number)


def _description(lines: Sequence[str]) -> Iterator[Requirement]:
    # Other projects have a file of this name, too.
    if not any(line.startswith("Package:") for line in lines):
        raise ValueError("not a manifest of R")

    group: str | None = None
    for number, line in enumerate(lines, 1):
        text = line
        if (field := re.match(r"([A-Za-z][\w/@-]*):(.*)$", line)) is not None:
            group, text = _R_GROUPS.get(field[1]), field[2]
        if group is None:
            continue
        for part in text.split(","):
            match = _R_PACKAGE.fullmatch(part.strip())
            if match is not None and match[1] != "R":
                yield Requirement(match[1], (match[2] or "").strip(), group, number)


def _cpanfile(lines: Sequence[str]) -> Iterator[Requirement]:
    phase = ""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        block = re.match(
            r"\s*(?P<word>on|feature)\s*\(?\s*[\"']?(?P<name>[\w-]+)[\"']?\s*(?:,\s*(?:\"[^\"]*\"|'[^']*')\s*)?(?:=>|,)\s*sub\b"
            r"\s*\{?",
            text,
        )
        if block is not None:
            phase = "" if block["name"] == "runtime" else block["name"]
            phase = f"optional: {phase}" if block["word"] == "feature" else phase
            text = text[block.end() :]
        elif re.match(r"\s*\}\s*\)?\s*;", text):
            phase = ""
        match = _CPAN.match(text)
        if match is not None and match["name"] != "perl":
            kind = "" if match["kind"] == "requires" else match["kind"]
            yield Requirement(match["name"], match["version"] or "", " ".join(filter(None, (phase, kind))), number)
        if block is not None and re.search(r"\}\s*\)?\s*;\s*$", text):
            phase = ""


LINE_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^Package(?:@swift-[\d.]+)?\.swift$", _swift),
    (r"^mix\.exs$", _mix),
    (r"\.cabal$", _cabal),
    (r"^pubspec\.ya?ml$", _pubspec),
    (r"\.(?:cs|fs|vb)proj$|^Directory\.(?:Packages|Build)\.(?:props|targets)$", _dotnet),
    (r"^build\.zig\.zon$", _zig),
    (r"\.rockspec$", _rockspec),
    (r"\.sbt$", _sbt),
    (r"^DESCRIPTION$", _description),
    (r"^cpanfile$", _cpanfile),
)
"""Readers by the name of a file."""

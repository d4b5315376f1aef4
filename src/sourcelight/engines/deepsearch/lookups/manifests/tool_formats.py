"""Read manifests of D, Fortran, Gleam, PowerShell, Puppet, Autotools and Dist::Zilla, and lists of tools and images.

All of them are read in part: programs and further forms may list more.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.engines.deepsearch.lookups.manifests.requirement import (
    MAX_LINE,
    Requirement,
    lines_of_keys,
    table_start,
)

_DUB_ENTRY = re.compile(r"\s*dependency\s+\"(?P<name>[\w.:-]+)\"(?P<rest>[^\n]*)")
_DUB_BLOCK = re.compile(r"\s*(?P<kind>configuration|subPackage)\b\s*(?:\"(?P<name>[^\"]*)\")?[^{]*\{")


def _dub_sdl(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the dependencies of a package of D; those of a configuration or a part have it as their list."""
    blocks: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE].split("//")[0]
        entry = _DUB_ENTRY.match(text)
        if entry is not None:
            version = re.search(r"\bversion=\"([^\"]*)\"", entry["rest"])
            group = next((block for block in reversed(blocks) if block), "")
            yield Requirement(entry["name"], version[1] if version is not None else "", group, number)

        head = _DUB_BLOCK.match(text)
        if head is not None:
            blocks.append(f"{head['kind']} {head['name'] or ''}".strip())
        elif "{" in text:
            blocks.append("")
        if "}" in text and blocks:
            blocks.pop()


def _dub_json(lines: Sequence[str]) -> Iterator[Requirement]:
    data = json.loads("\n".join(lines))
    tables: list[tuple[str, Any]] = [("", data)]
    for key, noun in (("configurations", "configuration"), ("subPackages", "subPackage")):
        tables += [(f"{noun} {item.get('name', '')}", item) for item in data.get(key) or () if isinstance(item, dict)]

    for group, table in tables:
        for name, value in (table.get("dependencies") or {}).items():
            version = value.get("version", "") if isinstance(value, dict) else value
            yield Requirement(name, str(version), group, _line_with(lines, f'"{name}"'))


def _toml_tables(names: Mapping[str, str]) -> Callable[[Sequence[str]], Iterator[Requirement]]:
    """Make a reader of TOML whose tables list packages; `names` are the tables, each with the name of its list."""

    def read(lines: Sequence[str]) -> Iterator[Requirement]:
        data = tomllib.loads("\n".join(lines))
        for table, group in names.items():
            numbers = lines_of_keys(lines, table_start(lines, table))
            for name, value in (data.get(table) or {}).items():
                entry = value if isinstance(value, dict) else {"version": value}
                version = next((entry[key] for key in ("version", "tag", "v", "rev", "branch") if key in entry), "")
                line = numbers.get(name, 0) or _line_with(lines, f"[{table}.{name}]")
                yield Requirement(name, str(version), group, line)

    return read


def _line_with(lines: Sequence[str], text: str) -> int:
    """Return the first line (from 1) with a text; 0 for none."""
    return next((number for number, line in enumerate(lines, 1) if text in line[:MAX_LINE]), 0)


def _bower(lines: Sequence[str]) -> Iterator[Requirement]:
    data = json.loads("\n".join(lines))
    for key in ("dependencies", "devDependencies"):
        for name, version in (data.get(key) or {}).items():
            yield Requirement(name, str(version), "" if key == "dependencies" else key, _line_with(lines, f'"{name}"'))


def _puppet(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the modules of a `metadata.json` of Puppet; other files of this name list none in this form."""
    data = json.loads("\n".join(lines))
    entries = data.get("dependencies") if isinstance(data, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str):
            yield Requirement(name, str(entry.get("version_requirement", "")), "", _line_with(lines, f'"{name}"'))


_PKG_CHECK = re.compile(
    r"\bPKG_CHECK_(?:MODULES|EXISTS)(?:_STATIC)?\(\s*(?:\[?\w+\]?\s*,\s*)?\[?(?P<list>[^\]\)]{1,300})"
)
_PKG_ENTRY = re.compile(r"(?P<name>[A-Za-z][\w.+-]*)(?:\s*(?P<sign>[<>=]+)\s*(?P<version>\$?[\w.]+))?")


def _configure_ac(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the libraries that a script of Autoconf asks pkg-config for."""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        check = None if re.match(r"\s*(?:#|dnl\b)", text) is not None else _PKG_CHECK.search(text)
        for entry in _PKG_ENTRY.finditer(check["list"]) if check is not None else ():
            version = f"{entry['sign']} {entry['version']}" if entry["version"] else ""
            yield Requirement(entry["name"], version, "pkg-config", number)


_DZIL_HEAD = re.compile(r"\s*\[Prereqs(?:\s*/\s*(?P<list>\w+))?\]")


def _dist_ini(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the modules of Dist::Zilla below ``[Prereqs]``; the name behind a slash is their list."""
    group: str | None = None
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE].split(" ;")[0]
        if text.lstrip().startswith("["):
            head = _DZIL_HEAD.match(text)
            name = "" if head is None or head["list"] is None else head["list"]
            group = None if head is None else "" if name.lower() == "runtimerequires" else name
            continue

        entry = re.match(r"\s*([A-Za-z]\w*(?:::\w+)*)\s*=\s*(\S+)\s*$", text) if group is not None else None
        if entry is not None and entry[1] != "perl":
            yield Requirement(entry[1], "" if entry[2] == "0" else entry[2], group or "", number)


_MODULE_TABLE = re.compile(
    r"@\{[^}]{0,200}?\bModuleName\s*=\s*[\"'](?P<name>[\w.-]+)[\"'](?:[^}]{0,200}?"
    r"\b(?:Module|Required|Maximum)Version\s*=\s*[\"'](?P<version>[\w.]+)[\"'])?",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"'](?P<name>[A-Za-z][\w.-]*)[\"']")
_BARE = re.compile(r"[\"']?(?P<name>(?<![\w$@.])[A-Za-z][\w.]*(?:-\w+)*)[\"']?\s*(?:,|$|\s)")
_INSTALL = re.compile(r".*?\bInstall-(?:Module|PSResource|Script)\s+(?P<rest>[^|;#]{1,300})", re.IGNORECASE)
_REQUIRES = re.compile(r"\s*#requires\s+-modules?\s+(?P<rest>[^|#]{1,300})", re.IGNORECASE)
_INSTALLED_VERSION = re.compile(
    r"-(?:Required|Minimum|Maximum)?Version\s+[\"']?(?P<version>[\[\w][\w.,\[\]()]*)", re.IGNORECASE
)
_DEPEND_ENTRY = re.compile(r"\s*[\"']?(?P<name>[A-Za-z][\w.-]*)[\"']?\s*=\s*[\"'](?P<version>[\w.]+)[\"']\s*;?\s*$")
_NO_MODULE = frozenset(["psdependoptions", "target", "dependencytype", "version", "name", "repository", "source"])


def _powershell(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the modules that a manifest of PowerShell requires, or that a script installs or requires."""
    is_inside = False
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        required = _REQUIRES.match(text)
        if required is None and text.lstrip().startswith("#"):
            continue

        head = re.match(r"\s*RequiredModules\s*=\s*(?P<rest>.*)$", text, re.IGNORECASE)
        is_inside = is_inside or head is not None
        if is_inside:
            part = head["rest"] if head is not None else text
            yield from _modules_of(part, "", number)
            is_inside = ")" not in part and (head is None or "@(" in part or not part.strip())
            continue

        installed = _INSTALL.match(text) if required is None else required
        if installed is not None:
            yield from _modules_of(installed["rest"], "required" if required is not None else "installed", number)


def _modules_of(text: str, group: str, number: int) -> Iterator[Requirement]:
    """Yield the modules of a list such as ``A, 'B', @{ModuleName='C'; ModuleVersion='1.0'}``."""
    for table in _MODULE_TABLE.finditer(text):
        yield Requirement(table["name"], table["version"] or "", group, number)

    remaining = _MODULE_TABLE.sub(" ", text)
    version = _INSTALLED_VERSION.search(remaining)
    # Names come first, or behind `-Name`; further switches have values of their own.
    names = re.match(r"\s*(?:-Name\s+)?(?P<names>(?:(?!\s-[A-Za-z]).)*)", remaining, re.IGNORECASE)
    list_text = names["names"] if names is not None and group else remaining
    for match in (_BARE if group else _QUOTED).finditer(list_text):
        yield Requirement(match["name"], version["version"] if version is not None else "", group, number)


def _ps_depend(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the entries of a file of PSDepend: names with versions."""
    for number, line in enumerate(lines, 1):
        match = _DEPEND_ENTRY.match(line[:MAX_LINE])
        if match is not None and match["name"].lower() not in _NO_MODULE:
            yield Requirement(match["name"], match["version"], "", number)


def _debian_control(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of Debian: those for building it, and those of its binaries."""
    group: str | None = None
    for number, line in enumerate(lines, 1):
        field = re.match(r"([A-Za-z][\w-]*):(.*)$", line[:MAX_LINE])
        text = line[:MAX_LINE]
        if field is not None:
            name, text = field[1].lower(), field[2]
            group = "build" if name.startswith("build-depends") else "" if name == "depends" else None
            group = "recommends" if name in {"recommends", "suggests"} else group

        for part in text.split(",") if group is not None else ():
            entry = re.match(r"\s*([a-z0-9][a-z0-9.+-]+)(?::\w+)?\s*(?:\(([^)]*)\))?", part)
            if entry is not None:
                yield Requirement(entry[1], entry[2] or "", group or "", number)


def _tox(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of the environments of tox, with the environment as their list."""
    section, is_inside = "", False
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE].split(" #")[0]
        head = re.match(r"\[([^\]]+)\]", text)
        field = re.match(r"([\w.-]+)\s*=\s*(.*)$", text)
        if head is not None:
            section, is_inside = head[1], False
        elif field is not None:
            is_inside, text = field[1] == "deps" and section.startswith("testenv"), field[2]

        bare = re.sub(r"^\s*[\w{},!-]+\s*:\s+", "", text)
        entry = re.match(r"\s*([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*([<>=!~][^;#]*)?\s*(?:;.*)?$", bare)
        if is_inside and head is None and entry is not None:
            yield Requirement(entry[1], (entry[2] or "").strip(), section, number)


def _pre_commit(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the repositories of hooks of pre-commit, each with its revision."""
    name, start = "", 0
    for number, line in enumerate(lines, 1):
        match = re.match(r"\s*(?:-\s+)?(repo|rev)\s*:\s*[\"']?([^\s\"'#]+)", line[:MAX_LINE])
        if match is None:
            continue
        if match[1] == "repo":
            parts = match[2].rstrip("/").removesuffix(".git").rsplit("/", 2)
            name, start = "/".join(parts[-2:]) if len(parts) > 1 else "", number
        elif name:
            yield Requirement(name, match[2], "pre-commit hook", start, number)
            name = ""


def _compose(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the images of the containers of Compose."""
    for number, line in enumerate(lines, 1):
        match = re.match(r"\s*image\s*:\s*[\"']?([a-z0-9][\w./-]*)(?::([\w.-]+))?[\"']?\s*(?:#.*)?$", line[:MAX_LINE])
        if match is not None:
            yield Requirement(match[1], match[2] or "", "image", number)


def _stack(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages below ``extra-deps:`` of Stack, whose versions follow their names."""
    is_inside = False
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        if re.match(r"[A-Za-z]", text) is not None:
            is_inside = text.startswith("extra-deps:")
        entry = (
            re.match(r"\s*-\s+[\"']?([A-Za-z][\w-]*?)-(\d[\d.]*)(?:@\S+)?[\"']?\s*(?:#.*)?$", text)
            if is_inside
            else None
        )
        if entry is not None:
            yield Requirement(entry[1], entry[2], "extra-deps", number)


_EMACS_ENTRY = re.compile(r"\(\s*(?P<name>[a-z][\w+-]*)\s+\"(?P<version>\d[\w.]*)\"\s*\)")
_DEPENDS_ON = re.compile(r"\s*\(depends-on\s+\"(?P<name>[^\"]+)\"(?:\s+\"(?P<version>\d[\w.]*)\")?")
_MAX_HEAD = 100
"""Lines of a file of Emacs Lisp in which its head ends."""


def _emacs(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of ``Package-Requires`` in the head of a file, or of a definition of a package."""
    is_inside = False
    for number, line in enumerate(lines[:_MAX_HEAD], 1):
        text = line[:MAX_LINE]
        head = re.match(r";;+\s*([A-Za-z-]+)\s*:", text)
        if head is not None:
            is_inside = head[1].lower() == "package-requires"
        elif text.startswith("(define-package"):
            is_inside = True
        elif not text.strip() or (is_inside and text.startswith(("(", ";;; "))):
            is_inside = False

        for entry in _EMACS_ENTRY.finditer(text) if is_inside else ():
            # The editor is among the packages.
            if entry["name"] != "emacs":
                yield Requirement(entry["name"], entry["version"], "", number)


def _cask(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of Cask; those for development have this list."""
    group = ""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        if text.startswith("("):
            group = "development" if text.startswith("(development") else ""
        entry = _DEPENDS_ON.match(text)
        if entry is not None and entry["name"] != "emacs":
            yield Requirement(entry["name"], entry["version"] or "", group, number)


_ASD_SYSTEM = re.compile(r"\s*\((?:asdf:|uiop:)?defsystem\s+[\"':#|]{0,3}(?P<name>[\w.+/-]+)", re.IGNORECASE)
_ASD_ENTRY = re.compile(
    r"(?<![\w-])(?::feature\s+(?:\([^()]{0,60}\)|:\S+)\s+)?[:\"#|]{1,2}(?P<name>[a-z][\w.+/-]*)", re.IGNORECASE
)


def _asd(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield what the systems of ASDF depend on; all but the first system have their name as their list."""
    system, first, depth = "", "", 0
    for number, line in enumerate(lines, 1):
        text = re.sub(r";.*$", "", line[:MAX_LINE])
        if (head := _ASD_SYSTEM.match(text)) is not None:
            system = head["name"].lower()
            first, depth = first or system, 0
        if not depth and (start := re.search(r":(?:weakly-)?depends-on\s*\(", text)) is not None:
            text, depth = text[start.end() :], 1
        elif not depth:
            continue

        end = next((index for index, level in enumerate(_levels(text, depth)) if not level), len(text))
        for entry in _ASD_ENTRY.finditer(text[:end]):
            yield Requirement(entry["name"], "", "" if system == first else system, number)
        depth = 0 if end < len(text) else ([depth, *_levels(text, depth)])[-1]


def _levels(text: str, depth: int) -> list[int]:
    """Return how many brackets are open behind each character of a text that begins inside of some."""
    levels = []
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        levels.append(depth)
    return levels


def _yaml_table(*names: str) -> Callable[[Sequence[str]], Iterator[Requirement]]:
    """Make a reader of YAML whose keys at the top have packages with their versions below them, at any depth."""
    entry_form = re.compile(
        r"\s+[\"']?(?P<name>@?[A-Za-z][\w./-]*)[\"']?\s*:\s*[\"']?(?P<version>[^\s\"'#{\[][^\"'#]*)"
    )

    def read(lines: Sequence[str]) -> Iterator[Requirement]:
        is_inside = False
        for number, line in enumerate(lines, 1):
            text = line[:MAX_LINE]
            head = re.match(r"([A-Za-z]\w*)\s*:", text)
            is_inside = head[1] in names if head is not None else is_inside
            entry = entry_form.match(text) if is_inside and head is None else None
            if entry is not None:
                yield Requirement(entry["name"], entry["version"].strip(), "" if len(names) == 1 else "catalog", number)

    return read


TOOL_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^dub\.sdl$", _dub_sdl),
    (r"^dub\.json$", _dub_json),
    (
        r"^(?:fpm|gleam)\.toml$",
        _toml_tables({"dependencies": "", "dev-dependencies": "dev", "dev_dependencies": "dev"}),
    ),
    (r"^bower\.json$|^haxelib\.json$", _bower),
    (r"^metadata\.json$", _puppet),
    (r"^configure\.(?:ac|in)$", _configure_ac),
    (r"^dist\.ini$", _dist_ini),
    (r"^(?:requirements|[\w.-]*depend(?:encies)?)\.psd1$", _ps_depend),
    (r"\.psd1$|\.ps1$", _powershell),
    (r"^control$", _debian_control),
    (r"^tox\.ini$", _tox),
    (r"^\.pre-commit-config\.ya?ml$", _pre_commit),
    (r"^(?:docker-)?compose[\w.-]*\.ya?ml$", _compose),
    (r"^stack\.yaml$", _stack),
    (r"\.el$", _emacs),
    (r"^Cask$", _cask),
    (r"\.asd$", _asd),
    (r"^galaxy\.ya?ml$", _yaml_table("dependencies")),
    (r"^pnpm-workspace\.ya?ml$", _yaml_table("catalog", "catalogs")),
)
"""Readers by the name of a file."""
TOOL_FILES = (
    r"dub\.(sdl|json)|(fpm|gleam)\.toml|bower\.json|haxelib\.json|metadata\.json|configure\.(ac|in)|dist\.ini|[\w.-]+\.psd1"
    r"|[\w.-]*(build|install|setup|bootstrap|psake|depend)[\w.-]*\.ps1|debian/control|tox\.ini"
    r"|Cask|[\w.-]+\.asd|galaxy\.ya?ml|pnpm-workspace\.ya?ml|\.pre-commit-config\.ya?ml|(docker-)?compose[\w.-]*\.ya?ml|stack\.yaml|project/[\w.-]+\.sbt"
)
"""Regular expression for their paths."""

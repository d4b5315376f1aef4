"""Read the packages that manifests of Python list: `pyproject.toml`, `setup.cfg`, `setup.py`, requirements, `Pipfile`.

A condition such as ``python_version < "3.9"`` belongs to an entry: behind a semicolon, as Python writes it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from sourcelight.engines.deepsearch.lookups.manifests.requirement import (
    Requirement,
    is_readable,
    lines_of_keys,
    table_start,
)

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?\s*([^;#]*)")
_PINNED = re.compile(r"\s*([\w.-]+/[\w.-]+)@(\S{1,80})\s*$")
"""A repository with its tag, as tools that fetch sources write it into a list of requirements."""
_MARKER = re.compile(r"\s*;\s*(?P<marker>[^#]{1,200}?)\s*(?:\s#.*)?$")
_MAX_LINE = 2_000


def _with_marker(text: str, marker: str) -> str:
    """Return a version with the condition of its entry."""
    version = " ".join(text.split()).rstrip(",")
    return f"{version}; {marker}" if marker else version


def _pyproject(lines: Sequence[str]) -> Iterator[Requirement]:
    data = tomllib.loads("\n".join(lines))
    project = data.get("project") or {}
    tool = data.get("tool") or {}
    lists: list[tuple[str, str, str, Any]] = [("project", "dependencies", "", project.get("dependencies"))]
    lists += [
        ("project.optional-dependencies", name, f"optional: {name}", items)
        for name, items in (project.get("optional-dependencies") or {}).items()
    ]
    lists += [
        ("dependency-groups", name, f"group {name}", items)
        for name, items in (data.get("dependency-groups") or {}).items()
    ]
    lists.append(("build-system", "requires", "build", (data.get("build-system") or {}).get("requires")))
    lists.append(("tool.uv", "dev-dependencies", "group dev", (tool.get("uv") or {}).get("dev-dependencies")))
    lists += [
        ("tool.pdm.dev-dependencies", name, f"group {name}", items)
        for name, items in ((tool.get("pdm") or {}).get("dev-dependencies") or {}).items()
    ]
    for name, environment in ((tool.get("hatch") or {}).get("envs") or {}).items():
        for key in ("dependencies", "extra-dependencies"):
            items = environment.get(key) if isinstance(environment, dict) else None
            lists.append((f"tool.hatch.envs.{name}", key, f"group environment {name}", items))

    for table, key, group, items in lists:
        start = _start_of_list(lines, table, key) if items else 0
        for item in items or ():
            if isinstance(item, str) and (requirement := _of_text(lines, item, group, start)) is not None:
                yield requirement

    yield from _poetry(lines, tool.get("poetry") or {})


def read_empty_extras(path: str, lines: Sequence[str]) -> list[tuple[str, int]]:
    """Return the extras of a ``pyproject.toml`` that list no package, and the line (from 1) of each."""
    if not path.endswith("pyproject.toml") or not is_readable(path, lines):
        return []
    try:
        project = tomllib.loads("\n".join(lines)).get("project") or {}
        empty = [name for name, items in (project.get("optional-dependencies") or {}).items() if items == []]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []

    numbers = lines_of_keys(lines, table_start(lines, "project.optional-dependencies")) if empty else {}
    return [(name, numbers[name]) for name in empty if name in numbers]


def _poetry(lines: Sequence[str], poetry: dict[str, Any]) -> Iterator[Requirement]:
    """Yield the packages of Poetry: those of an extra have it as their list, as far as an extra names them."""
    extras: dict[str, list[str]] = {}
    for extra, names in (poetry.get("extras") or {}).items():
        for name in names:
            extras.setdefault(str(name).lower(), []).append(extra)

    tables = [("tool.poetry.dependencies", "", poetry.get("dependencies"))]
    tables.append(("tool.poetry.dev-dependencies", "dev", poetry.get("dev-dependencies")))
    tables += [
        (f"tool.poetry.group.{name}.dependencies", f"group {name}", (group or {}).get("dependencies"))
        for name, group in (poetry.get("group") or {}).items()
    ]
    for table, group, entries in tables:
        numbers = lines_of_keys(lines, table_start(lines, table))
        for name, value in (entries or {}).items():
            # Poetry lists the language among the packages.
            if name == "python":
                continue
            line = numbers.get(name, 0) or _line_of(lines, name, "")
            for entry in value if isinstance(value, list) else [value]:
                table_of_entry = entry if isinstance(entry, dict) else {"version": entry}
                version = next(
                    (table_of_entry[key] for key in ("version", "tag", "rev", "branch") if key in table_of_entry), ""
                )
                is_optional = table_of_entry.get("optional") is True
                names_of_extras = extras.get(name.lower(), [])
                list_name = f"optional: {names_of_extras[0]}" if is_optional and len(names_of_extras) == 1 else ""
                list_name = list_name or " ".join(part for part in (group, "optional" if is_optional else "") if part)
                yield Requirement(name, str(version), list_name, line, condition=_condition_of_poetry(table_of_entry))


def _condition_of_poetry(entry: dict[str, Any]) -> str:
    """Return when an entry of Poetry counts: for a version of Python, on a platform, or by a marker."""
    conditions = [str(entry["markers"])] if "markers" in entry else []
    conditions += [f"{key} {entry[key]}" for key in ("python", "platform") if key in entry]
    return " and ".join(conditions)


def _start_of_list(lines: Sequence[str], table: str, key: str) -> int:
    """Return the index of the line that begins a list of TOML; that of its table, or 0, where no line does alone."""
    start = table_start(lines, table)
    head = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    for number, line in enumerate(lines[start:], start):
        if head.match(line[:_MAX_LINE]) is not None:
            return number
    return start


def _of_text(lines: Sequence[str], text: str, group: str, start: int) -> Requirement | None:
    match = _REQUIREMENT.match(text)
    if match is None:
        return None

    # In quotation marks: "six" is in the line of "sixth", too.
    quoted = (f'"{text}"', f"'{text}'", text)
    numbers = (
        number
        for spelling in quoted
        for number, line_text in enumerate(lines[start:], start + 1)
        if spelling in line_text
    )
    line = next(numbers, 0) or _line_of(lines, match[1], match[3].strip(), start) or _line_of(lines, match[1], "")

    # A package may be needed on some platforms or versions of Python alone.
    return Requirement(match[1], _with_marker(match[3], text.partition(";")[2].strip()), group, line)


def _line_of(lines: Sequence[str], name: str, version: str, start: int = 0) -> int:
    """Return the first line (from 1) with a name and its version, else with the name; 0 for none."""
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    with_name = [number for number, line in enumerate(lines[start:], start + 1) if word.search(line[:_MAX_LINE])]
    # A name may occur several times, such as in a comment: the line with the version is the entry.
    exact = [number for number in with_name if version and version in lines[number - 1]]
    return next(iter(exact or with_name), 0)


def _requirements(lines: Sequence[str]) -> Iterator[Requirement]:
    for number, line in enumerate(lines, 1):
        pinned = _PINNED.match(line[:_MAX_LINE])
        if pinned is not None:
            yield Requirement(pinned[1], pinned[2], "", number)
            continue

        match = _REQUIREMENT.match(line[:_MAX_LINE])
        if match is not None and not line.lstrip().startswith(("-", "#")) and "://" not in line:
            marker = _MARKER.match(line[:_MAX_LINE], match.end())
            yield Requirement(match[1], _with_marker(match[3], marker["marker"] if marker else ""), "", number)


def _setup_cfg(lines: Sequence[str]) -> Iterator[Requirement]:
    section = key = ""
    for number, line in enumerate(lines, 1):
        if (header := re.match(r"\[(.+)\]\s*$", line)) is not None:
            section, key = header[1], ""
            continue

        # The key of an extra may have a condition: `tests:python_version < "3.8" =`.
        setting = re.match(r"(?P<key>[\w.-]*(?::[^=]*(?:[<>=!]=[^=]*)*)?)\s*=\s*(?P<text>.*)$", line[:_MAX_LINE])
        if setting is not None and setting["key"]:
            key, text = setting["key"].strip(), setting["text"]
        else:
            text = line.strip()

        is_requirement = (section == "options" and key in {"install_requires", "setup_requires", "tests_require"}) or (
            section == "options.extras_require" and key
        )
        match = _REQUIREMENT.match(text) if is_requirement and text and not text.startswith("#") else None
        if match is not None:
            extra, _, condition = key.partition(":")
            group = "" if key == "install_requires" or (condition and not extra) else key
            group = f"optional: {extra}" if "extras" in section and extra else group
            marker = _MARKER.match(text, match.end())
            version = _with_marker(match[3], marker["marker"] if marker is not None else "")
            yield Requirement(match[1], version, group, number, condition=condition.strip())


_LIST_OF_SETUP = re.compile(
    r"\b(?P<key>install_requires|extras_require|tests_require|setup_requires|requires)\s*=\s*(?P<name>[A-Za-z_]\w*\s*(?=[,)]|$))?"
)
_QUOTED = re.compile(r"(?P<quote>['\"])(?P<text>(?:(?!(?P=quote))[^\\]){1,300})(?P=quote)")
_MAX_LISTS = 20


def _setup_py(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield texts in lists after ``install_requires=`` and the like, or of the variable that is given there."""
    heads = (
        (number, match)
        for number, line in enumerate(lines, 1)
        for match in _LIST_OF_SETUP.finditer(line[:_MAX_LINE].split("#")[0])
    )
    for number, match in islice(heads, _MAX_LISTS):
        if match["name"] is None:
            yield from _quoted_list(lines, number, match.end(), match["key"])
            continue

        assigned = re.compile(rf"\s*{re.escape(match['name'].strip())}\s*(?::[^=]{{1,60}})?=\s*(?=[\[{{(])")
        for other_number, other_line in enumerate(lines, 1):
            head = assigned.match(other_line[:_MAX_LINE])
            if head is not None:
                yield from _quoted_list(lines, other_number, head.end(), match["key"])
                break


def _quoted_list(lines: Sequence[str], number: int, offset: int, key: str) -> Iterator[Requirement]:
    """Yield the texts of a list, or of the lists of a table, from a place of a line to the bracket that closes it."""
    depth, extra, condition = 0, "", ""
    text = lines[number - 1][:_MAX_LINE]
    if not text[offset:].lstrip().startswith(("[", "{", "(")):
        return

    while True:
        part, depth = _until_closed(_without_comment(text)[offset:], depth)
        for match in _QUOTED.finditer(part):
            # A key of `extras_require`, which is the name of an extra, and may be a condition.
            if part[match.end() :].lstrip().startswith(":"):
                extra, _, condition = match["text"].partition(":")
                continue
            entry = _REQUIREMENT.match(match["text"])
            if entry is not None:
                of_extra = f"optional: {extra}" if extra else "" if condition else key
                group = "" if key in {"install_requires", "requires"} else of_extra if key == "extras_require" else key
                version = _with_marker(entry[3], match["text"].partition(";")[2].strip())
                yield Requirement(entry[1], version, group, number, condition=condition.strip())

        # The list ends with the bracket that opened it.
        if depth <= 0 or number >= len(lines):
            return
        text, offset = lines[number][:_MAX_LINE], 0
        number += 1


def _without_comment(text: str) -> str:
    """Return a line without its comment; a number sign in a text begins none."""
    if "#" not in text:
        return text
    position = 0
    for match in _QUOTED.finditer(text):
        comment = text.find("#", position, match.start())
        if comment >= 0:
            return text[:comment]
        position = match.end()
    comment = text.find("#", position)
    return text if comment < 0 else text[:comment]


def _until_closed(text: str, depth: int) -> tuple[str, int]:
    """Return a text up to the bracket that closes all that are open, and how many are still open behind it.

    Brackets in texts, as of extras, come in pairs.
    """
    for index, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if depth <= 0 and letter in "]})":
            return text[: index + 1], 0
    return text, depth


def _pipfile(lines: Sequence[str]) -> Iterator[Requirement]:
    data = tomllib.loads("\n".join(lines))
    for table, group in (("packages", ""), ("dev-packages", "dev")):
        numbers = lines_of_keys(lines, table_start(lines, table))
        for name, value in (data.get(table) or {}).items():
            entry = value if isinstance(value, dict) else {"version": value}
            conditions = [str(entry[key]) for key in ("markers", "sys_platform", "python_version") if key in entry]
            version = str(entry.get("version", ""))
            yield Requirement(name, version, group, numbers.get(name, 0), condition=" and ".join(conditions))


PYTHON_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^pyproject\.toml$", _pyproject),
    (r"requirements[\w.-]*\.(?:txt|in)$", _requirements),
    (r"^setup\.cfg$", _setup_cfg),
    (r"^setup\.py$", _setup_py),
    (r"^Pipfile$", _pipfile),
)
"""Readers by the name of a file."""

"""Blocks of Terraform by their addresses, such as `var.region` and `module.network`, and keys of data.

References to a block have the address, and definitions only its last part: this module leads from one to the other.
Keys of data, such as the jobs of a workflow, and variables of a shell define a name that no line of code does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.source.functions import lines_around
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

BLOCK_LANGUAGES = frozenset({"HCL", "Terraform"})
_MAX_ROWS, _MAX_LINE, _MAX_BLOCK = 2_000, 500, 2_000
"""Lines with a name that are read, their characters, and lines of a block of locals above one of them."""
_MAX_KEYS = 3
"""Lines of data with a key; more of them are entries of one kind."""
_KEYED = frozenset({"INI", "Shell", "TOML", "YAML"})
_ADDRESS = re.compile(r"(?:var|local|module)\.[A-Za-z_][\w-]*|(?:data\.)?[a-z][a-z\d]*_\w+\.[A-Za-z_][\w-]*")
_HEAD = re.compile(
    r"\s*(?P<kind>variable|module|resource|data)\s+\"(?P<label>[\w-]+)\"(?:\s+\"(?P<name>[\w-]+)\")?\s*\{"
)
_LOCALS = re.compile(r"\s*locals\s*\{")
_PREFIXES = {"variable": "var", "module": "module", "data": "data", "resource": ""}


def is_address(name: str) -> bool:
    """Return whether a name has the form of an address; a member of an object of code may have it, too."""
    return _ADDRESS.fullmatch(name) is not None


def address_of(texts: FileTexts, locations: Sequence[DefinitionLocation]) -> str:
    """Return the address that references to some definitions have; empty unless all are blocks with the same one."""
    addresses = {_address_at(texts.lines(item.target, item.path), item) for item in locations}
    return addresses.pop() if len(addresses) == 1 else ""


def _address_at(lines: Sequence[str], location: DefinitionLocation) -> str:
    """Return the address of a block or a local value; empty for anything else."""
    number = location.definition.line
    if language_of(location.path) not in BLOCK_LANGUAGES or not 0 < number <= len(lines):
        return ""

    head = _HEAD.match(lines[number - 1][:_MAX_LINE])
    if head is not None:
        parts = [_PREFIXES[head["kind"]], head["label"], head["name"]]
        return ".".join(part for part in parts if part)
    return f"local.{location.definition.name}" if _is_local(lines, number) else ""


def _is_local(lines: Sequence[str], number: int) -> bool:
    """Return whether a line (from 1) is directly within a block of local values."""
    around = lines_around(lines[max(0, number - 1 - _MAX_BLOCK) : number])
    return len(around) > 1 and _LOCALS.match(around[1]) is not None


def find_blocks(work: Work, address: str) -> Iterator[tuple[Target, str, Definition]]:
    """Yield the blocks and local values with an address: modules of one repository may each have one."""
    if not is_address(address):
        return

    name = address.rpartition(".")[2]
    for row in run_searches(work, make_queries(work, f"case:yes type:file /{escape_regexp(name)}/"))[:_MAX_ROWS]:
        target = work.inquiry.pins.of(row["repository"])
        if row["type"] != "content" or target is None or language_of(row["path"]) not in BLOCK_LANGUAGES:
            continue

        number, text = row["line_number"], (row["line"] or "")[:_MAX_LINE]
        defines = _HEAD.match(text) or re.match(rf"\s*{re.escape(name)}\s*=(?!=)", text)
        definition = Definition(name, "variable", "", 0, number, number, number, column=text.find(name))
        location = DefinitionLocation(target, row["path"], definition)
        if defines is not None and _address_at(work.texts.lines(target, row["path"]), location) == address:
            yield target, row["path"], definition


def find_keys(work: Work, name: str) -> list[DefinitionLocation]:
    """Return the lines that have a name as a key, an anchor, a local value or a variable of a shell; none of many."""
    key = re.escape(name)
    pattern = re.compile(
        rf"\s*(?:- +|export +|readonly +)?[\"']?{key}[\"']?\s*[:=](?!=)|[^#]*[:-] +&{key}(?![\w-])"
        rf"|\s*\[[\w.\" -]*\b{key}\"?\]"
    )
    locations = []
    for row in run_searches(work, make_queries(work, f"case:yes type:file /{escape_regexp(name)}/"))[:_MAX_ROWS]:
        path, number, text = row["path"], row["line_number"], (row["line"] or "")[:_MAX_LINE]
        target, language = work.inquiry.pins.of(row["repository"]), language_of(path)
        if row["type"] != "content" or target is None or not rank_of(path).is_of_project or pattern.match(text) is None:
            continue
        is_local = language in BLOCK_LANGUAGES and _is_local(work.texts.lines(target, path), number)
        if language in _KEYED or is_local:
            definition = Definition(name, "key", "", 0, number, number, number, column=text.find(name))
            locations.append(DefinitionLocation(target, path, definition))
    return locations if len(locations) <= _MAX_KEYS else []

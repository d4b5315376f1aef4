"""Parse the imports of a file: modules, packages, crates and headers, as written.

The query of a language captures the statements, and its reader takes the names out of each. Names stay as they are
written: what they mean depends on the project, which `navigation` decides. Most imports of Python are read by a regular
expression, which is faster than the nodes; all that it does not fit is read by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NAME_BYTES = 512
"""Maximum bytes of a name in an import; longer ones are dropped."""

_ECMASCRIPT = """
(import_statement source: (string)) @import
(export_statement source: (string)) @import
(call_expression function: [(identifier) (import)] @_f arguments: (arguments . (string))
  (#any-of? @_f "require" "import")) @import
"""
_INCLUDE = "(preproc_include) @import"

QUERIES: Mapping[str, str] = {
    "C": _INCLUDE,
    "C#": "(using_directive) @import",
    "C++": _INCLUDE,
    "Go": "(import_spec) @import",
    "Java": "(import_declaration) @import",
    "JavaScript": _ECMASCRIPT,
    "Kotlin": "(import) @import",
    "PHP": "(namespace_use_declaration) @import",
    "Python": "(import_statement) @import (import_from_statement) @import",
    "Ruby": """
(call method: (identifier) @_f arguments: (argument_list . (string))
  (#any-of? @_f "require" "require_relative")) @import
""",
    "Rust": "(use_declaration) @import (mod_item !body) @import (extern_crate_declaration) @import",
    "Scala": "(import_declaration) @import",
    "Shell": """
(command name: (command_name) @_f . argument: (_) (#any-of? @_f "source" ".")) @import
""",
    "TSX": _ECMASCRIPT,
    "TypeScript": _ECMASCRIPT,
}
"""Tree-sitter queries by display name of the language, added to the queries of definitions."""

_PYTHON_IMPORT = re.compile(rb"(?:from\s+([.\w]+)\s+)?import\s*\(?([\w\s.,]+)\)?")
"""An import of Python without comments, wildcards or letters beyond ASCII; `_python_nodes` reads all others."""

_SCALA_COMMAS = re.compile(rb",(?![^{]*\})")
"""Commas between imports of Scala; those inside braces separate the members of one: ``a.{b, c}``."""

_SPACES = re.compile(rb"\s+")
"""Blanks and newlines, which may be anywhere between the words of a statement."""


@dataclass(frozen=True, slots=True)
class Import:
    """An import of a module or of a member of it.

    `module` is as written, without quotes, but with leading dots of Python and the angle brackets of headers. `member`
    is the imported name, ``*`` for all, empty for the module itself. `alias` is the name in this file, empty without
    one. `line` is 1-based.
    """

    module: str
    member: str
    alias: str
    line: int


class _ImportNames(NamedTuple):
    """The names of an import; see `Import`."""

    module: bytes
    member: bytes = b""
    alias: bytes = b""


def read_imports(language: str, nodes: list[Node], data: bytes) -> list[Import]:
    """Read the captured nodes of a file with the text `data`, in order."""
    reader = _READERS.get(language)
    if reader is None:
        return []

    imports = []
    for node in sorted(nodes, key=lambda node: node.start_byte):
        line = node.start_point[0] + 1
        for names in reader(node, data):
            if _can_be_stored(names):
                module, member, alias = (name.decode(errors="replace") for name in names)
                imports.append(Import(module=module, member=member, alias=alias, line=line))

    return imports


def _can_be_stored(names: _ImportNames) -> bool:
    if not names.module or max(map(len, names)) > MAX_NAME_BYTES:
        return False
    # Tables separate texts by newlines, so a text with one would shift all texts after it.
    return not any(b"\n" in name for name in names)


def _python(node: Node, data: bytes) -> Iterator[_ImportNames]:
    # Most imports are words and commas: a regular expression reads them faster than the nodes do.
    match = None if node.has_error else _PYTHON_IMPORT.fullmatch(_text(node, data))
    imported = [] if match is None else [part.split() for part in match[2].split(b",")]
    if match is None or not all(map(_is_name_with_alias, imported)):
        yield from _python_nodes(node, data)
        return

    module = match[1]
    for words in filter(None, imported):
        alias = words[2] if len(words) == 3 else b""
        yield _ImportNames(words[0], alias=alias) if module is None else _ImportNames(module, words[0], alias)


def _is_name_with_alias(words: list[bytes]) -> bool:
    """Return whether words are ``name`` or ``name as alias``, or nothing, as behind a comma at the end."""
    if len(words) == 3:
        return words[1] == b"as"
    return len(words) < 2


def _text(node: Node | None, data: bytes) -> bytes:
    # Not `node.text`: it calls back into Python for each piece of the text.
    if node is None:
        return b""
    start, end = node.byte_range
    return data[start:end]


def _python_nodes(node: Node, data: bytes) -> Iterator[_ImportNames]:
    source = node.child_by_field_name("module_name")
    module = _text(source, data).replace(b" ", b"")
    for child in node.named_children:
        if source is not None and child.start_byte == source.start_byte:
            continue

        if child.type == "wildcard_import":
            yield _ImportNames(module, b"*")
        elif child.type in {"aliased_import", "dotted_name"}:
            name_node = child.child_by_field_name("name") if child.type == "aliased_import" else child
            name = _text(name_node, data)
            alias = _text(child.child_by_field_name("alias"), data)
            yield _ImportNames(name, alias=alias) if source is None else _ImportNames(module, name, alias)


def _go(node: Node, data: bytes) -> Iterator[_ImportNames]:
    module = _unquote(node.child_by_field_name("path"), data)
    alias = _text(node.child_by_field_name("name"), data)
    # ``import . "fmt"`` makes all names of the package visible without a prefix.
    yield _ImportNames(module, member=b"*" if alias == b"." else b"", alias=alias.replace(b".", b""))


def _unquote(node: Node | None, data: bytes) -> bytes:
    return _text(node, data).strip(b"\"'`")


def _ecmascript(node: Node, data: bytes) -> Iterator[_ImportNames]:
    source = node.child_by_field_name("source")
    if source is None:
        # A call: ``require("a")`` or ``import("a")``.
        arguments = node.child_by_field_name("arguments")
        yield _ImportNames(_unquote(_first_child(arguments), data))
        return

    module = _unquote(source, data)
    clause = _child_of_type(node, "import_clause", "export_clause")
    if clause is None:
        # ``import "a"`` has only effects; ``export * from "a"`` and ``export * as b from "a"`` export all names.
        namespace = _child_of_type(node, "namespace_export")
        yield _ImportNames(module, b"*" if node.type == "export_statement" else b"", _last_child_text(namespace, data))
        return

    parts = clause.named_children if clause.type == "import_clause" else [clause]
    for part in parts:
        if part.type == "identifier":
            yield _ImportNames(module, b"default", _text(part, data))
        elif part.type == "namespace_import":
            yield _ImportNames(module, b"*", _last_child_text(part, data))
        else:
            yield from _specifiers(part, module, data)


def _specifiers(clause: Node, module: bytes, data: bytes) -> Iterator[_ImportNames]:
    """Read the names between braces: ``{ a, b as c }``."""
    for specifier in clause.named_children:
        name = specifier.child_by_field_name("name")
        if name is not None:
            yield _ImportNames(module, _text(name, data), _text(specifier.child_by_field_name("alias"), data))


def _first_child(node: Node | None) -> Node | None:
    return node.named_children[0] if node is not None and node.named_children else None


def _child_of_type(node: Node, *types: str) -> Node | None:
    return next((child for child in node.named_children if child.type in types), None)


def _last_child_text(node: Node | None, data: bytes) -> bytes:
    if node is not None and node.named_children:
        return _text(node.named_children[-1], data)
    return b""


def _dotted_name(node: Node, data: bytes) -> Iterator[_ImportNames]:
    """Read imports: ``import a.b.C;``, ``import static a.b.C.*``, ``using X = A.B;``, ``import a.b.C as D``."""
    words = _SPACES.sub(b" ", _text(node, data)).strip(b" ;").split(b" ")
    while words and words[0] in {b"import", b"static", b"using", b"global", b"unsafe"}:
        words.pop(0)

    name = b" ".join(words)
    alias = b""
    if b" as " in name:
        name, _, alias = name.partition(b" as ")
    elif b" = " in name:
        alias, _, name = name.partition(b" = ")

    name = name.replace(b" ", b"")
    alias = alias.strip()
    if node.type == "using_directive":
        yield _ImportNames(name, alias=alias)
    else:
        yield _split_member(name, b".", alias)


def _split_member(name: bytes, separator: bytes, alias: bytes = b"") -> _ImportNames:
    """Return a name as a member of what precedes its last separator; without one, it is a module."""
    module, _, member = name.rpartition(separator)
    return _ImportNames(module, member, alias) if module else _ImportNames(member, alias=alias)


def _scala(node: Node, data: bytes) -> Iterator[_ImportNames]:
    text = _SPACES.sub(b" ", _text(node, data)).removeprefix(b"import ")
    for part in _SCALA_COMMAS.split(text):
        module, _, members = part.strip().rpartition(b".")
        for selector in members.strip(b"{} ").split(b","):
            # Scala 2 writes ``b => c``, Scala 3 ``b as c``.
            member, _, alias = selector.replace(b"=>", b" as ").partition(b" as ")
            member = member.strip()
            yield _ImportNames(module, b"*" if member == b"_" else member, alias.strip())


def _include(node: Node, data: bytes) -> Iterator[_ImportNames]:
    path = node.child_by_field_name("path")
    yield _ImportNames(_text(path, data).strip(b'"'))


def _php(node: Node, data: bytes) -> Iterator[_ImportNames]:
    for child in node.named_children:
        if child.type == "namespace_use_clause":
            name, _, alias = _SPACES.sub(b" ", _text(child, data)).partition(b" as ")
            yield _split_member(name.strip(), b"\\", alias)


def _call(node: Node, data: bytes) -> Iterator[_ImportNames]:
    """Read calls of Ruby and commands of shells: ``require "a"``, ``require_relative "a"``, ``source a``."""
    if node.type == "command":
        # The first child is the name of the command.
        path = next(iter(node.named_children[1:]), None)
    else:
        path = _first_child(node.child_by_field_name("arguments") or node)

    is_relative = _text(node.child_by_field_name("method"), data) == b"require_relative"
    yield _ImportNames((b"./" if is_relative else b"") + _unquote(path, data))


def _rust(node: Node, data: bytes) -> Iterator[_ImportNames]:
    if node.type == "mod_item":
        # `mod name;` includes the file of a submodule, which `use self::name` would name.
        yield _ImportNames(b"self", _text(node.child_by_field_name("name"), data))
        return

    if node.type == "extern_crate_declaration":
        name = _text(node.child_by_field_name("name"), data)
        yield _ImportNames(name, alias=_text(node.child_by_field_name("alias"), data))
        return

    argument = node.child_by_field_name("argument")
    # Lists can be nested: `use a::{b, c::{d, e}}`. Each pending part has the path before it. A stack, not recursion:
    # the file decides the depth.
    pending: list[tuple[bytes, Node]] = [(b"", argument)] if argument is not None else []
    while pending:
        prefix, part = pending.pop()
        kind = part.type
        if kind == "use_list":
            pending += [(prefix, child) for child in reversed(part.named_children)]
        elif kind == "scoped_use_list":
            use_list = part.child_by_field_name("list")
            if use_list is not None:
                path = _text(part.child_by_field_name("path"), data)
                pending.append((_join_paths(prefix, path), use_list))
        elif kind == "use_as_clause":
            path = _text(part.child_by_field_name("path"), data)
            alias = _text(part.child_by_field_name("alias"), data)
            yield _split_path(_join_paths(prefix, path))._replace(alias=alias)
        elif kind == "use_wildcard":
            path = _text(part, data).removesuffix(b"*").removesuffix(b"::")
            yield _ImportNames(_join_paths(prefix, path), b"*")
        elif kind == "self":
            yield _ImportNames(prefix)
        elif kind not in {"line_comment", "block_comment"}:
            yield _split_path(_join_paths(prefix, _text(part, data)))


def _join_paths(prefix: bytes, path: bytes) -> bytes:
    return prefix + b"::" + path if prefix and path else prefix or path


def _split_path(path: bytes) -> _ImportNames:
    return _split_member(_SPACES.sub(b"", path), b"::")


_READERS: dict[str, Callable[[Node, bytes], Iterator[_ImportNames]]] = {
    "C": _include,
    "C#": _dotted_name,
    "C++": _include,
    "Go": _go,
    "Java": _dotted_name,
    "JavaScript": _ecmascript,
    "Kotlin": _dotted_name,
    "PHP": _php,
    "Python": _python,
    "Ruby": _call,
    "Rust": _rust,
    "Scala": _scala,
    "Shell": _call,
    "TSX": _ecmascript,
    "TypeScript": _ecmascript,
}

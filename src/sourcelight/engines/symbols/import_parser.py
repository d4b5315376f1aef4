"""Parse the imports of a file: modules, packages, crates and headers, as written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

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

# Comments, wildcards and letters beyond ASCII don't match; `_python_nodes` reads those imports.
_PLAIN = re.compile(rb"(?:from\s+([.\w]+)\s+)?import\s*\(?([\w\s.,]+)\)?")

_SPACES = re.compile(rb"\s+")


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


_Part = tuple[bytes, bytes, bytes]


def read_imports(language: str, nodes: list[Node], data: bytes) -> list[Import]:
    """Read the captured nodes of a file with the text `data`, in order."""
    reader = _READERS.get(language)
    if reader is None:
        return []

    imports = []
    for node in sorted(nodes, key=lambda node: node.start_byte):
        line = node.start_point[0] + 1
        for module, member, alias in reader(node, data):
            if (
                module
                and max(len(module), len(member), len(alias)) <= MAX_NAME_BYTES
                # Tables separate texts by newlines, so a text with one would shift all texts after it.
                and b"\n" not in module + member + alias
            ):
                imports.append(
                    Import(module=_to_text(module), member=_to_text(member), alias=_to_text(alias), line=line)
                )

    return imports


def _to_text(text: bytes) -> str:
    return text.decode(errors="replace")


def _python(node: Node, data: bytes) -> Iterator[_Part]:
    # Most imports are plain words and commas: a regular expression reads them faster than the nodes do.
    simple = None if node.has_error else _PLAIN.fullmatch(_text(node, data))
    parts = [part.split() for part in simple[2].split(b",")] if simple is not None else []
    if simple is None or any(len(words) > 1 and (len(words) != 3 or words[1] != b"as") for words in parts):
        yield from _python_nodes(node, data)
        return

    module = simple[1]
    for words in parts:
        if words:
            alias = words[2] if len(words) == 3 else b""
            yield (words[0], b"", alias) if module is None else (module, words[0], alias)


def _text(node: Node | None, data: bytes) -> bytes:
    # Not `node.text`: it calls back into Python for each piece of the text.
    if node is None:
        return b""
    start, end = node.byte_range
    return data[start:end]


def _python_nodes(node: Node, data: bytes) -> Iterator[_Part]:
    source = node.child_by_field_name("module_name")
    module = _text(source, data).replace(b" ", b"")
    for child in node.named_children:
        if source is not None and child.start_byte == source.start_byte:
            continue
        if child.type == "wildcard_import":
            yield module, b"*", b""
            continue
        name = child.child_by_field_name("name") if child.type == "aliased_import" else child
        alias = _text(child.child_by_field_name("alias"), data)
        if child.type in {"aliased_import", "dotted_name"}:
            yield (module, _text(name, data), alias) if source is not None else (_text(name, data), b"", alias)


def _go(node: Node, data: bytes) -> Iterator[_Part]:
    alias = _text(node.child_by_field_name("name"), data)
    yield _unquote(node.child_by_field_name("path"), data), b"*" if alias == b"." else b"", alias.replace(b".", b"")


def _unquote(node: Node | None, data: bytes) -> bytes:
    return _text(node, data).strip(b"\"'`")


def _ecmascript(node: Node, data: bytes) -> Iterator[_Part]:
    source = node.child_by_field_name("source")
    if source is None:
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        yield _unquote(first, data), b"", b""
        return

    module = _unquote(source, data)
    clause = next((child for child in node.named_children if child.type in {"import_clause", "export_clause"}), None)
    if clause is None:
        star = next((child for child in node.named_children if child.type == "namespace_export"), None)
        yield module, b"*" if node.type == "export_statement" else b"", _last(star, data)
        return

    parts = clause.named_children if clause.type == "import_clause" else [clause]
    for part in parts:
        if part.type == "identifier":
            yield module, b"default", _text(part, data)
        elif part.type == "namespace_import":
            yield module, b"*", _last(part, data)
        else:
            for specifier in part.named_children:
                name = specifier.child_by_field_name("name")
                if name is not None:
                    yield module, _text(name, data), _text(specifier.child_by_field_name("alias"), data)


def _last(node: Node | None, data: bytes) -> bytes:
    if node is not None and node.named_children:
        return _text(node.named_children[-1], data)
    return b""


def _dotted_parts(node: Node, data: bytes) -> Iterator[_Part]:
    """Read imports: ``import a.b.C;``, ``import static a.b.C.*``, ``using X = A.B;``, ``import a.b.C as D``."""
    text = _SPACES.sub(b" ", _text(node, data)).strip(b" ;")
    words = text.split(b" ")
    while words and words[0] in {b"import", b"static", b"using", b"global", b"unsafe"}:
        words.pop(0)

    text = b" ".join(words)
    alias = b""
    if b" as " in text:
        text, _, alias = text.partition(b" as ")
    elif b" = " in text:
        alias, _, text = text.partition(b" = ")

    text = text.replace(b" ", b"")
    if node.type == "using_directive":
        yield text, b"", alias.strip()
        return

    module, _, member = text.rpartition(b".")
    yield (module, member, alias.strip()) if module else (member, b"", alias.strip())


def _scala(node: Node, data: bytes) -> Iterator[_Part]:
    text = _SPACES.sub(b" ", _text(node, data)).removeprefix(b"import ")
    # Commas inside braces separate selectors (`a.{b, c}`), the others separate imports.
    for part in re.split(rb",(?![^{]*\})", text):
        module, _, member = part.strip().rpartition(b".")
        for selector in member.strip(b"{} ").split(b","):
            name, _, alias = selector.replace(b"=>", b" as ").partition(b" as ")
            yield module, name.strip().replace(b"_", b"*") if name.strip() == b"_" else name.strip(), alias.strip()


def _include(node: Node, data: bytes) -> Iterator[_Part]:
    path = node.child_by_field_name("path")
    yield _text(path, data).strip(b'"'), b"", b""


def _php(node: Node, data: bytes) -> Iterator[_Part]:
    for child in node.named_children:
        if child.type == "namespace_use_clause":
            name, _, alias = _SPACES.sub(b" ", _text(child, data)).partition(b" as ")
            module, _, member = name.strip().rpartition(b"\\")
            yield (module, member, alias) if module else (member, b"", alias)


def _argument(node: Node, data: bytes) -> Iterator[_Part]:
    arguments = node.child_by_field_name("arguments") or node
    strings = arguments.named_children[1:] if node.type == "command" else arguments.named_children
    relative = _text(node.child_by_field_name("method"), data) == b"require_relative"
    yield (b"./" if relative else b"") + _unquote(strings[0] if strings else None, data), b"", b""


def _rust(node: Node, data: bytes) -> Iterator[_Part]:
    if node.type == "mod_item":
        # `mod name;` includes the file of a submodule, which `use self::name` would name.
        yield b"self", _text(node.child_by_field_name("name"), data), b""
        return

    if node.type == "extern_crate_declaration":
        yield _text(node.child_by_field_name("name"), data), b"", _text(node.child_by_field_name("alias"), data)
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
            path = _text(part.child_by_field_name("path"), data)
            use_list = part.child_by_field_name("list")
            if use_list is not None:
                pending.append((_join(prefix, path), use_list))
        elif kind == "use_as_clause":
            module, member = _split_path(_join(prefix, _text(part.child_by_field_name("path"), data)))
            yield module, member, _text(part.child_by_field_name("alias"), data)
        elif kind == "use_wildcard":
            yield _join(prefix, _text(part, data).removesuffix(b"*").removesuffix(b"::")), b"*", b""
        elif kind not in {"line_comment", "block_comment"}:
            full_path = prefix if kind == "self" else _join(prefix, _text(part, data))
            module, member = (full_path, b"") if kind == "self" else _split_path(full_path)
            yield module, member, b""


def _join(prefix: bytes, path: bytes) -> bytes:
    return prefix + b"::" + path if prefix and path else prefix or path


def _split_path(path: bytes) -> tuple[bytes, bytes]:
    module, _, member = _SPACES.sub(b"", path).rpartition(b"::")
    return (module, member) if module else (member, b"")


_READERS: dict[str, Callable[[Node, bytes], Iterator[_Part]]] = {
    "C": _include,
    "C#": _dotted_parts,
    "C++": _include,
    "Go": _go,
    "Java": _dotted_parts,
    "JavaScript": _ecmascript,
    "Kotlin": _dotted_parts,
    "PHP": _php,
    "Python": _python,
    "Ruby": _argument,
    "Rust": _rust,
    "Scala": _scala,
    "Shell": _argument,
    "TSX": _ecmascript,
    "TypeScript": _ecmascript,
}

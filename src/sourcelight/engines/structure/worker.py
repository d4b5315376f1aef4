"""The process that runs ast-grep, so that texts and patterns can crash only this process.

A message is a length (4 bytes, big endian) and as many bytes of MessagePack. The process answers a `ReadRequest` with
one message, and a `FindRequest` with one for each text, as soon as that is done: so the waiting side knows which text
takes long.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import IO, TYPE_CHECKING

import msgspec
import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.engines.structure.pattern import LANGUAGES, expando_of

if TYPE_CHECKING:
    from ast_grep_py import SgNode

STACK_BYTES = 256 << 20
"""For code that calls itself for each level of a tree; pages that are not touched take no memory."""

MODULE = "sourcelight.engines.structure.worker"
_LENGTH_BYTES = 4
"""Bytes before a message that have its length."""

_IDLE_S = 60.0
"""Seconds without a request after which the process ends."""

_MAX_REASON_CHARS = 300
"""Characters of a message of the matcher."""

_ASCII_END, _TWO_BYTES_END, _THREE_BYTES_END = 0x80, 0x800, 0x10000
"""The first code points that take two, three and four bytes in UTF-8."""

_SURROGATES, _SURROGATES_END = 0xD800, 0xE000
"""Code points that are no characters, and have no form in UTF-8."""

_REPLACEMENT = "\ufffd"

_CONTEXTS = {
    "C": ("void _() { ", "; }"),
    "C#": ("class A { void a() { ", "; } }"),
    "C++": ("void _() { ", "; }"),
    "Go": ("func _() { ", " }"),
    "Java": ("class A { void a() { ", "; } }"),
    "PHP": ("function _() { ", "; }"),
    "Rust": ("fn a() { ", "; }"),
}
"""Wrappers that put code into a function, for languages whose grammars parse a lone expression differently."""

_ANY_CASE = frozenset({"PHP"})
"""Languages whose keywords may be written in any case."""

_ENDS_STATEMENTS = frozenset(_CONTEXTS) - {"Go"}


class ReadRequest(msgspec.Struct, tag="read"):
    """Read a pattern in some languages."""

    pattern: str
    languages: list[str]


class FindRequest(msgspec.Struct, tag="find"):
    """Find a pattern in texts of a language."""

    pattern: str
    language: str
    texts: list[bytes]


class Reading(msgspec.Struct):
    """A pattern as a worker parses it; see `pattern.PatternReading`."""

    problem: str = ""
    has_errors: bool = False
    texts: list[bytes] = []


class SpanAnswer(msgspec.Struct):
    """The matches in a text: starts and ends as native int64, or why there are none."""

    starts: bytes = b""
    ends: bytes = b""
    problem: str = ""


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """Read one message; None at the end."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(head, "big")
    data = stream.read(size)
    return data if len(data) == size else None


@dataclass(frozen=True, slots=True)
class PatternRule:
    """A pattern as ast-grep is given it: alone, or by the kind of its node in a context.

    Attributes
    ----------
    node
        Its node in the tree that was parsed; None where ast-grep reads something else there.
    """

    pattern: str
    context: str = ""
    selector: str = ""
    node: SgNode | None = None
    has_errors: bool = False

    def find_all(self, root: SgNode) -> list[SgNode]:
        """Return the matches in a tree."""
        nodes: list[SgNode]
        if self.context:
            nodes = root.find_all({"rule": {"pattern": {"context": self.context, "selector": self.selector}}})
        else:
            nodes = root.find_all(pattern=self.pattern)
        return nodes


@lru_cache(maxsize=64)
def rule_of(pattern: str, language: str) -> PatternRule:
    """Return ast-grep's request for a pattern; raises ast-grep's error for an invalid one.

    A grammar reads a piece of code at the level of a file in another way than in a function, or only in part: Go reads
    ``w.Close($X)`` as the conversion to a type.
    """
    from ast_grep_py import SgRoot

    name = LANGUAGES[language]
    SgRoot("", name).root().find(pattern=pattern)  # says why it isn't a pattern
    root = SgRoot(_parsed_text(pattern, language), name).root()
    match = root.find(pattern=pattern)
    plain_rule = PatternRule(pattern, node=None if match is None else root, has_errors=_has_errors(root, language))

    # What ends as a statement does is read as one by itself, and may be a declaration, which means less in a function.
    if language not in _CONTEXTS or (language in _ENDS_STATEMENTS and pattern.rstrip().endswith((";", "}"))):
        return plain_rule

    before, after = _CONTEXTS[language]
    context = f"{before}{pattern.strip()}{after}"
    tree = SgRoot(_parsed_text(context, language), name).root()
    start, end = len(before), len(before) + len(_parsed_text(pattern.strip(), language))
    node = _node_at(tree, start, end)
    if node is None or _has_errors(tree, language) or _is_incomplete(node):
        return plain_rule
    if match is not None and _shape(match) == _shape(node):
        # The same code: only its surroundings were missing.
        return replace(plain_rule, node=node, has_errors=False)

    first = tree.find(kind=node.kind())
    if first is None or first.range() != node.range():
        return plain_rule  # the context holds such a node itself, which ast-grep would take

    rule = PatternRule(pattern, context, node.kind(), node)
    return rule if rule.find_all(tree) else plain_rule


def _node_at(root: SgNode, start: int, end: int) -> SgNode | None:
    """Return the node between two characters that ast-grep takes for a pattern: the outermost with several children."""
    node = root
    while (node.range().start.index, node.range().end.index) != (start, end):
        inner = [
            child for child in node.children() if child.range().start.index <= start and end <= child.range().end.index
        ]
        if not inner:
            return None
        node = inner[0]

    while len(children := node.children()) == 1:
        node = children[0]

    return node


def _has_errors(root: SgNode, language: str) -> bool:
    return any(node.kind() == "ERROR" for node in _code(root, language))


def _code(root: SgNode, language: str) -> Iterator[SgNode]:
    """Yield the nodes of a pattern's tree, without the metavariables."""
    metavariable = re.compile(rf"{re.escape(expando_of(language))}+\w*")
    pending = [root]
    while pending:
        node = pending.pop()
        # A node of any kind whose text is a metavariable stands for other code, as in Shell `$A` with its parts.
        if not metavariable.fullmatch(node.text()):
            yield node
            pending += node.children()


def _is_incomplete(root: SgNode) -> bool:
    """Return whether the grammar has added a node that the code lacks, such as a bracket: such a one has no text."""
    pending = [root]
    while pending:
        children = pending.pop().children()
        if any(not child.text() for child in children):
            return True
        pending += children
    return False


def _shape(root: SgNode) -> list[tuple[str, int]]:
    """Return the kinds of the nodes of a tree, each with the number of its children."""
    shape, pending = [], [root]
    while pending:
        children = pending.pop().children()
        shape += [(child.kind(), len(child.children())) for child in children]
        pending += children
    return [(root.kind(), len(root.children())), *shape]


def read_pattern(pattern: str, language: str) -> Reading:
    """Read a pattern in a language."""
    sign = expando_of(language)
    try:
        rule = rule_of(pattern, language)
    except BaseException as error:  # noqa: BLE001 - a panic of native code isn't an Exception
        # ast-grep quotes a pattern as it parses it.
        return Reading(problem=_reason(error) if sign in pattern else _reason(error).replace(sign, "$"))

    code = () if rule.node is None else _code(rule.node, language)
    leaves = [node for node in code if node.is_leaf()]
    texts = dict.fromkeys(node.text() for node in leaves if node.is_named())
    if language not in _ANY_CASE and not rule.has_errors:
        texts |= dict.fromkeys(node.text() for node in leaves if _is_keyword(node))

    # ast-grep looks for its own sign within a longer text, which no file has.
    required = [text.encode() for text in texts if text.strip() and sign not in text]
    return Reading(has_errors=rule.has_errors, texts=required)


def _is_keyword(node: SgNode) -> bool:
    """Return whether a leaf is a word of the language: ast-grep compares it by its kind, which is its text.

    A kind with blanks, such as ``not in``, may be written with more of them.
    """
    text = node.text()
    return not node.is_named() and node.kind() == text and text.isascii() and text.isalpha()


def _parsed_text(pattern: str, language: str) -> str:
    """Return the text that ast-grep parses for a pattern: in most languages ``$`` can't begin a name.

    As ``pre_process_pattern`` in `crates/language/src/lib.rs` of ast-grep/ast-grep.
    """
    expando = expando_of(language)
    if expando == "$":
        return pattern

    parts: list[str] = []
    dollars = 0
    for char in [*pattern, ""]:
        if char == "$":
            dollars += 1
            continue
        is_variable = (len(char) == 1 and ("A" <= char <= "Z" or char == "_")) or dollars == 3
        parts.append((expando if is_variable else "$") * dollars + char)
        dollars = 0

    return "".join(parts)


def find_spans(pattern: str, language: str, data: bytes) -> tuple[Int64Array, Int64Array]:
    """Return the starts and the ends of all matches, in bytes, by start and the longest first.

    Each invalid byte becomes one replacement character.
    """
    from ast_grep_py import SgRoot

    text = data.decode("utf-8", "surrogateescape")
    offsets = None if text.isascii() else _byte_offsets(text)
    if offsets is not None and not _is_unicode(text):
        text = "".join(_REPLACEMENT if _SURROGATES <= ord(char) < _SURROGATES_END else char for char in text)

    # The syntax tree lives as long as its root: kept until the ranges are read.
    root = SgRoot(text, LANGUAGES[language])
    ranges = [node.range() for node in rule_of(pattern, language).find_all(root.root())]
    starts = np.array([span_range.start.index for span_range in ranges], dtype=np.int64)
    ends = np.array([span_range.end.index for span_range in ranges], dtype=np.int64)
    if offsets is not None:
        starts, ends = offsets[starts], offsets[ends]

    spans = np.unique(np.stack((starts, -ends), axis=1), axis=0)
    spans = spans[spans[:, 0] < -spans[:, 1]]
    return spans[:, 0], -spans[:, 1]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _byte_offsets(text: str) -> Int64Array:
    """Return the byte at which each character begins, and the end; an escaped byte is one."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sizes = 1 + (codes >= _ASCII_END) + (codes >= _TWO_BYTES_END).astype(np.int64) + (codes >= _THREE_BYTES_END)
    sizes[(codes >= _SURROGATES) & (codes < _SURROGATES_END)] = 1
    return np.concatenate(([0], np.cumsum(sizes)))


def _reason(error: BaseException) -> str:
    """Return the innermost cause that ast-grep gives, without the pattern and the stack."""
    text = str(error).partition("Stack backtrace")[0]
    causes = re.findall(r"^ *\d+: (.+?)\.?(?: Please check the pattern source.*)?$", text, re.MULTILINE)
    return (causes[-1] if causes else text.strip() or type(error).__name__)[:_MAX_REASON_CHARS]


def main() -> None:
    """Serve requests from standard input until it ends."""
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=_serve, name="structure worker", daemon=True)
    thread.start()
    thread.join()


def _serve() -> None:
    # Output of native code must not come between messages.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    decoder = msgspec.msgpack.Decoder(ReadRequest | FindRequest)
    while True:
        # The pool leaves a worker alone that has rested for nearly as long.
        timer = threading.Timer(_IDLE_S, os._exit, (0,))
        timer.daemon = True
        timer.start()
        data = read_message(sys.stdin.buffer)
        timer.cancel()
        if data is None:
            return
        _answer(decoder.decode(data), output)


def _answer(request: ReadRequest | FindRequest, output: IO[bytes]) -> None:
    if isinstance(request, ReadRequest):
        readings = {language: read_pattern(request.pattern, language) for language in request.languages}
        write_message(output, msgspec.msgpack.encode(readings))
        return

    for data in request.texts:
        try:
            starts, ends = find_spans(request.pattern, request.language, data)
            finding = SpanAnswer(starts.tobytes(), ends.tobytes())
        except BaseException as error:  # noqa: BLE001 - as above
            finding = SpanAnswer(problem=_reason(error))
        write_message(output, msgspec.msgpack.encode(finding))


if __name__ == "__main__":
    main()

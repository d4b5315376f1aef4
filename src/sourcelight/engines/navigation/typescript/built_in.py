"""What methods of arrays, maps and promises return and pass to callbacks: the standard library is seldom at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.typescript.values import Value, distinct

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.typescript.inference import Inference

_ONE = frozenset({b"find", b"pop", b"shift", b"at", b"get", b"findLast", b"next"})
_SAME = frozenset({
    b"filter", b"slice", b"concat", b"reverse", b"sort", b"splice", b"values", b"toSorted", b"toReversed", b"fill",
    b"flat", b"with",
})  # fmt: skip
_MAPPED = frozenset({b"map", b"flatMap"})
_CALLED_WITH_ITEM = _MAPPED | {
    b"forEach", b"filter", b"find", b"findIndex", b"findLast", b"some", b"every", b"sort", b"toSorted", b"then",
}  # fmt: skip


def called_method(types: Inference, holder: Value, name: bytes, document: Document, call: Node) -> list[Value]:
    """Give what a call of a built-in method returns; nothing where it is not one or returns no object of ours."""
    if holder.kind in {"array", "map"}:
        if name in _ONE:
            return list(holder.items)
        if name in _SAME:
            return [Value("array", holder.document, holder.node, holder.known, holder.items)]
        if name in _MAPPED:
            made = _of_callback(types, document, call)
            return [Value("array", document, call, {}, tuple(made))] if made else []
    elif holder.kind == "promise":
        if name == b"then":
            made = types.awaited(_of_callback(types, document, call))
            return [Value("promise", document, call, {}, tuple(made))]
        if name in {b"catch", b"finally"}:
            return [holder]
    return []


def _of_callback(types: Inference, document: Document, call: Node) -> list[Value]:
    arguments = call.child_by_field_name("arguments")
    callback = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    return distinct(v for value in types.infer(document, callback) for v in types.returned(value))


def callback_parameter(holder: Value, name: bytes, place: int) -> list[Value]:
    """Give what a built-in method passes to its callback."""
    if holder.kind not in {"array", "map", "promise"}:
        return []
    if name in _CALLED_WITH_ITEM:
        last = 1 if name in {b"sort", b"toSorted"} else 0
        return list(holder.items) if place <= last else []
    if name in {b"reduce", b"reduceRight"}:
        return list(holder.items) if place == 1 else []
    return []

"""The rules of TypeScript and JavaScript for looking up names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.language import Cursor, Language, NameLookup, Ref, Renames, Session, Usage
from sourcelight.engines.navigation.languages.typescript import scopes
from sourcelight.engines.navigation.languages.typescript.context import TsInference, is_intrinsic
from sourcelight.engines.navigation.languages.typescript.members import is_static
from sourcelight.engines.navigation.languages.typescript.modules import module_names, packages_of
from sourcelight.engines.navigation.languages.typescript.names import TsRef, TsValue
from sourcelight.engines.navigation.languages.typescript.recovery import parse_recovering
from sourcelight.engines.navigation.model import Document, ResolutionRule, Role
from sourcelight.engines.navigation.nodes import field_of, nearest

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project

_TYPE_REASON = "type of the object"
_MEMBERS = frozenset({
    "property_signature", "method_signature", "public_field_definition", "field_definition", "method_definition",
    "abstract_method_signature", "enum_assignment", "enum_body",
})  # fmt: skip
_TAGS = frozenset({"jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element"})
_AROUND_CALLED = frozenset({
    "parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression",
})  # fmt: skip
_CALLED_FIELDS = {
    "call_expression": "function",
    "new_expression": "constructor",
    "jsx_opening_element": "name",
    "jsx_self_closing_element": "name",
}
_KINDS = {"label": "variable", "catch": "variable", "type": "class", "default": "variable", "import": "module"}
_SIGNATURES = frozenset({"function_signature", "method_signature", "abstract_method_signature"})
_BODIES = frozenset({"function_declaration", "generator_function_declaration", "method_definition"})
_FIELDS = frozenset({"property_signature", "public_field_definition", "field_definition", "assignment_expression"})
_PATTERNS = frozenset({
    "object_pattern", "array_pattern", "pair_pattern", "object_assignment_pattern", "assignment_pattern",
    "rest_pattern", "property_identifier", "shorthand_property_identifier_pattern", "identifier",
})  # fmt: skip
"""Parts of a destructuring, such as ``{ a: [first] }``."""


class TypeScriptLanguage(Language):
    """TypeScript, TSX and JavaScript."""

    names = ("TypeScript", "TSX", "JavaScript")
    identifiers = scopes.IDENTIFIERS
    has_declared_types = True
    renames = Renames(
        re.compile(rb"\bas\s+([\w$\x80-\xff]+)"),
        frozenset({
            "import_specifier", "export_specifier", "namespace_import", "namespace_export", "import_clause",
            "import_statement", "export_statement",
        }),
    )  # fmt: skip

    def parse(self, name: str, text: bytes, deadline: float) -> scopes.TsModel | None:
        """Parse a file."""
        tree = parse_recovering(name, text, deadline)
        return None if tree is None else scopes.TsModel(text, tree)

    def usage(self, cursor: Cursor) -> Usage:
        """Return how an identifier is used, as its parent node shows."""
        return _usage(cursor.node)

    def lookup(self, document: Document, cursor: Cursor, session: Session) -> Sequence[Ref]:
        """Return the declarations and modules that a name refers to."""
        if not isinstance(cursor.parsed, scopes.TsModel):
            return []
        refs, rule = TsLookup(_inference(session), document, cursor.parsed, cursor).refs()
        return [_to_ref(ref, rule) for ref in refs]

    def bindings(self, ref: Ref, session: Session) -> Sequence[Ref]:
        """Return all declarations that are merged under one name, overloads included."""
        cursor = session.cursor(ref.document, ref.start)
        if cursor is None or not isinstance(cursor.parsed, scopes.TsModel):
            return []

        if cursor.parent.type in _MEMBERS and len(cursor.path) > 2:
            bindings = _same_members(cursor)
        else:
            inference = _inference(session)
            refs = inference.lookup(ref.document, cursor.name, ref.start)
            refs += inference.lookup(ref.document, cursor.name, ref.start, as_type=True)
            bindings = [other.binding for other in refs if other.binding is not None]

        # A class is a type and a value, so both look-ups have it.
        by_start = {member.start: member for member in bindings}
        return [_to_ref(TsRef(ref.document, member), "scope") for member in by_start.values()]

    def implementation(self, ref: Ref, session: Session) -> Ref:
        """Return the function or method whose overload a declaration is."""
        if _declaring_node(ref, session) not in _SIGNATURES:
            return ref
        return next((other for other in self.bindings(ref, session) if _declaring_node(other, session) in _BODIES), ref)

    def overridden(self, ref: Ref, session: Session) -> Sequence[Ref]:
        """Return the members of classes and interfaces that a member implements or overrides, up to the top."""
        cursor = session.cursor(ref.document, ref.start)
        if cursor is None or not isinstance(cursor.parsed, scopes.TsModel):
            return ()

        path = cursor.path
        if len(path) < 4 or path[-2].type not in _MEMBERS:
            return ()

        holder = path[-4]
        if holder.type not in scopes.CLASSES and holder.type != "interface_declaration":
            return ()

        value = TsValue("class" if is_static(path[-2]) else "instance", ref.document, holder)
        return [_to_ref(other, "type") for other in _inference(session).overridden(value, cursor.name)]

    def module_names(self, document: Document) -> Collection[str]:
        """Return the names under which other files may import a file."""
        return module_names(document)

    def import_target(self, document: Document, module: str, member: str, session: Session) -> Document | None:  # noqa: ARG002 - a module is imported whole
        """Return the file that an import means."""
        return _inference(session).module(document, module.encode())

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the packages that other repositories can import, with their directories."""
        return packages_of(project).directories


def _inference(session: Session) -> TsInference:
    """Return the inference of this call: types that it has inferred once are not inferred again."""
    return session.remember("inference", lambda: TsInference(session))


def _same_members(cursor: Cursor) -> list[scopes.TsBinding]:
    """Return all declarations of the member at a cursor: overloads, getter and setter."""
    members: list[scopes.TsBinding] = []
    for child in cursor.path[-3].named_children:
        key = child.child_by_field_name("name")
        if key is not None and key.text == cursor.name and is_static(child) == is_static(cursor.parent):
            members.append(scopes.binding("member", key, child))
    return members


def _declaring_node(ref: Ref, session: Session) -> str:
    """Return the type of the node around a declared name; empty if its file can't be parsed."""
    cursor = session.cursor(ref.document, ref.start)
    return cursor.parent.type if cursor is not None else ""


def _usage(node: Node) -> Usage:
    role: Role = "name"
    is_called = False
    parent = node.parent
    is_binding = node.type == "shorthand_property_identifier_pattern"
    if parent is not None:
        kind = parent.type
        expression = node
        if kind in {"member_expression", "nested_type_identifier", "nested_identifier"} and _is_last(parent, node):
            role, expression = "attribute", parent
        elif kind in {"import_specifier", "import_clause", "namespace_import", "export_specifier"}:
            role = "import"
        elif kind in {"pair", "jsx_attribute", "pair_pattern"} or node.type == "shorthand_property_identifier":
            role = "keyword"

        name = parent.child_by_field_name("name") or parent.child_by_field_name("pattern")
        is_binding = is_binding or (
            name is not None
            and name.start_byte == node.start_byte
            and (kind in _MEMBERS or kind.endswith(("declaration", "declarator", "parameter", "_signature")))
        )
        is_called = _is_called(expression)

    return Usage(role, is_binding, is_called)


def _is_last(parent: Node, node: Node) -> bool:
    last = parent.child_by_field_name("property") or parent.child_by_field_name("name")
    return last is not None and last.start_byte == node.start_byte


def _is_called(expression: Node) -> bool:
    """Return whether what an expression names is called, as a decorator or the component of an element too."""
    outer = expression.parent
    # `(await f)()`, `f!()`: parentheses and the like don't change the called function.
    while outer is not None and outer.type in _AROUND_CALLED and outer.named_children[0] == expression:
        expression, outer = outer, outer.parent

    if outer is None:
        return False
    if outer.type == "decorator":
        return True

    # `<div>` is an element of HTML and no component.
    if outer.type in _TAGS and is_intrinsic(expression):
        return False

    field = _CALLED_FIELDS.get(outer.type)
    return field is not None and outer.child_by_field_name(field) == expression


class TsLookup(NameLookup[TsInference, scopes.TsModel]):
    """The lookup of one name."""

    def refs(self) -> tuple[list[TsRef], ResolutionRule]:  # noqa: PLR0911 - a case a return
        """Return the declarations that the name refers to, with the rule that led there."""
        kind = self.parent.type
        if kind in {"member_expression", "nested_type_identifier", "nested_identifier"} and _is_last(
            self.parent, self.leaf
        ):
            return self._attribute()

        if kind in {"import_specifier", "export_specifier"}:
            return self._specifier()
        if kind in {"pair", "pair_pattern", "jsx_attribute"} and self.leaf.type == "property_identifier":
            return self._key(), "type"
        if self.leaf.type == "shorthand_property_identifier_pattern":
            return self._key() or self._declare_here("variable"), "type"

        if self.leaf.type == "shorthand_property_identifier":
            # `{a}` reads the variable `a` and names the property `a`: both are meant.
            refs, rule = self._named_refs()
            return [*refs, *self._contextual_key(len(self.path) - 2)], rule

        if self.leaf.type in {"property_identifier", "private_property_identifier"}:
            return self._member(), "scope"

        return self._named_refs()

    def _declare_here(self, kind: str) -> list[TsRef]:
        binding = scopes.TsBinding(
            "variable" if kind == "variable" else "member",
            self.name,
            self.leaf.start_byte,
            self.leaf.end_byte,
            self.parent,
        )
        return [TsRef(self.document, binding)]

    def _named_refs(self) -> tuple[list[TsRef], ResolutionRule]:
        if self.parent.type in _TAGS and is_intrinsic(self.leaf):
            return self.inference.intrinsic(self.document, self.name), "type"

        as_type = self.leaf.type == "type_identifier"
        refs = self.inference.lookup(self.document, self.name, self.leaf.start_byte, as_type=as_type)

        # On a declaration, that declaration comes before those merged with it.
        declared_here = [ref for ref in refs if ref.binding is not None and ref.binding.start == self.leaf.start_byte]
        refs = declared_here + [ref for ref in refs if ref not in declared_here]
        return self._follow_imports(refs, "scope")

    def _follow_imports(self, refs: list[TsRef], rule: ResolutionRule) -> tuple[list[TsRef], ResolutionRule]:
        followed = self.inference.follow([self._through_require(ref) for ref in refs])
        is_elsewhere = any(ref.document != self.document or ref.binding is None for ref in followed)
        imports = any(ref.binding is not None and ref.binding.kind == "import" for ref in refs)
        return followed, "import" if is_elsewhere or imports else rule

    def _through_require(self, ref: TsRef) -> TsRef:
        """Read ``const { a } = require("./b")`` as an import."""
        binding = ref.binding
        if binding is None or binding.kind != "variable" or len(binding.steps) != 1 or binding.steps[0].kind != "key":
            return ref
        if binding.start == self.leaf.start_byte:
            return ref

        value = binding.node.child_by_field_name("value")
        if value is not None and value.type == "call_expression":
            values = self.inference.infer(ref.document, value)
        else:
            values = []
        if not values or values[0].kind != "module":
            return ref

        exported = self.inference.find_exports(values[0].document, binding.steps[0].key)
        return exported[0] if exported else ref

    def _attribute(self) -> tuple[list[TsRef], ResolutionRule]:
        holder = self.parent.child_by_field_name("object") or self.parent.child_by_field_name("module")
        values = self.inference.infer(self.document, holder)
        refs = self.inference.members_of_all(values, self.name)
        rule: ResolutionRule = "import" if values and values[0].kind == "module" else "type"
        return self.inference.follow(refs), rule

    def _specifier(self) -> tuple[list[TsRef], ResolutionRule]:
        statement = nearest(self.path, {"import_statement", "export_statement"})
        source = field_of(statement, "source")
        name = self.parent.child_by_field_name("name")
        if source is not None and name is not None:
            imported = scopes.TsBinding(
                kind="import",
                name=self.name,
                start=self.leaf.start_byte,
                end=self.leaf.end_byte,
                node=self.parent,
                module=scopes.unquote(source),
                member=scopes.unquote(name),
            )
            return self.inference.follow([TsRef(self.document, imported)]), "import"

        # `export { a as b }`: `b` is a separate name, which other modules import.
        if name is not None and name.start_byte != self.leaf.start_byte:
            return self._declare_here("variable"), "scope"

        refs = self.inference.lookup(self.document, self.name, self.model.root.start_byte)
        return self._follow_imports(refs, "scope")

    def _key(self) -> list[TsRef]:
        """Return a key of an object literal, of a destructuring, or of a JSX element."""
        kind = self.parent.type
        if kind == "jsx_attribute":
            props = self.inference.props(self.document, self.path[:-1])
            return self.inference.members_of_all(props, self.name)
        if kind == "pair":
            return self._contextual_key(len(self.path) - 3) or self._declare_here("member")
        return self._destructured_property()

    def _contextual_key(self, index: int) -> list[TsRef]:
        """Return the property that is expected under the name, for the object literal ``path[index]``."""
        if index < 1 or self.path[index].type != "object":
            return []
        expected = self.inference.expected_values(self.document, self.path[: index + 1])
        return self.inference.members_of_all(expected, self.name)

    def _destructured_property(self) -> list[TsRef]:
        """Return the property that a pattern takes."""
        top = len(self.path) - 1
        while top > 0 and self.path[top].type in _PATTERNS:
            top -= 1

        values = self._pattern_value(top)
        for step in self._steps(top):
            values = self.inference.take_step(values, step)

        refs: list[TsRef] = []
        for value in values:
            refs += self.inference.follow(self.inference.member_refs(value, self.name))
        return refs

    def _pattern_value(self, top: int) -> list[TsValue]:
        """Return the values that the declaration ``path[top]`` destructures, before any step of its pattern."""
        holder = self.path[top]
        for bindings in self.model.declared_in(self.path[: top + 1]):
            for candidate in bindings:
                if candidate.node == holder:
                    unpacked = scopes.TsBinding(candidate.kind, b"", holder.start_byte, holder.start_byte, holder)
                    return self.inference.values_of(TsRef(self.document, unpacked))
        return []

    def _steps(self, top: int) -> list[scopes.PatternStep]:
        pattern = self.path[top + 1]
        for name, steps in scopes.pattern_names(pattern):
            if name.start_byte == self.leaf.start_byte or (
                self.parent.type == "pair_pattern" and self.parent.start_byte <= name.start_byte < self.parent.end_byte
            ):
                depth = sum(1 for node in self.path[top + 1 :] if node.type in {"pair_pattern", "array_pattern"})
                inner = len(steps) - 1 if self.leaf.type == "shorthand_property_identifier_pattern" else depth - 1
                return list(steps[:inner])

        return []

    def _member(self) -> list[TsRef]:
        """Return a declared member; for a method of an object literal the expected property."""
        if self.parent.type == "method_definition" and len(self.path) > 2 and self.path[-3].type == "object":
            expected = self._contextual_key(len(self.path) - 3)
            if expected:
                return expected
        return self._declare_here("member")


def _to_ref(ref: TsRef, rule: ResolutionRule) -> Ref:
    reason = _TYPE_REASON if rule == "type" else ""
    binding = ref.binding
    if binding is None:
        return Ref(ref.document, 0, 0, "module", rule, reason)
    if binding.kind == "import":
        missing = binding.module.decode(errors="replace")
        return Ref(ref.document, binding.start, binding.end, "module", "import", missing_module=missing)

    return Ref(ref.document, binding.start, binding.end, _kind(binding), rule, reason)


def _kind(binding: scopes.TsBinding) -> str:
    if binding.kind == "member":
        if binding.node.type in {"method_definition", "method_signature", "abstract_method_signature"}:
            return "method"
        if binding.node.type in {"enum_assignment", "property_identifier"}:
            return "enummember"
        return "field" if binding.node.type in _FIELDS else "property"

    if binding.kind == "variable":
        value = binding.node.child_by_field_name("value")
        if value is not None and value.type in scopes.FUNCTIONS:
            return "function"
        if value is not None and value.type in scopes.CLASSES:
            return "class"

    return _KINDS.get(binding.kind, binding.kind)

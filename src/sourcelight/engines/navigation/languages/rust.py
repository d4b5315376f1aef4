"""The syntax rules of Rust, and how paths are followed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.languages.declared import (
    NAMED_OWNER,
    NO_OWNER,
    TYPES,
    Declaration,
    DeclarationRef,
    ModuleRef,
    NameUse,
    TypeStep,
)
from sourcelight.engines.navigation.languages.rust_crates import child_file, crate_root, crates, parent_file
from sourcelight.engines.navigation.languages.rust_tokens import macro_declaration, macro_use, use_path
from sourcelight.engines.navigation.model import Document, Role
from sourcelight.engines.navigation.named import imports_of
from sourcelight.engines.navigation.nodes import (
    child_of_type,
    children_of,
    field_of,
    field_text,
    first_child,
    is_field,
    last_child,
    nearest,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

_ITEMS = {
    "function_item": "function", "function_signature_item": "function", "struct_item": "struct", "union_item": "class",
    "enum_item": "enum", "trait_item": "interface", "type_item": "class", "associated_type": "class",
    "const_item": "constant", "static_item": "variable", "mod_item": "module", "macro_definition": "function",
}  # fmt: skip
_CLASSES = frozenset({"struct_item", "union_item", "enum_item", "trait_item", "impl_item"})
_MODULES = frozenset({"source_file", "mod_item"})
_SCOPES = frozenset({
    "block", "function_item", "closure_expression", "match_arm", "for_expression", "if_expression", "while_expression",
    *_MODULES,
})  # fmt: skip
_PATTERNS = frozenset({
    "tuple_pattern", "tuple_struct_pattern", "struct_pattern", "field_pattern", "ref_pattern", "mut_pattern",
    "reference_pattern", "slice_pattern", "or_pattern", "captured_pattern", "match_pattern", "remaining_field_pattern",
})  # fmt: skip
_PARTS = frozenset({"tuple_struct_pattern", "tuple_pattern", "struct_pattern", "slice_pattern"})
_BINDERS = frozenset({"let_declaration", "let_condition", "parameter", "for_expression", "match_arm",
                      "closure_parameters"})  # fmt: skip
_POINTERS = frozenset(
    b"Box Rc Arc RefCell Cell Mutex RwLock Cow Ref RefMut MutexGuard Pin Weak OnceCell LazyLock OnceLock".split()
)
_INNER = frozenset(b"unwrap expect unwrap_or unwrap_or_default unwrap_or_else next last first pop lock read write"
                   b" get get_mut take borrow borrow_mut".split())  # fmt: skip
_SAME = frozenset(b"clone as_ref as_mut iter iter_mut into_iter to_owned as_deref as_deref_mut by_ref ok".split())
_SMART_POINTERS = frozenset({b"Box", b"Rc", b"Arc", b"RefCell", b"Mutex"})
_LOOPS = frozenset({"loop_expression", "while_expression", "for_expression", "block"})
_MAX_USES = 12

RustModule = tuple[Document, "Node | None"]
"""A module: its file, and its node there; None for the module that is the whole file."""


class RustRules:
    """Rust."""

    names: tuple[str, ...] = ("Rust",)
    identifiers: Collection[str] = frozenset({
        "identifier", "type_identifier", "field_identifier", "shorthand_field_identifier",
    })  # fmt: skip
    classes: Collection[str] = _CLASSES | {"enum_variant"}
    extensions: Collection[str] = frozenset({"impl_item"})
    members_in_scope = False
    separate_function_names = False
    members_span_files = True

    def declaration_at(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Return the declaration of an identifier, or None if it declares nothing."""
        if len(path) < 3:
            return None
        leaf, parent = path[-1], path[-2]
        kind = parent.type
        if kind in _ITEMS:
            return self._item(path) if is_field(parent, "name", leaf) else None
        if kind == "enum_variant" and is_field(parent, "name", leaf):
            owner = nearest(path, {"enum_item"}) or parent
            owner_name_node = owner.child_by_field_name("name")
            return Declaration(
                "enummember", leaf.start_byte, leaf.end_byte, parent, owner, 0, owner_name_node,
                owner=owner.start_byte, owner_name=text_of(owner_name_node),
            )  # fmt: skip
        if kind == "field_declaration" and is_field(parent, "name", leaf):
            owner = nearest(path, {*_CLASSES, "enum_variant"}) or parent
            return Declaration(
                "field", leaf.start_byte, leaf.end_byte, parent, owner, 0, parent.child_by_field_name("type"),
                owner=owner.start_byte, owner_name=text_of(owner.child_by_field_name("name")),
            )  # fmt: skip
        if kind in {"type_parameter", "const_parameter"} and is_field(parent, "name", leaf) and len(path) > 3:
            return Declaration("typeparameter", leaf.start_byte, leaf.end_byte, parent, path[-4])
        # A label of a loop is visible in the loop alone; `break 'name` outside of it is an error.
        if kind == "label" and path[-3].type in _LOOPS:
            return Declaration("variable", leaf.start_byte, leaf.end_byte, parent, path[-3])
        return self._pattern_declaration(path)

    def _item(self, path: Sequence[Node]) -> Declaration:
        leaf, node = path[-1], path[-2]
        kind = _ITEMS[node.type]
        block_owner = path[-4] if len(path) > 4 and path[-3].type == "declaration_list" else None
        owner, owner_name = NO_OWNER, b""
        if block_owner is not None and block_owner.type == "impl_item":
            implemented = block_owner.child_by_field_name("type")
            # An `impl` may be in another file than its type, so the owner is known by name only.
            owner, owner_name = NAMED_OWNER, text_of(self.type_leaf(implemented) if implemented is not None else None)
        elif block_owner is not None and block_owner.type == "trait_item":
            owner, owner_name = block_owner.start_byte, text_of(block_owner.child_by_field_name("name"))
        if owner != NO_OWNER and kind == "function":
            kind = "method"
        scope = nearest(path, _SCOPES, len(path) - 2) or path[0]
        result_type = node.child_by_field_name("return_type") or node.child_by_field_name("type")
        # `mod name;` only announces a module, whose code is in a file of that name.
        is_prototype = kind == "module" and node.child_by_field_name("body") is None
        return Declaration(
            kind, leaf.start_byte, leaf.end_byte, node, scope, 0, result_type,
            owner=owner, owner_name=owner_name, is_prototype=is_prototype,
        )  # fmt: skip

    def _pattern_declaration(self, path: Sequence[Node]) -> Declaration | None:
        """Return the declaration of a pattern variable: a lower-case name in a pattern."""
        leaf = path[-1]
        # The grammar can't tell a variable from a constant in a pattern; by convention constants are upper case.
        if leaf.type not in {"identifier", "shorthand_field_identifier"} or text_of(leaf)[:1].isupper():
            return None
        if path[-2].type == "token_tree":
            return macro_declaration(leaf, path[-2])
        pattern = _enclosing_pattern(path)
        if pattern is None:
            return None
        index, child, is_element = pattern
        node = path[index]
        if node.type not in _BINDERS:
            return None
        if node.type != "closure_parameters" and not is_field(node, "pattern", child):
            return None
        declared_type = node.child_by_field_name("type")
        value = node.child_by_field_name("value")
        visible, kind = leaf.start_byte, "variable"
        scope = nearest(path, _SCOPES, index + 1) or path[0]
        # `let x = x + 1;`: the new name is visible after its own statement.
        if node.type == "let_declaration":
            visible = node.end_byte
            scope = nearest(path, _SCOPES, index) or path[0]
        # A variable of an arm has the type of the matched value, or of a part of it inside a pattern.
        elif node.type == "match_arm":
            match = nearest(path, {"match_expression"}, index)
            value = field_of(match, "value")
        elif node.type in {"parameter", "closure_parameters"}:
            kind, visible = "parameter", 0
        elif node.type == "for_expression":
            is_element = True
        return Declaration(kind, leaf.start_byte, leaf.end_byte, node, scope, visible, declared_type, value, is_element)

    def use_of(self, path: Sequence[Node]) -> NameUse:
        """Return how an identifier is used."""
        leaf, parent = path[-1], path[-2] if len(path) > 1 else path[-1]
        kind = parent.type
        # First, because paths inside a `use` look like other paths, but may have lists and aliases.
        if nearest(path, {"use_declaration"}) is not None:
            return NameUse(role="import", path=use_path(path), is_import=True)
        if kind == "field_initializer" and is_field(parent, "field", leaf):
            literal = nearest(path, {"struct_expression"})
            return NameUse(role="keyword", fields_of=field_of(literal, "name"))
        if kind == "field_pattern" and leaf.type == "field_identifier":
            pattern = nearest(path, {"struct_pattern"})
            return NameUse(role="keyword", fields_of=field_of(pattern, "type"))
        if kind == "token_tree":
            return macro_use(leaf)

        is_type = leaf.type == "type_identifier"
        expression, receiver = leaf, None
        segments: tuple[bytes, ...] = ()
        if kind == "field_expression" and is_field(parent, "field", leaf):
            expression, receiver = parent, parent.child_by_field_name("value")
        elif kind in {"scoped_identifier", "scoped_type_identifier"} and is_field(parent, "name", leaf):
            expression, segments = parent, self._segments(parent)
        call = path[-3] if expression is not leaf and len(path) > 2 else parent
        # `parse::<u8>()`: the type arguments have a node between the name and the call.
        if call.type == "generic_function":
            call = call.parent or call
        is_called = (
            call.type == "call_expression" and call.start_byte == expression.start_byte
        ) or kind == "macro_invocation"
        role: Role = "attribute" if receiver is not None or segments else "name"
        return NameUse(
            role=role, receiver=receiver, fields_of=None, path=segments, is_called=is_called, is_type=is_type
        )

    def _segments(self, node: Node) -> tuple[bytes, ...]:
        """Return the parts of a path with ``::``; empty if one of them isn't a name."""
        parts: list[bytes] = []
        current: Node | None = node
        while current is not None:
            if current.type in {"scoped_identifier", "scoped_type_identifier"}:
                parts.append(text_of(current.child_by_field_name("name")))
                current = current.child_by_field_name("path")
                continue
            # These are keywords, which `type_leaf` doesn't take for names.
            leaf = current if current.type in {"crate", "self", "super"} else self.type_leaf(current)
            if leaf is None:
                return ()
            parts.append(text_of(leaf))
            break
        return tuple(reversed(parts))

    def type_step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911 - a case per kind of node
        """Return the step that leads to the type of an expression."""
        kind = node.type
        if kind == "self":
            return TypeStep("this", node)
        if kind in {"identifier", "type_identifier", "field_identifier"}:
            return TypeStep("name", node)
        if kind == "field_expression":
            return TypeStep("name", node.child_by_field_name("field"))
        if kind in {"scoped_identifier", "scoped_type_identifier"}:
            return TypeStep("name", node.child_by_field_name("name"))
        if kind in {"call_expression", "generic_function"}:
            return self._call_step(node, node.child_by_field_name("function"))
        if kind == "struct_expression":
            return TypeStep("type", node.child_by_field_name("name"))
        if kind in {"try_expression", "index_expression"}:
            return TypeStep("element", first_child(node))
        if kind == "type_cast_expression":
            return TypeStep("type", node.child_by_field_name("type"))
        if kind in {"parenthesized_expression", "await_expression", "unary_expression", "reference_expression"}:
            return TypeStep("same", last_child(node))
        if kind in {"reference_type", "generic_type", "dynamic_type", "abstract_type"}:
            return TypeStep("type", node)
        return None

    def _call_step(self, node: Node, function: Node | None) -> TypeStep:
        """Return the step from a call, or from a function with its type arguments, to the type of its result."""
        kind = None if function is None else function.type
        if function is not None and kind == "field_expression":
            name = text_of(function.child_by_field_name("field"))
            # Methods of the standard library, whose sources aren't indexed. The method of the repository is tried
            # first, since it may have one of that name.
            if name in _INNER or name in _SAME:
                receiver = function.child_by_field_name("value")
                return TypeStep("same", function, TypeStep("element" if name in _INNER else "same", receiver))
        if function is not None and kind == "scoped_identifier" and node.type == "call_expression":
            base = text_of(function.child_by_field_name("path"))
            # Members are looked up through `Deref`, so the type of the content counts.
            if base in _SMART_POINTERS:
                return TypeStep("same", _first_argument(node))
        # The wrapped value stands for `Option` and `Result`, as `_INNER` methods return it.
        if kind == "identifier" and text_of(function) in {b"Some", b"Ok"}:
            return TypeStep("same", _first_argument(node))
        return TypeStep("same", function)

    def type_leaf(self, node: Node) -> Node | None:
        """Return the identifier that names a type, behind references and smart pointers."""
        for _ in range(10):
            if node.type in {"type_identifier", "identifier"}:
                return node
            name_node: Node | None = None
            if node.type in {"reference_type", "pointer_type", "generic_type", "generic_type_with_turbofish"}:
                name_node = node.child_by_field_name("type")
                arguments = self.arguments(node)
                # Members are found through `Deref` (Rust reference, method-call expressions), or after `lock` or
                # `borrow`, so the type inside counts.
                if node.type == "generic_type" and arguments and text_of(name_node).rpartition(b"::")[2] in _POINTERS:
                    name_node = arguments[0]
            elif node.type in {"scoped_type_identifier", "scoped_identifier"} or node.type in _ITEMS:
                name_node = node.child_by_field_name("name")
            elif node.type == "impl_item":
                name_node = node.child_by_field_name("type")
            elif node.type in {"dynamic_type", "abstract_type"}:
                name_node = node.child_by_field_name("trait")
            elif node.type == "bounded_type" and node.named_children:
                name_node = node.named_children[0]
            if name_node is None:
                return None
            node = name_node
        return None

    def arguments(self, node: Node) -> list[Node]:
        """Return the arguments of a type; of a ``Result`` only the first one."""
        for _ in range(4):
            if node.type != "reference_type":
                break
            node = node.child_by_field_name("type") or node
        if node.type in {"array_type", "slice_type"}:
            element = node.child_by_field_name("element")
            return [element] if element is not None else []

        arguments = children_of(node.child_by_field_name("type_arguments"))
        types = [argument for argument in arguments if argument.type != "lifetime"]
        type_name = field_text(node, "type").rpartition(b"::")[2]
        # `?` and `unwrap` give the success of a result; its error type has no members of interest here.
        return types[:1] if type_name.endswith(b"Result") else types

    def supertypes(self, node: Node) -> list[Node]:
        """Return the bounds of a trait or of a type parameter."""
        types = list(children_of(node.child_by_field_name("bounds")))
        if node.type != "type_parameter" or node.parent is None:
            return types

        # Bounds may also be in the `where` clause of the item that has the type parameter.
        for predicate in children_of(child_of_type(node.parent.parent, "where_clause")):
            if field_text(predicate, "left") == field_text(node, "name"):
                types += children_of(predicate.child_by_field_name("bounds"))
        return types

    def implied_class(self, path: Sequence[Node]) -> Node | None:  # noqa: ARG002 - no code is outside of its class
        """Return None: all methods are inside their class."""
        return None

    def parameters(self, node: Node) -> tuple[int, bool] | None:  # noqa: ARG002 - there are no overloads
        """Return None: Rust has no overloads."""
        return None

    def lookup_outside(
        self, names: NameResolver, document: Document, name: bytes, use: NameUse, offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the declarations that `use` imports, and macros of the crate."""
        model = names.model(document)
        if model is None:
            return []
        # `Self` is the type of the `impl` or trait around it, and is declared nowhere.
        if name == b"Self":
            class_node = nearest([*model.path_to(offset), model.root], _CLASSES)
            leaf = self.type_leaf(class_node) if class_node is not None else None
            refs = names.refs_at(document, leaf.start_byte) if leaf is not None else []
            return list(refs)
        imported = self._follow_uses(names, document, name, 0)
        if imported:
            return imported
        # A plain name may also be a crate, or a module of the file; a call can't mean one.
        if not use.is_called:
            modules, _ = self._start_scopes(names, document, (name, b""), offset, 0)
            return [ModuleRef(module[0]) for module in modules if isinstance(module, tuple) and module[1] is None]
        for other, start, kind, _, _ in names.definitions_in(document.project, name):
            declaration = names.declaration(other, name, start) if kind == "function" else None
            # Macros by `macro_rules!` are visible by textual order or `#[macro_use]` (Rust reference, macros by
            # example), so any of the repository may be meant.
            if declaration is not None and declaration.node.type == "macro_definition":
                imported.append(
                    DeclarationRef(
                        document=other, declaration=declaration, rule="import", reason="macro of the repository"
                    )
                )
        return imported

    def _follow_uses(
        self, names: NameResolver, document: Document, name: bytes, depth: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Follow the `use` declarations of a file for a name."""
        if depth > _MAX_USES:
            return []
        shown_name = name.decode(errors="replace")
        stars: list[bytes] = []
        for statement in imports_of(document, names.session.workspace):
            visible_name = statement.alias or statement.member or statement.module.rpartition("::")[2]
            if statement.member == "*":
                stars.append(statement.module.encode())
            elif visible_name == shown_name and statement.module != "self":
                path = [part for part in statement.module.encode().split(b"::") if part]
                path += [statement.member.encode()] if statement.member else []
                refs = self._follow_path(names, document, tuple(path), 0, depth + 1)
                if refs:
                    return refs
        # After the named imports, which hide names of a glob import (Rust reference, glob imports).
        for star in stars:
            refs = self._follow_path(names, document, (*star.split(b"::"), name), 0, depth + 1)
            if refs:
                return refs
        return []

    def lookup_qualified(
        self, names: NameResolver, document: Document, path: tuple[bytes, ...], offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the declarations of a path."""
        return self._follow_path(names, document, path, offset, 0)

    def _follow_path(
        self, names: NameResolver, document: Document, path: tuple[bytes, ...], offset: int, depth: int
    ) -> list[DeclarationRef | ModuleRef]:
        if not path or depth > _MAX_USES:
            return []
        scopes, remaining = self._start_scopes(names, document, path, offset, depth)
        for name in remaining:
            next_scopes: list[DeclarationRef | ModuleRef | RustModule] = []
            # Two at most: a name is a type and a value in two namespaces. More would multiply with each part of the
            # path.
            for scope in scopes[:2]:
                next_scopes += self._lookup_in(names, scope, name, depth)
            scopes = next_scopes
        refs: list[DeclarationRef | ModuleRef] = []
        for scope in scopes:
            if isinstance(scope, tuple):
                if scope[1] is None:
                    refs.append(ModuleRef(scope[0]))
            else:
                refs.append(scope)
        return [
            DeclarationRef(
                document=ref.document, declaration=ref.declaration, rule="import", reason="followed the path"
            )
            if isinstance(ref, DeclarationRef)
            else ref
            for ref in refs
        ]

    def _start_scopes(  # noqa: PLR0911 - a case a return
        self, names: NameResolver, document: Document, path: tuple[bytes, ...], offset: int, depth: int
    ) -> tuple[list[DeclarationRef | ModuleRef | RustModule], tuple[bytes, ...]]:
        first, remaining = path[0], path[1:]
        if first == b"crate":
            return [(crate_root(document), None)], remaining
        if first in {b"self", b"super"}:
            module: RustModule | None = self._module_at(names, document, offset)
            # Each further `super` goes up one more module.
            while first == b"super" and module is not None:
                module = self._parent(names, module)
                if not remaining or remaining[0] != b"super":
                    break
                remaining = remaining[1:]
            return [module] if module is not None else [], remaining
        model = names.model(document)
        if model is None:
            return [], ()
        if first == b"Self":
            return list(self.lookup_outside(names, document, first, NameUse(), offset)), remaining
        local = [declaration for declaration in model.declarations(first) if not declaration.is_member
                 and (declaration.kind in TYPES or declaration.kind in {"module", "function"})]  # fmt: skip
        if local and (remaining or offset == 0):
            scopes: list[DeclarationRef | ModuleRef | RustModule] = []
            for declaration in local:
                scopes += self._scope_of(document, declaration)
            return scopes, remaining
        imported = self._follow_uses(names, document, first, depth) if remaining else []
        if imported:
            return [self._as_module(ref) for ref in imported], remaining
        # A crate of the same repository, then one of another repository that the manifest names.
        root_number = crates(document.project).get(first)
        if root_number is not None:
            return [(document.project.document_at(root_number), None)], remaining
        return [
            (other.document_at(number), None)
            for other, number in names.session.providers(document.project, first.decode(errors="replace"))
        ], remaining

    def _as_module(self, ref: DeclarationRef | ModuleRef) -> DeclarationRef | ModuleRef | RustModule:
        return (ref.document, None) if isinstance(ref, ModuleRef) else ref

    def _module_at(self, names: NameResolver, document: Document, offset: int) -> RustModule:
        model = names.model(document)
        path = model.path_to(offset) if model is not None and offset else []
        return document, nearest([*path, *path[-1:]], {"mod_item"})

    def _parent(self, names: NameResolver, module: RustModule) -> RustModule | None:
        document, node = module
        if node is not None:
            model = names.model(document)
            path = model.path_to(node.start_byte) if model is not None else []
            outer_modules = [outer for outer in path if outer.type == "mod_item" and outer.start_byte < node.start_byte]
            return document, (outer_modules[-1] if outer_modules else None)
        parent = parent_file(document)
        return (parent, None) if parent is not None else None

    def _scope_of(
        self, document: Document, declaration: Declaration
    ) -> Iterator[DeclarationRef | ModuleRef | RustModule]:
        """Yield a declaration; for a module its scope."""
        if declaration.kind != "module":
            yield DeclarationRef(document=document, declaration=declaration, rule="scope", reason="in scope")
        elif not declaration.is_prototype:
            yield document, declaration.node
        else:
            file = child_file(document, document.text[declaration.start : declaration.end])
            if file is not None:
                yield file, None

    def _lookup_in(
        self, names: NameResolver, scope: DeclarationRef | ModuleRef | RustModule, name: bytes, depth: int
    ) -> list[DeclarationRef | ModuleRef | RustModule]:
        if isinstance(scope, ModuleRef):
            scope = (scope.document, None)
        scopes: list[DeclarationRef | ModuleRef | RustModule] = []
        if isinstance(scope, DeclarationRef):
            for body in names.type_bodies(names.type_of_class(scope)):
                scopes += names.members(body, name, NameUse())
            return scopes
        document, node = scope
        model = names.model(document)
        for declaration in model.declarations(name) if model is not None else ():
            if node is not None:
                module_node = node
            elif model is not None:
                module_node = model.root
            else:
                module_node = None
            if declaration.is_member or module_node is None:
                continue
            scope_node = declaration.scope
            # Nodes of two parses are different objects, so they are compared by their place.
            if scope_node.start_byte == module_node.start_byte and scope_node.type == module_node.type:
                scopes += self._scope_of(document, declaration)
        if not scopes:
            scopes += [self._as_module(ref) for ref in self._follow_uses(names, document, name, depth + 1)]
        return scopes

    def import_target(self, names: NameResolver, document: Document, module: str, member: str) -> Document | None:
        """Return the file that a `use` or a `mod` names."""
        if module == "self" and member:
            return child_file(document, member.encode())
        path = [part for part in module.encode().split(b"::") if part]
        if member and member != "*":
            path.append(member.encode())
        # The last parts may be a type or a function: the longest prefix that leads to a file counts.
        for length in range(len(path), 0, -1):
            refs = self._follow_path(names, document, tuple(path[:length]), 0, 0)
            if refs:
                return refs[0].document
        return None

    def module_names(self, document: Document) -> Collection[str]:
        """Return the name of the crate that a file belongs to."""
        root = crate_root(document)
        return tuple(
            name.decode(errors="replace") for name, number in crates(document.project).items() if number == root.number
        )

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the crates of a repository."""
        return {name.decode(errors="replace"): number for name, number in crates(project).items()}


def _first_argument(call: Node) -> Node | None:
    arguments = call.child_by_field_name("arguments")
    if arguments is not None and arguments.named_children:
        return arguments.named_children[0]
    return None


def _enclosing_pattern(path: Sequence[Node]) -> tuple[int, Node, bool] | None:
    """Return where the pattern around a variable ends, and whether the variable is only a part of its value.

    The position in the path belongs to the node with the pattern; the second value is the pattern. None if the name is
    a use.
    """
    index, child, is_element = len(path) - 2, path[-1], False
    while index > 0 and path[index].type in _PATTERNS:
        node = path[index]
        # The name of a struct in its pattern, or part of a guard: both are uses.
        if is_field(node, "type", child) or is_field(node, "condition", child):
            return None
        # In `Point { x: a }`, `x` names the field and `a` is the variable; in `Point { x }`, the one node is both.
        if node.type == "field_pattern" and is_field(node, "name", child) and child.type == "field_identifier":
            return None
        is_element = is_element or node.type in _PARTS
        child = node
        index -= 1
    return index, child, is_element

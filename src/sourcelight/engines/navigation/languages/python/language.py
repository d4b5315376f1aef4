"""The rules of Python for looking up names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.language import Cursor, Language, NameLookup, Ref, Renames, Session, Usage
from sourcelight.engines.navigation.languages.python import scopes
from sourcelight.engines.navigation.languages.python.inference import PythonInference
from sourcelight.engines.navigation.languages.python.names import PythonRef, find_module, modules_of
from sourcelight.engines.navigation.model import Document, ResolutionRule, Role
from sourcelight.engines.navigation.nodes import field_text, is_field, nearest_index
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project

_KINDS = {"function": "function", "class": "class", "parameter": "parameter"}
_MODULE_VARIABLES = frozenset({b"__name__", b"__file__", b"__doc__", b"__package__", b"__spec__", b"__path__"})


class PythonLanguage(Language):
    """Python and its stub files."""

    names = ("Python",)
    identifiers = frozenset({"identifier"})
    renames = Renames(re.compile(rb"\bas[\s\\]+([\w\x80-\xff]+)"), frozenset({"aliased_import"}))

    def parse(self, name: str, text: bytes, deadline: float) -> scopes.PythonModel | None:
        """Parse a file."""
        tree = parse_tree(name, text, deadline)
        return None if tree is None else scopes.PythonModel(text, tree)

    def usage(self, cursor: Cursor) -> Usage:
        """Return how an identifier is used, as its parent node shows."""
        return _usage(cursor.node)

    def lookup(self, document: Document, cursor: Cursor, session: Session) -> Sequence[Ref]:
        """Return the bindings and modules that a name refers to."""
        if not isinstance(cursor.parsed, scopes.PythonModel):
            return []
        refs, rule = PythonLookup(PythonInference(session), document, cursor.parsed, cursor).refs()
        return [_to_ref(ref, rule) for ref in refs]

    def bindings(self, ref: Ref, session: Session) -> Sequence[Ref]:
        """Return all bindings of a variable, function or attribute."""
        cursor = session.cursor(ref.document, ref.start)
        if cursor is None or not isinstance(cursor.parsed, scopes.PythonModel):
            return []

        inference = PythonInference(session)
        scope = cursor.parsed.scope_along(cursor.path)
        if cursor.parent.type == "attribute":
            owner = inference.method_owner(ref.document, scope)
        elif scope.kind == "class":
            owner = inference.class_ref(ref.document, scope)
        else:
            variables = [PythonRef(ref.document, binding) for binding in scope.bindings.get(cursor.name, [])]
            return [_to_ref(variable, "scope") for variable in variables]

        if owner is None:
            return []
        return [_to_ref(member, "scope") for member in inference.attribute_bindings(owner, cursor.name)]

    def module_names(self, document: Document) -> Collection[str]:
        """Return the dotted name of a file."""
        file = modules_of(document.project).by_number.get(document.number)
        if file is None:
            return ()
        return (file.name.decode(errors="replace"),)

    def import_target(self, document: Document, module: str, member: str, session: Session) -> Document | None:
        """Return the file of an import: the member if it is a module, else the module."""
        name = module.lstrip(".")
        level = len(module) - len(name)
        if member and member != "*":
            dotted_name = f"{name}.{member}" if name else member
            # `from package import name`: a submodule of that name comes before a member, as the file is what is
            # imported.
            documents = find_module(document, dotted_name.encode(), level, session)
            if documents:
                return documents[0]

        documents = find_module(document, name.encode(), level, session)
        return documents[0] if documents else None

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the top-level modules that other repositories can import."""
        return modules_of(project).shared_modules


def _usage(node: Node) -> Usage:
    parent = node.parent
    if parent is None:
        return Usage()

    kind = parent.type
    role: Role = "name"
    # `a.b` is called or assigned as a whole when its last name is.
    expression = node
    if kind == "attribute" and is_field(parent, "attribute", node):
        role, expression = "attribute", parent
    elif kind == "keyword_argument" and is_field(parent, "name", node):
        role = "keyword"
    elif kind in {"dotted_name", "aliased_import"}:
        role = "import"

    is_definition = kind in {"function_definition", "class_definition"}
    return Usage(role, is_binding=is_definition or _is_target(expression), is_called=_is_called(expression))


def _is_called(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "call" and is_field(parent, "function", node)


def _is_target(node: Node) -> bool:
    """Return whether an expression is the target of an assignment."""
    parent = node.parent
    while parent is not None and parent.type in {"pattern_list", "tuple_pattern", "list_pattern"}:
        node, parent = parent, parent.parent

    if parent is None or parent.type not in {"assignment", "for_statement", "for_in_clause", "parameters"}:
        return False
    if parent.type == "parameters":
        return True

    left = parent.child_by_field_name("left")
    return left is not None and left.start_byte == node.start_byte


class PythonLookup(NameLookup[PythonInference, scopes.PythonModel]):
    """The lookup of one name."""

    def refs(self) -> tuple[list[PythonRef], ResolutionRule]:
        """Return the declarations that the name refers to, with the rule that led there."""
        kind = self.parent.type
        if kind == "attribute" and is_field(self.parent, "attribute", self.leaf):
            return self._attribute()
        if kind == "keyword_argument" and is_field(self.parent, "name", self.leaf):
            return self._keyword(), "type"

        statement = next((node for node in reversed(self.path[:-1]) if node.type.startswith("import_")), None)
        if statement is not None and kind in {"dotted_name", "aliased_import"}:
            return self._import_refs(statement), "import"

        return self._plain_name()

    @property
    def scope(self) -> scopes.PythonScope:
        """The scope in which the name is evaluated or bound."""
        return self.model.scope_along(self.path)

    def _plain_name(self) -> tuple[list[PythonRef], ResolutionRule]:
        scope = self.scope
        bindings_here = [
            binding for binding in scope.bindings.get(self.name, []) if binding.start == self.leaf.start_byte
        ]
        if bindings_here:
            bound = PythonRef(self.document, bindings_here[0])
            if bindings_here[0].kind == "parameter":
                fixture = self.inference.fixture(self.document, scope, self.name)
                if fixture is not None:
                    return [fixture, bound], "import"
            return self._follow_imports([bound], "scope")

        if self.name in scope.globals:
            scope = scope.module

        if scope.kind == "class" and self.parent.type == "decorator":
            bindings = scope.bindings.get(self.name, [])
            # `@name.setter` refers to the property above it, not to the function below.
            getters = [binding for binding in bindings if binding.start < self.leaf.start_byte]
            if getters:
                return [PythonRef(self.document, getters[0])], "scope"

        refs = self.inference.lookup(self.document, scope, self.name, self.leaf.start_byte)
        if not refs and self.name in _MODULE_VARIABLES:
            return [PythonRef(self.document)], "scope"

        if refs and refs[0].binding is not None and refs[0].binding.kind == "parameter":
            owner = refs[0].binding.scope
            if owner.kind == "function" and refs[0].document is self.document:
                return refs, "scope"

        return self._follow_imports(refs, "scope")

    def _follow_imports(self, refs: list[PythonRef], rule: ResolutionRule) -> tuple[list[PythonRef], ResolutionRule]:
        """Follow imports; the rule is ``import`` if there were any."""
        imports = bool(refs) and refs[0].binding is not None and refs[0].binding.kind in {"import", "from"}
        is_elsewhere = bool(refs) and refs[0].document != self.document
        return self.inference.follow(refs), "import" if imports or is_elsewhere else rule

    def _attribute(self) -> tuple[list[PythonRef], ResolutionRule]:
        holder = self.parent.child_by_field_name("object")
        scope = self.scope
        assigned = self._own_attribute(scope)
        if assigned is not None:
            return [assigned], "type"

        refs: list[PythonRef] = []
        rule: ResolutionRule = "type"
        outside = 0
        values = self.inference.infer(self.document, scope, holder)
        for value in values:
            if value.kind == "module":
                rule = "import"
            refs += self.inference.members(value, self.name)
            outside += value.kind in {"outside", "container"}

        # Every possible receiver is outside of the repositories: ranking by name would only guess.
        if not refs and outside and outside == len(values):
            self.inference.session.note_outside(self.document, self.leaf.start_byte)

        return self.inference.follow(refs), rule

    def _own_attribute(self, scope: scopes.PythonScope) -> PythonRef | None:
        """Return the binding of an assigned ``self.x``: itself."""
        holder = scope.enclosing_class
        if holder is None or not _is_target(self.parent):
            return None

        for binding in self.inference.attributes(holder).get(self.name, []):
            if binding.start == self.leaf.start_byte:
                return PythonRef(self.document, binding)
        return None

    def _keyword(self) -> list[PythonRef]:
        """Return the parameter that a keyword argument names."""
        index = nearest_index(self.path[:-2], {"call", "class_definition", "class_pattern"})
        if index is None or self.path[index].type != "call":
            return []

        scope = self.model.scope_along(self.path[: index + 1])
        called = self.path[index].child_by_field_name("function")
        refs: list[PythonRef] = []
        for value in self.inference.infer(self.document, scope, called):
            refs += self.inference.parameter_named(value, self.name)

        return refs

    def _import_refs(self, statement: Node) -> list[PythonRef]:
        if statement.type == "import_from_statement":
            return self._from_import(statement)
        if statement.type != "import_statement":
            return []
        if self.parent.type == "aliased_import" and is_field(self.parent, "alias", self.leaf):
            return self._module_refs(field_text(self.parent, "name"), 0)

        return self._module_refs(self._prefix(self.parent), 0)

    def _prefix(self, node: Node) -> bytes:
        """Return a dotted name up to the leaf, inclusive."""
        return self.model.text[node.start_byte : self.leaf.end_byte]

    def _module_refs(self, module: bytes, level: int) -> list[PythonRef]:
        modules = [PythonRef(document) for document in self.inference.modules(self.document, module, level)[:1]]
        if modules:
            return modules
        bindings = self.model.scope_along(self.path).bindings.get(self.name, [])
        return [PythonRef(self.document, binding) for binding in bindings if binding.start == self.leaf.start_byte]

    def _from_import(self, statement: Node) -> list[PythonRef]:
        source = statement.child_by_field_name("module_name")
        if source is not None and source.start_byte <= self.leaf.start_byte < source.end_byte:
            level = scopes.parse_from_module(source)[1]
            start = self.parent if self.parent.type == "dotted_name" else source
            return self._module_refs(self._prefix(start), level)

        scope = self.model.scope_along(self.path)
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.node.start_byte <= self.leaf.start_byte < binding.node.end_byte and binding.kind == "from":
                    return self.inference.follow([PythonRef(self.document, binding)])

        return []


def _to_ref(ref: PythonRef, rule: ResolutionRule) -> Ref:
    binding = ref.binding
    if binding is None:
        return Ref(document=ref.document, start=0, end=0, kind="module", rule=rule)
    missing: str | None = None
    if binding.kind in {"import", "from"}:
        missing = (b"." * binding.level + binding.module).decode(errors="replace")
    return Ref(ref.document, binding.start, binding.end, _kind(binding), rule, missing_module=missing)


def _kind(binding: scopes.PythonBinding) -> str:
    if binding.kind == "function" and binding.scope.kind == "class":
        return "method"
    if binding.kind == "variable" and (binding.scope.kind == "class" or _names_attribute(binding)):
        return "field"
    if binding.kind in {"import", "from"}:
        return "module"
    return _KINDS.get(binding.kind, "variable")


def _names_attribute(binding: scopes.PythonBinding) -> bool:
    left = binding.node.child_by_field_name("left")
    return left is not None and left.type == "attribute"

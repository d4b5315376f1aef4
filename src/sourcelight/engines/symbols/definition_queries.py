"""Queries for definitions, one grammar each: one tree-sitter query each.

Every pattern captures the name as ``@name`` and the whole definition under its kind. Besides kinds there are:

``@typedef``: a class that gives another definition a name; ``@declaration``: a function without its body;
``@scope``: holds definitions but is none itself; ``@local``: a function without a name;
``@outer``: wraps the definition that is its ``@name``;
``@container``: the name of what holds the definition, where it is spelled out.

Where several patterns name the same place, the first one counts. Variables, constants and fields within functions are
dropped, and functions within classes become methods, when the definitions are put in order.
"""

from __future__ import annotations

PYTHON = """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(expression_statement (assignment left: (identifier) @name) @variable)
(expression_statement (assignment left: (pattern_list (identifier) @name)) @variable)
(type_alias_statement left: (type (identifier) @name)) @class
(type_alias_statement left: (type (generic_type (identifier) @name))) @class
(decorated_definition definition: (_) @name) @outer
"""

GO = """
(package_clause (package_identifier) @name) @package
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (generic_type type: (type_identifier) @container)
    (pointer_type (type_identifier) @container)
    (pointer_type (generic_type type: (type_identifier) @container))]))
  name: (field_identifier) @name) @method
(method_declaration name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @class
(type_alias name: (type_identifier) @name) @class
(const_spec name: (identifier) @name) @constant
(var_spec name: (identifier) @name) @variable
(field_declaration name: (field_identifier) @name) @field
(method_elem name: (field_identifier) @name) @method
(func_literal) @local
"""

_ECMASCRIPT = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @constant)
(variable_declarator name: (identifier) @name) @variable
(assignment_expression
  left: (member_expression property: [(property_identifier) (private_property_identifier)] @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: (class)) @class
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
[(arrow_function) (function_expression) (generator_function) (class_static_block)] @local
"""

JAVASCRIPT = (
    _ECMASCRIPT
    + """
(class_declaration name: (identifier) @name) @class
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @field
"""
)

TYPESCRIPT = (
    _ECMASCRIPT
    + """
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @enum
(enum_body name: (property_identifier) @name @enummember)
(enum_assignment name: (property_identifier) @name) @enummember
(internal_module name: [(identifier) (nested_identifier)] @name) @namespace
(module name: [(identifier) (nested_identifier)] @name) @namespace
(function_signature name: (identifier) @name) @function
(method_signature name: [(property_identifier) (private_property_identifier)] @name) @method
(abstract_method_signature name: [(property_identifier) (private_property_identifier)] @name) @method
(property_signature name: (property_identifier) @name) @property
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @field
"""
)

JAVA = """
(package_declaration [(identifier) (scoped_identifier)] @name) @package
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(enum_constant name: (identifier) @name) @enummember
(method_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @constructor
(compact_constructor_declaration name: (identifier) @name) @constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant
(lambda_expression) @local
"""

C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name)))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @declaration
(declaration declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @declaration
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @enummember
(type_definition declarator: (type_identifier) @name) @typedef
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @typedef
(type_definition declarator: (array_declarator declarator: (type_identifier) @name)) @typedef
(type_definition declarator: (function_declarator
  declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @typedef
(type_definition declarator: (function_declarator declarator: (type_identifier) @name)) @typedef
(field_declaration declarator: (field_identifier) @name) @field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @field
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @field
(field_declaration declarator: (pointer_declarator
  declarator: (pointer_declarator declarator: (field_identifier) @name))) @field
(field_declaration declarator: (function_declarator
  declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))) @field
(preproc_def name: (identifier) @name) @constant
(preproc_function_def name: (identifier) @name) @function
(declaration declarator: (identifier) @name) @variable
(declaration declarator: (array_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (pointer_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (init_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable
(declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable
"""

CPP = (
    C
    + """
(class_specifier name: (type_identifier) @name body: (_)) @class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_)) @class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_)) @struct
(namespace_definition name: [(namespace_identifier) (nested_namespace_specifier)] @name) @namespace
(alias_declaration name: (type_identifier) @name) @class
(concept_definition name: (identifier) @name) @class
(function_definition declarator: (function_declarator
  declarator: [(field_identifier) (destructor_name) (operator_name)] @name)) @function
(function_definition declarator: (_
  (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))) @function
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier scope: (_) @container
    name: [(identifier) (destructor_name) (operator_name)] @name))) @method
(function_definition declarator: (_ (function_declarator
  declarator: (qualified_identifier scope: (_) @container name: [(identifier) (operator_name)] @name)))) @method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (qualified_identifier scope: (_) @container
    name: [(identifier) (destructor_name) (operator_name)] @name)))) @method
(function_definition declarator: (_ (function_declarator
  declarator: (qualified_identifier name: (qualified_identifier scope: (_) @container
    name: [(identifier) (operator_name)] @name))))) @method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (qualified_identifier name: (qualified_identifier scope: (_) @container
    name: [(identifier) (destructor_name) (operator_name)] @name))))) @method
(field_declaration declarator: (function_declarator
  declarator: [(field_identifier) (operator_name)] @name)) @declaration
(field_declaration declarator: (_ (function_declarator
  declarator: [(field_identifier) (operator_name)] @name))) @declaration
(declaration declarator: (function_declarator declarator: [(destructor_name) (operator_name)] @name)) @declaration
(lambda_expression) @local
"""
)

RUST = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @enum
(enum_variant name: (identifier) @name) @enummember
(trait_item name: (type_identifier) @name) @interface
(type_item name: (type_identifier) @name) @class
(associated_type name: (type_identifier) @name) @class
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(mod_item name: (identifier) @name) @module
(macro_definition name: (identifier) @name) @function
(field_declaration name: (field_identifier) @name) @field
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (type_identifier) @name)
  (reference_type type: (type_identifier) @name)]) @scope
(closure_expression) @local
"""

RUBY = """
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @module
(assignment left: (constant) @name) @constant
"""

C_SHARP = """
(namespace_declaration name: (_) @name) @namespace
(file_scoped_namespace_declaration name: (_) @name) @package
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(enum_member_declaration name: (identifier) @name) @enummember
(delegate_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(local_function_statement name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @constructor
(destructor_declaration name: (identifier) @name) @method
(property_declaration name: (identifier) @name) @property
(event_declaration name: (identifier) @name) @event
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @event
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field
(lambda_expression) @local
"""

PHP = """
(namespace_definition name: (namespace_name) @name) @namespace
(function_definition name: (name) @name) @function
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @interface
(enum_declaration name: (name) @name) @enum
(enum_case name: (name) @name) @enummember
(method_declaration name: (name) @name) @method
(const_declaration (const_element (name) @name)) @constant
(property_declaration (property_element name: (variable_name (name) @name))) @property
(property_promotion_parameter name: (variable_name (name) @name)) @property
(anonymous_function) @local
"""

KOTLIN = """
(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @enum
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @object
(companion_object name: (identifier) @name) @object
(enum_entry (identifier) @name) @enummember
(function_declaration name: (identifier) @name) @function
(property_declaration (modifiers (property_modifier "const")) (variable_declaration (identifier) @name)) @constant
(property_declaration (variable_declaration (identifier) @name)) @variable
(class_parameter ["val" "var"] . (identifier) @name) @property
(type_alias type: (identifier) @name) @class
(lambda_literal) @local
(anonymous_function) @local
"""

SCALA = """
(package_clause name: (package_identifier) @name) @package
(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @object
(trait_definition name: (identifier) @name) @interface
(enum_definition name: (identifier) @name) @enum
(simple_enum_case name: (identifier) @name) @enummember
(full_enum_case name: (identifier) @name) @enummember
(function_definition name: [(identifier) (operator_identifier)] @name) @function
(function_declaration name: [(identifier) (operator_identifier)] @name) @function
(type_definition name: (type_identifier) @name) @class
(val_definition pattern: (identifier) @name) @variable
(val_declaration name: (identifier) @name) @variable
(var_definition pattern: (identifier) @name) @variable
(lambda_expression) @local
(block) @local
"""

BASH = """
(function_definition name: (word) @name) @function
"""

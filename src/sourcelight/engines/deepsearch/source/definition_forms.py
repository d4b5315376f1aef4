"""The forms of lines that define a name, in languages whose words for what they define are their own.

A form is a template of `str.format`, which reads a doubled brace as one: ``{name}`` is replaced by the name, and the
group `kind` is the keyword of the language, or a sign that tells the kind. A line that fits one form of its language
defines the name. An example stands above each form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NO_TYPE = (
    r"(?:return|await|new|factory|throw|else|yield|assert|case|in|is|as|if|while|for|switch|catch"
    r"|public|private|protected|internal|static|const|abstract|external)"
)
"""Words that are no type, so that the name behind one is a call, or a constructor behind a modifier."""
_D_WORDS = (
    r"(?:(?:@\w+(?:\([^()]*\))?|public|private|protected|package|export|static|final|abstract|override|pure|nothrow|shared"
    r"|extern\([^()]*\)|inout|ref|synchronized|deprecated(?:\([^()]*\))?)\s+)*"
)
"""Words before the type or the keyword of a definition of D: ``private static``, ``@safe``, ``extern(C)``."""
_SQL_WORDS = r"(?:or\s+replace|or\s+alter|temp(?:orary)?|unlogged|materialized|unique|global|external|recursive)"
"""Words between ``create`` and the kind of an object: ``or replace``."""
FORTRAN_WORDS = (
    r"(?:(?:pure|elemental|impure|recursive|module|non_recursive"
    r"|(?:integer|real|logical|character|complex|type|class|double\s+precision)"
    r"\s*(?:\*\s*\d+|\([^()]*(?:\([^()]*\)[^()]*)*\))?)\s+)*"
)
"""Words before that of a function in Fortran, such as the type that it returns."""
_HAXE_WORDS = r"(?:(?:@:?\w+(?:\([^()]*\))?|public|private|static|inline|override|final|extern|macro)\s+)*"
"""Words before the keyword of a definition of Haxe: ``@:keep public static``."""
SAME_FORMS = {
    "Objective-C++": "Objective-C", "Common Lisp": "Clojure", "Fennel": "Clojure", "Racket": "Scheme",
    "Fortran Free Form": "Fortran", "Gradle": "Groovy", "Terraform": "HCL", "TypeScript": "JavaScript",
    "SCSS": "CSS", "Less": "CSS", "PLpgSQL": "SQL", "SystemVerilog": "Verilog",
}  # fmt: skip
"""Languages whose definitions and calls have the forms of another one."""
NAMED_FORMS: Mapping[str, Sequence[str]] = {
    "OCaml": (
        # `let rec gate level =`
        r"\s*(?P<kind>let|and)\s+(?:rec\s+|inline\s+)?{name}\b",
        # `let ( gate ) a b =`
        r"\s*(?P<kind>let|and)\s+(?:rec\s+)?\(\s*{name}\s*\)",
        # `type level gate =`
        r"\s*(?P<kind>type|module)\s+(?:.*\s)?{name}\s*=",
        # `exception Gate of int`
        r"\s*(?P<kind>exception)\s+{name}\b",
        # `| Gate of int`
        r"\s*(?P<kind>\|)\s*{name}\s+of\b",
        # `val gate : level -> unit`
        r"\s*(?P<kind>val|external)\s+{name}\s*:",
    ),
    "F#": (
        # `let private gate level =`
        r"\s*(?P<kind>let|and)\s+(?:rec\s+|inline\s+|mutable\s+|private\s+|internal\s+)*{name}\b",
        # `type internal Water.Gate =`
        r"\s*(?P<kind>type|module)\s+(?:private\s+|internal\s+)?(?:\w+\.)*{name}\b",
    ),
    "Objective-C": (
        # `- (void)gate:(int)level`
        r"\s*[-+]\s*\([^)]*\)\s*(?P<kind>{name})\b",
        # With a semicolon or a comma behind the name, it declares what another line defines; a category adds to it.
        # `@interface Gate : NSObject`
        r"\s*@(?P<kind>interface|implementation|protocol)\s+{name}\b(?!\s*[;,(])",
        # `NSString *const Gate = @"gate"`
        r"\s*(?:(?:static|extern|const|FOUNDATION_EXPORT)\s+)*(?!return\b)[A-Z]\w*\s*\*?\s*(?P<kind>const)\s+{name}\s*=(?!=)",
        # `static const int gate = 1`
        r"\s*(?:(?:static|extern)\s+)*(?P<kind>const)\s+\w+\s*\*?\s*{name}\s*=(?!=)",
        # `#define GATE 1`
        r"\s*#\s*(?P<kind>define)\s+{name}\b",
        # A function of C opens its body on the line, or below it.
        # `static int gate(int level)`
        r"(?:(?!return\b|else\b|typedef\b)[A-Za-z_]\w*[\s*]+)+(?P<kind>{name})\s*\([^;]*$",
        # `typedef void (^Gate)(int)`
        r"\s*(?P<kind>typedef)\s[^;()]*\(\^\s*{name}\)",
        # `typedef NS_ENUM(NSInteger, Gate)`
        r"\s*typedef\s+(?P<kind>NS_ENUM|NS_OPTIONS)\(\s*\w+\s*,\s*{name}\s*\)",
    ),
    "HCL": (
        # `variable "gate" {`
        r"\s*(?P<kind>variable|output|module|provider)\s+\"{name}\"\s*\{{",
        # `resource "water_gate" "gate" {`
        r"\s*(?P<kind>resource|data)\s+\"[\w-]+\"\s+\"{name}\"\s*\{{",
    ),
    "D": (
        # `immutable int gate = 1;`
        rf"\s*{_D_WORDS}(?:enum|immutable|const)\b(?:\s+[\w.\[\]!]+(?:\([^()]*\))?)?\s+{{name}}\s*(?P<kind>=)(?!=)",
        # `final class Gate`
        rf"\s*{_D_WORDS}(?P<kind>class|struct|interface|enum|union|template|module|alias)\s+(?:\w+\.)*{{name}}\b",
        # A function with its body, or the head of one, behind the type that it returns.
        # `int gate(int level) {`
        (
            rf"\s*{_D_WORDS}(?:(?:const|immutable)\s+)?(?!{NO_TYPE}\b)[A-Za-z_][\w.]*(?:!\w+|!\([^()]*\))?"
            r"(?:\[[^\[\]]*\])*\*?\s+(?P<kind>{name})\s*\((?!.*;\s*$)"
        ),
    ),
    "Protocol Buffer": (
        # `message Gate {`
        r"\s*(?P<kind>message|enum|service|rpc)\s+{name}\b",
        # `  GATE = 1;`
        r"\s+(?=[A-Z]){name}\s*(?P<kind>=)\s*-?\d",
    ),
    "SQL": (
        # `CREATE OR REPLACE FUNCTION water.gate(`
        (
            rf"(?i:\s*create\s+(?:{_SQL_WORDS}\s+)*(?P<kind>table|view|function|procedure|proc|index|trigger|type|domain"
            r"|schema|sequence|aggregate)\s+(?:if\s+not\s+exists\s+)?(?:[\w\"`\[\]@]+\.)*[\"`\[]?){name}(?!\w)"
        ),
        # `{% macro gate(level) %}`
        r"\s*\{{%-?\s*(?P<kind>macro)\s+{name}\s*\(",
    ),
    "CSS": (
        # `@mixin gate(`
        r"\s*(?P<kind>@mixin|@function|@keyframes)\s+{name}(?![\w-])",
        # `--gate: 1px;`
        r"\s*(?=[-$@]){name}\s*(?P<kind>:)",
        # A plain word may be a variable of the code rather than a class of its pages.
        # `.main-gate, {`
        r"(?:[^{{}};:]*[\s,>+~])?\.(?P<kind>)(?=\w*[-A-Z_]){name}(?![\w-])[^{{}};]*[{{,]\s*$",
    ),
    "Fortran": (
        # `pure integer function gate(level)`
        rf"(?i:\s*{FORTRAN_WORDS}(?P<kind>subroutine|function|program)\s+{{name}}\b)",
        # `module gate`
        r"(?i:\s*(?P<kind>module|submodule\s*\([^()]*\))\s+(?!procedure\b|subroutine\b|function\b){name}\s*(?:!.*)?$)",
        # `type, public :: gate`
        r"(?i:\s*(?P<kind>type)\b\s*(?:,[^:!]*)?(?:::)?\s*{name}\s*(?:!.*)?$)",
        # `interface gate`
        r"(?i:\s*interface\s+(?P<kind>{name})\s*(?:!.*)?$)",
        # `integer, parameter :: gate = 1`
        r"(?i:[^!'\"]*,\s*parameter\b[^!'\"]*::\s*{name}\s*(?:\([^()]*\))?\s*(?P<kind>=))",
    ),
    "Solidity": (
        # `function gate(`
        r"\s*(?P<kind>function|modifier|event|error)\s+{name}\s*\(",
        # `modifier gate {`
        r"\s*(?P<kind>modifier)\s+{name}\b",
        # `abstract contract Gate {`
        r"\s*(?:abstract\s+)?(?P<kind>contract|library|interface|struct|enum)\s+{name}\b",
        # `uint256 public constant GATE = 1;`
        r"\s*(?:mapping\s*\([^;]*\)|[A-Za-z]\w*(?:\[\w*\])*)\s+(?:(?:public|private|internal|constant|immutable|override)\s+)+{name}\s*(?P<kind>[=;])",
        # `type Gate is uint256;`
        r"\s*type\s+{name}\s+(?P<kind>is)\b",
    ),
    "Scheme": (
        # `(define gate 1)`
        r"\s*\((?P<kind>define[\w*/-]*)\s+{name}(?=[\s)]|$)",
        # `(define (gate level)`
        r"\s*\((?P<kind>define[\w*/-]*\s+\(+){name}(?=[\s)]|$)",
        # `(struct gate (level))`
        r"\s*\((?P<kind>struct)\s+{name}(?=[\s)]|$)",
    ),
    "CoffeeScript": (
        # `class Water.Gate`
        r"\s*(?:export\s+)?(?P<kind>class)\s+(?:\w+\.)*{name}\b",
        # `gate: (level) ->`
        r"\s*(?:@|(?:\w+(?:\.|::))*)?{name}\s*(?P<kind>)[:=]\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?[-=]>",
        # `exports.gate = 1`
        r"(?:exports\.)?{name}\s*(?P<kind>=)(?!=)",
    ),
    "Starlark": (
        # `def gate(`
        r"\s*(?P<kind>def)\s+{name}\s*\(",
        # `GATE = 1`
        r"{name}\s*(?P<kind>=)(?!=)",
    ),
    "GDScript": (
        # `static func gate(level):`
        r"\s*(?:static\s+)?(?P<kind>func|class)\s+{name}\b",
        # `signal gate`
        r"(?P<kind>class_name|signal|enum|const)\s+{name}\b",
        # `@export var gate = 1`
        r"(?:@?\w+(?:\([^()]*\))?\s+)*(?P<kind>var)\s+{name}\b",
    ),
    "Gleam": (
        # `pub opaque type Gate {`
        r"(?:pub\s+)?(?:opaque\s+)?(?P<kind>fn|type|const)\s+{name}\b",
    ),
    "Haxe": (
        # `public static function gate(`
        rf"\s*{_HAXE_WORDS}(?P<kind>function|class|interface|enum|typedef|var|abstract)\s+{{name}}\b",
    ),
    "Raku": (
        # `multi sub gate(`
        r"\s*(?:(?:multi|proto|my|our)\s+)*(?P<kind>sub|method|submethod|class|role|grammar|token|rule|regex)\s+(?:\w+::)*{name}(?![\w-])",
    ),
    "MATLAB": (
        # `function level = gate(`
        r"\s*(?P<kind>function)\s+(?:[^=()]*=\s*)?(?:\w+\.)*{name}\b",
        # `classdef (Sealed) Gate`
        r"\s*(?P<kind>classdef)\s+(?:\([^()]*\)\s*)?{name}\b",
    ),
    "Tcl": (
        # `proc ::water::gate {level} {`
        r"\s*(?P<kind>proc|method)\s+(?:\w*::)*{name}\s",
    ),
    "Awk": (
        # `function gate(level)`
        r"\s*(?P<kind>function|func)\s+{name}\s*\(",
    ),
    "fish": (
        # `function gate`
        r"\s*(?P<kind>function)\s+{name}(?![\w-])",
    ),
    "Odin": (
        # `gate :: #force_inline proc(`
        r"\s*{name}\s*::\s*(?:#\w+\s+)*(?P<kind>proc|struct|enum|union|distinct)\b",
        # `GATE :: 1`
        r"{name}\s*:(?P<kind>:)",
    ),
    "V": (
        # `pub fn (w Water) gate(`
        r"\s*(?:pub\s+)?(?P<kind>fn|struct|enum|interface|type|const)\s+(?:\([^()]*\)\s*)?{name}\b",
    ),
    "Ada": (
        # `overriding procedure Gate`
        r"(?i:\s*(?:overriding\s+)?(?P<kind>procedure|function|package(?:\s+body)?|type|task|protected)\s+(?:\w+\.)*{name}\b)",
    ),
    "Pascal": (
        # `class procedure TWater.Gate`
        r"(?i:\s*(?:class\s+)?(?P<kind>procedure|function|constructor|destructor|operator)\s+(?:\w+\.)*{name}\b)",
        # `TGate = class(TObject)`
        r"(?i:\s*{name}\s*=\s*(?:packed\s+)?(?P<kind>class|record|object|interface)\b)",
    ),
    "Visual Basic .NET": (
        # `Public Shared Function Gate(`
        r"(?i:\s*(?:(?:public|private|protected|friend|shared|overrides|overridable|partial|async|readonly)\s+)*(?P<kind>sub|function|property|class|module|structure|interface|enum)\s+{name}\b)",
    ),
    "Makefile": (
        # `gate: level`
        r"(?P<kind>){name}\s*:(?![:=])",
        # `define gate`
        r"\s*(?:override\s+)?(?P<kind>define)\s+{name}\b",
        # `export GATE := 1`
        r"\s*(?:(?:export|override)\s+)*{name}\s*[?:+!]{{0,3}}(?P<kind>=)",
    ),
    "Dockerfile": (
        # `ARG GATE=1`
        r"\s*(?P<kind>ARG|ENV)\s+{name}(?:=|\s|$)",
        # `FROM water:1 AS gate`
        r"(?i:\s*(?P<kind>FROM)\s.*\sAS\s+{name}\s*$)",
    ),
    "GraphQL": (
        # `type Gate @key {`
        r"\s*(?:extend\s+)?(?P<kind>type|input|enum|interface|union|scalar|fragment|query|mutation)\s+{name}\b",
        # `directive @gate on FIELD`
        r"\s*(?P<kind>directive)\s+@{name}\b",
    ),
    "Nix": (
        # `gate = { level }: level`
        r"\s*(?:[\w-]+\.)*(?P<kind>{name})\s*=\s*(?:\w+|(?:\w+\s*@\s*)?\{{[^{{}}]*\}}(?:\s*@\s*\w+)?)\s*:",
        # `gate = lib.mkOption {`
        r"\s*(?:[\w-]+\.)*{name}\s*(?P<kind>=)\s*(?:\w+\.)*mk[A-Z]\w*\b",
    ),
    "Just": (
        # `gate level="1": open`
        r"@?(?P<kind>){name}(?:\s+[*+$]?[\w-]+(?:=[^:]*)?)*\s*:(?!=)",
        # `gate := "1"`
        r"(?:export\s+)?{name}\s*:(?P<kind>=)",
    ),
    "Verilog": (
        # `module gate #(`
        r"\s*(?P<kind>module|interface|package|class|program)\s+(?:automatic\s+|static\s+)?{name}\b",
    ),
    "Thrift": (
        # `struct Gate {`
        r"\s*(?P<kind>struct|service|enum|exception|union|const\s+\w+|typedef\s+\w+)\s+{name}\b",
    ),
    "Prisma": (
        # `model Gate {`
        r"\s*(?P<kind>model|enum|type|view|generator|datasource)\s+{name}\b",
    ),
    "CMake": (
        # `function(gate level)`
        r"\s*(?i:(?P<kind>function|macro))\s*\(\s*{name}\b",
        # `add_library(gate STATIC`
        r"\s*(?i:add_(?P<kind>library|executable|custom_target))\s*\(\s*{name}(?![\w-])",
    ),
}
"""The forms by language. More of them are in `facts.unparsed_definitions`, which reads all."""

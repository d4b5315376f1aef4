"""The forms of lines that define a name, in languages whose words for what they define are their own.

A form is a template of `str.format`, which reads a doubled brace as one: ``{name}`` is replaced by the name, and the
group `kind` is the keyword of the language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# A modifier before the name of a class begins a constructor.
NO_TYPE = (
    r"(?:return|await|new|factory|throw|else|yield|assert|case|in|is|as|if|while|for|switch|catch"
    r"|public|private|protected|internal|static|const|abstract|external)"
)
_D_WORDS = (
    r"(?:(?:@\w+(?:\([^()]*\))?|public|private|protected|package|export|static|final|abstract|override|pure|nothrow|shared"
    r"|extern\([^()]*\)|inout|ref|synchronized|deprecated(?:\([^()]*\))?)\s+)*"
)
_SQL_WORDS = r"(?:or\s+replace|or\s+alter|temp(?:orary)?|unlogged|materialized|unique|global|external|recursive)"
NAMED_FORMS: Mapping[str, Sequence[str]] = {
    "OCaml": (
        r"\s*(?P<kind>let|and)\s+(?:rec\s+|inline\s+)?{name}\b",
        r"\s*(?P<kind>let|and)\s+(?:rec\s+)?\(\s*{name}\s*\)",
        r"\s*(?P<kind>type|module)\s+(?:.*\s)?{name}\s*=",
        r"\s*(?P<kind>exception)\s+{name}\b",
        r"\s*(?P<kind>\|)\s*{name}\s+of\b",
        r"\s*(?P<kind>val|external)\s+{name}\s*:",
    ),
    "F#": (
        r"\s*(?P<kind>let|and)\s+(?:rec\s+|inline\s+|mutable\s+|private\s+|internal\s+)*{name}\b",
        r"\s*(?P<kind>type|module)\s+(?:private\s+|internal\s+)?(?:\w+\.)*{name}\b",
    ),
    "Objective-C": (
        r"\s*[-+]\s*\([^)]*\)\s*(?P<kind>{name})\b",
        # With a semicolon or a comma behind the name, it declares what another line defines; a category adds to it.
        r"\s*@(?P<kind>interface|implementation|protocol)\s+{name}\b(?!\s*[;,(])",
        r"\s*(?:(?:static|extern|const|FOUNDATION_EXPORT)\s+)*(?!return\b)[A-Z]\w*\s*\*?\s*(?P<kind>const)\s+{name}\s*=(?!=)",
        r"\s*(?:(?:static|extern)\s+)*(?P<kind>const)\s+\w+\s*\*?\s*{name}\s*=(?!=)",
        r"\s*#\s*(?P<kind>define)\s+{name}\b",
        r"\s*(?P<kind>typedef)\s[^;()]*\(\^\s*{name}\)",
        r"\s*typedef\s+(?P<kind>NS_ENUM|NS_OPTIONS)\(\s*\w+\s*,\s*{name}\s*\)",
    ),
    "HCL": (
        r"\s*(?P<kind>variable|output|module|provider)\s+\"{name}\"\s*\{{",
        r"\s*(?P<kind>resource|data)\s+\"[\w-]+\"\s+\"{name}\"\s*\{{",
    ),
    "D": (
        rf"\s*{_D_WORDS}(?:enum|immutable|const)\b(?:\s+[\w.\[\]!]+(?:\([^()]*\))?)?\s+{{name}}\s*(?P<kind>=)(?!=)",
        rf"\s*{_D_WORDS}(?P<kind>class|struct|interface|enum|union|template|module|alias)\s+(?:\w+\.)*{{name}}\b",
        # A function with its body, or the head of one, behind the type that it returns.
        (
            rf"\s*{_D_WORDS}(?:(?:const|immutable)\s+)?(?!{NO_TYPE}\b)[A-Za-z_][\w.]*(?:!\w+|!\([^()]*\))?"
            r"(?:\[[^\[\]]*\])*\*?\s+(?P<kind>{name})\s*\((?!.*;\s*$)"
        ),
    ),
    "Protocol Buffer": (
        r"\s*(?P<kind>message|enum|service|rpc)\s+{name}\b",
        r"\s+(?=[A-Z]){name}\s*(?P<kind>=)\s*-?\d",
    ),
    "SQL": (
        (
            rf"(?i:\s*create\s+(?:{_SQL_WORDS}\s+)*(?P<kind>table|view|function|procedure|proc|index|trigger|type|domain"
            r"|schema|sequence|aggregate)\s+(?:if\s+not\s+exists\s+)?(?:[\w\"`\[\]]+\.)*[\"`\[]?){name}(?!\w)"
        ),
        r"\s*\{{%-?\s*(?P<kind>macro)\s+{name}\s*\(",
    ),
    "CSS": (
        r"\s*(?P<kind>@mixin|@function|@keyframes)\s+{name}(?![\w-])",
        r"\s*(?=[-$@]){name}\s*(?P<kind>:)",
        # A plain word may be a variable of the code rather than a class of its pages.
        r"(?:[^{{}};:]*[\s,>+~])?\.(?P<kind>)(?=\w*[-A-Z_]){name}(?![\w-])[^{{}};]*[{{,]\s*$",
    ),
    "Makefile": (
        r"(?P<kind>){name}\s*:(?![:=])",
        r"\s*(?:(?:export|override)\s+)*{name}\s*[?:+!]{{0,3}}(?P<kind>=)",
    ),
    "Dockerfile": (r"\s*(?P<kind>ARG|ENV)\s+{name}(?:=|\s|$)",),
    "CMake": (
        r"\s*(?i:(?P<kind>function|macro))\s*\(\s*{name}\b",
        r"\s*(?i:add_(?P<kind>library|executable|custom_target))\s*\(\s*{name}(?![\w-])",
    ),
}
"""The forms by language. More of them are in `facts.unparsed_definitions`, which reads all."""

"""Read questions that a line of code answers: where something is defined, its value or default, its callers.

A `Lookup` is only a proposal. `lookups` finds the lines that prove an answer, or leaves the question to the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.builds import BuildQuestion, read_build_question, read_key_question
from sourcelight.engines.deepsearch.question.marks import GAP, OF_NUMBER, POSSESSIVE
from sourcelight.engines.deepsearch.question.wording import expand_wording, mend_spelling

KINDS = (
    r"(?:functions?|methods?|class(?:es)?|structs?|interfaces?|enums?|traits?|types?|constants?|variables?|macros?"
    r"|modules?|fields?|propert(?:y|ies)|attributes?|decorators?|exceptions?|errors?|constructors?)"
)
_DET = r"(?:(?:the|a|an|any|its|this)\s+)?"
_CODE = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$~][\w$]*)*(?:\(\))?"
_PACKAGE = r"@?[A-Za-z][\w.+-]*(?:/[\w.@+-]+)*"
_TICKED = r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|(?<!\w)'[^'\n]+'(?!\w)"
_NAME = rf"(?:{_TICKED}|{_CODE})"
_SETTING = rf"(?:{_TICKED}|--?[A-Za-z][\w-]*|:?[A-Za-z_$][\w$.-]*(?:\(\))?)"
_OWNER = rf"(?:{_CODE}|{_SETTING})"
_OF_KIND = rf"(?:{KINDS}\s+)?(?:called\s+|named\s+)?"
_AFTER_KIND = rf"(?:\s+{KINDS})?"
_DEFINED = r"(?:defined|declared|implemented|located|written down)"
_WHAT = r"(?:what(?:'s|\u2019s|\s+is|\s+are|\s+was)?|which\s+is)"
_PARAMETER = (
    r"(?:\s+(?:parameters?|arguments?|options?|flags?|settings?|keywords?|config(?:uration)?|field|attribute"
    r"|directive))?"
)
_OWNER_KIND = r"(?:\s+(?:function|method|class|constructor|struct|command|call|type|macro|module))?"
_RUNTIMES = {
    "python": "python", "go": "go", "golang": "go", "rust": "rust", "node": "node", "node.js": "node", "nodejs": "node",
    "ruby": "ruby", "java": "java", "php": "php", "jdk": "java", "swift": "swift", "elixir": "elixir", "dart": "dart",
    "zig": "zig", "dotnet": "dotnet", ".net": "dotnet", "ghc": "ghc", "lua": "lua", "msrv": "rust", "r": "r",
    "perl": "perl", "cmake": "cmake", "terraform": "terraform", "flutter": "flutter", "ocaml": "ocaml",
    "julia": "julia", "crystal": "crystal", "nim": "nim", "erlang": "erlang", "otp": "erlang", "scala": "scala",
    "kotlin": "kotlin", "c++": "c++",
}  # fmt: skip
_RUNTIME = (
    r"(?:(?:python|golang|go|rust|node\.?js|node|ruby|java|jdk|php|swift|elixir|dart|zig|dotnet|\.net|ghc|lua|perl|r|cmake|terraform|flutter"
    r"|ocaml|julia|crystal|nim|erlang|otp|scala|kotlin|c\+\+)"
    r"(?=s?(?:\s|$)))"
)
_RUNTIME_NOUN = r"(?:\s+(?:sdk|tools?|toolchain|language|framework|runtime|core|standard))?"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question that lines of code answer.

    Attributes
    ----------
    kind
        ``definition``, ``existence``, ``value``, ``default``, ``configured``, ``callers``, ``callees``, ``bases``,
        ``members``, ``difference``, ``tests``, ``example``, ``parameters``, ``purpose``, ``key``, ``environment``,
        ``variable``, ``throws``, ``dependency``, ``dependencies``, ``field``, ``runtime``, ``imports``,
        ``defining_line`` or ``line``.
    name
        The subject as written, without quotation marks: a definition, a setting, a package or a language. Of a
        ``variable``, its purpose.
    owner
        Of a default, the function, class or program that has it; of a difference, the other name; of a dependency, the
        package in a repository with several. Empty without one.
    symbol_kind
        The noun next to the name, such as ``class``; empty without one.
    path, line
        Of a line, its file and number; of imports, the file.
    is_when
        Whether the question asks for a date rather than a person.
    bound
        Of a default in prose, ``max`` or ``min`` if the question asks for the largest or smallest value.
    group, asks
        Of a package or a field, as of `BuildQuestion`; the kind of a ``field`` is its `symbol_kind`.
    """

    kind: str
    name: str = ""
    owner: str = ""
    symbol_kind: str = ""
    path: str = ""
    line: int = 0
    is_when: bool = False
    bound: str = ""
    group: str = ""
    asks: str = ""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"^{text}$", re.IGNORECASE)


# "Who last changed line 12 of setup.py?", "When was setup.py:12 written?". Seven digits are enough for any line.
_LINE = (
    _pattern(
        r"(?P<asks>who|when|which commit|what commit)\s+(?:was\s+|were\s+|did\s+)?(?:(?:has|have|last|originally|first|"
        r"most recently|lastly)\s+)*(?:wrote|written|changed?|modified|touched|edited|authored|added|introduced)?\s*"
        r"(?:the\s+)?lines?\s+(?P<line>\d{1,7})\s+(?:of|in|from)\s+(?:the\s+)?(?:file\s+)?(?P<path>`[^`]+`|[^\s`]+?)"
        r"(?:\s+(?:last\s+)?(?:written|changed|modified|touched|edited|added))?"
    ),
    _pattern(
        r"(?P<asks>who|when|which commit|what commit)\s+(?:(?:has|have|last|originally)\s+)*(?:wrote|changed|modified|"
        r"touched|edited|authored)\s+(?P<path>`[^`]+`|[^\s`]+?)(?::|,?\s+(?:at\s+)?line\s+)(?P<line>\d{1,7})"
    ),
)
# "Who last changed the line that defines MAX_SIZE, and when?"
_DEFINING_LINE = (
    _pattern(
        rf"(?P<asks>who|when|which commit|what commit)\s+(?:(?:has|was|is|did|last|lastly)\s+|most\s+recently\s+)*"
        rf"(?:changed?|modified|touched|edited)\s+the\s+line\s+(?:that|which)\s+(?:defines|declares)\s+{_DET}"
        rf"(?:{KINDS}\s+)?(?P<name>{_NAME})(?:\s*,?\s+and\s+(?:when|by\s+whom|who))?"
    ),
)
_FILE = r"(?P<path>`[^`\n]+`|(?:[\w@.+-]+/)*[\w@+-]+\.[A-Za-z]\w{0,9})"
_MODULE_NOUN = (
    r"(?:(?:other|external|third[\s-]party|internal)\s+)?(?:packages?|modules?|headers?(?:\s+files?)?|librar(?:y|ies)|files?|namespaces?|crates?|gems?"
    r"|dependencies|things|imports?|includes?)"
)
_IMPORTING = r"(?:directly\s+)?(?:import|include|require|use|load|depend\s+(?:up)?on|pull\s+in)"
# "Which packages does src/app.py import?", "What are the imports of app.py?".
_FILE_IMPORTS = (
    _pattern(rf"(?:what|which)(?:\s+{_MODULE_NOUN})?\s+(?:does|do)\s+(?:the\s+)?(?:file\s+)?{_FILE}\s+{_IMPORTING}"),
    _pattern(
        rf"(?:what|which)\s+{_MODULE_NOUN}\s+(?:are|is)\s+(?:imported|included|required|used|loaded)\s+(?:by|in|from)\s+(?:the\s+)?(?:file\s+)?{_FILE}"
    ),
    _pattern(
        rf"(?:{_WHAT}\s+|which\s+are\s+|list\s+|show\s+(?:me\s+)?)(?:all\s+)?(?:the\s+)?(?:imports|includes)\s+(?:of|in|for)\s+(?:the\s+)?(?:file\s+)?{_FILE}"
    ),
)
# "Which Python version does it need?", "What is the minimum version of Node?", "Go version".
_RUNTIME_FORMS = (
    _pattern(
        rf"(?:which|what)\s+(?:(?:is\s+the\s+)?(?:minimum|minimal|lowest|oldest)\s+)?(?:version\s+of\s+)?"
        rf"(?P<name>{_RUNTIME})s?{_RUNTIME_NOUN}(?:\s+versions?)?(?:\s+(?:does|do|is|are))?"
        rf"(?:\s+(?:it|this|one|we|you|i|the\s+build))?\s+"
        rf"(?:needed|required?|supported?|need|target(?:ed)?|have\s+to\s+have)"
        rf"(?:\s+(?:by|for|in|to\s+(?:run|use|install|build)))?(?:\s+it)?"
    ),
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?(?:(?:minimum|min|minimal|lowest|oldest|required)\s+)?(?:(?:supported|required)\s+)?"
        rf"(?:version\s+of\s+)?(?P<name>{_RUNTIME}){_RUNTIME_NOUN}(?:\s+version)?"
        rf"(?:\s+(?:of|for|in|required|needed|supported)(?:\s+by)?)?"
    ),
    _pattern(
        rf"(?:the\s+)?(?:minimum|min|minimal|lowest|oldest|required|supported)\s+(?:(?:supported|required)\s+)?"
        rf"(?:version\s+of\s+)?(?P<name>{_RUNTIME}){_RUNTIME_NOUN}(?:\s+versions?)?(?:\s+(?:of|for|in|required|needed|supported))?"
    ),
    _pattern(rf"(?:{_WHAT}\s+(?:the\s+)?)?(?P<name>{_RUNTIME}){_RUNTIME_NOUN}\s+(?:versions?|constraints?|requirement)(?:\s+(?:of|for))?"),
    _pattern(rf"(?:{_WHAT}\s+(?:the\s+)?)?(?P<name>msrv)(?:\s+(?:of|for|in))?"),
    _pattern(rf"(?:{_WHAT}\s+(?:the\s+)?)?minimum\s+supported\s+(?P<name>rust)\s+version"),
    _pattern(rf"(?P<name>{_RUNTIME})\s+version(?:s)?(?:\s+(?:is|are))?\s+(?:needed|required|supported)(?:\s+(?:by|for|in))?"),
)  # fmt: skip
# "Is there a class called Session?", "Does it have a parse_url function?".
_EXISTENCE = (
    _pattern(rf"(?:is|are)\s+there\s+{_DET}(?P<kind>{KINDS})\s+(?:called\s+|named\s+)(?P<name>{_NAME})"),
    _pattern(rf"(?:is|are)\s+there\s+{_DET}(?P<name>{_NAME})\s+(?P<kind>{KINDS})"),
    _pattern(
        rf"(?:does|do)\s+(?:it\s+)?(?:have|contain|define|declare|provide|export)\s+{_DET}(?P<kind>{KINDS})\s+"
        rf"(?:called\s+|named\s+)?(?P<name>{_NAME})"
    ),
    _pattern(
        rf"(?:does|do)\s+(?:it\s+)?(?:have|contain|define|declare|provide|export)\s+{_DET}(?P<name>{_NAME})\s+(?P<kind>{KINDS})"
    ),
)
# "Where is the class Session defined?", "Which file implements parse_url?".
_DEFINITION = (
    _pattern(
        rf"where\s+(?:is|are|was|were)\s+{_DET}(?:(?P<kind>{KINDS})\s+)?(?:called\s+|named\s+)?(?P<name>{_NAME})"
        rf"(?:\s+(?P<after>{KINDS}))?\s+{_DEFINED}"
    ),
    _pattern(
        rf"where\s+(?:does|do)\s+(?:it\s+)?(?:define|declare|implement)\s+{_DET}(?:(?P<kind>{KINDS})\s+)?"
        rf"(?P<name>{_NAME})(?:\s+(?P<after>{KINDS}))?"
    ),
    _pattern(
        rf"(?:which|what)\s+(?:source\s+)?(?:file|module)\s+(?:defines|declares|implements|has\s+the\s+definition\s+of)\s+"
        rf"{_DET}(?:(?P<kind>{KINDS})\s+)?(?P<name>{_NAME})(?:\s+(?P<after>{KINDS}))?"
    ),
    _pattern(
        rf"(?:which|what)\s+(?:source\s+)?(?:file|module)\s+(?:is|contains)\s+{_DET}(?:(?P<kind>{KINDS})\s+)?"
        rf"(?P<name>{_NAME})(?:\s+(?P<after>{KINDS}))?\s+{_DEFINED}(?:\s+in)?"
    ),
    _pattern(
        rf"(?:show\s+(?:me\s+)?|find\s+|where\s+(?:is|can\s+i\s+find)\s+)the\s+(?:definition|declaration|implementation)\s+of"
        rf"\s+{_DET}(?:(?P<kind>{KINDS})\s+)?(?P<name>{_NAME})(?:\s+(?P<after>{KINDS}))?"
    ),
)
_LOCATED = (
    _pattern(rf"where(?:'s|\u2019s|\s+is|\s+are)\s+the\s+(?P<kind>{KINDS})\s+(?:called\s+|named\s+)?(?P<name>{_NAME})"),
    _pattern(rf"where(?:'s|\u2019s|\s+is|\s+are)\s+the\s+(?P<name>{_NAME})\s+(?P<kind>{KINDS})"),
)
"""A definition without a verb: "Where is the Session class?"."""
# "What calls parse_url?", "Where is parse_url called from?".
_CALLERS = (
    _pattern(
        rf"(?:what|who|which\s+(?:functions?|methods?|code|places?))\s+(?:calls?|invokes?)\s+{_DET}{_OF_KIND}"
        rf"(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(rf"where\s+(?:is|are)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:called|invoked)(?:\s+from)?"),
    _pattern(rf"(?:what|who)\s+are\s+the\s+callers\s+of\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"),
)
# "What is the value of MAX_RETRIES?". The last form, "What is X?", is tried after all others.
_VALUE = (
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?(?:current\s+)?value\s+of\s+{_DET}(?:(?P<kind>{KINDS})\s+)?(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(rf"what\s+(?:is|are|was)\s+{_DET}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:set|equal|defined|initiali[sz]ed)\s+(?:to|as)"),
    _pattern(rf"{_WHAT}\s+(?P<name>{_NAME})"),
)  # fmt: skip
_OF = r"(?:of|for|in|to|on)"
_MARKED_SETTING = r"(?:`[^`\n]+`|--[a-z][\w-]*|(?-i:[A-Za-z]\w*_\w+|[A-Z][A-Z\d]{2,}|[a-z]+[A-Z]\w*))"
"""A setting that can't be a word of prose: with an underscore, in capitals, or with capitals inside."""
# "What is the default timeout of get?", "What does retries default to?", "What is X by default?".
_DEFAULT = (
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?default(?:\s+(?:value|setting))?\s+(?:{_OF}\s+)?{_DET}(?P<name>{_SETTING}){_PARAMETER}"
        rf"(?:\s+{_OF}\s+{_DET}(?P<owner>{_OWNER}){_OWNER_KIND})?"
    ),
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?default(?:\s+(?:value|setting))?\s+(?:{_OF}\s+)?{_DET}(?P<owner>{_NAME})"
        rf"(?:'s|\u2019s)\s+(?P<name>{_SETTING}){_PARAMETER}"
    ),
    _pattern(
        rf"what\s+(?:does|do)\s+{_DET}(?P<name>{_SETTING}){_PARAMETER}"
        rf"(?:\s+{_OF}\s+{_DET}(?P<owner>{_OWNER}){_OWNER_KIND})?\s+default\s+to"
    ),
    _pattern(
        rf"what\s+(?:does|do)\s+{_DET}(?P<name>{_SETTING}){_PARAMETER}\s+default\s+to"
        rf"\s+{_OF}\s+{_DET}(?P<owner>{_OWNER}){_OWNER_KIND}"
    ),
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?(?P<name>{_SETTING}){_PARAMETER}(?:\s+{_OF}\s+{_DET}(?P<owner>{_OWNER}){_OWNER_KIND})?"
        rf"\s+by\s+default"
    ),
    _pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{_MARKED_SETTING})(?:\s+(?:flag|option|feature|setting))?"
        rf"\s+(?:on|off|set|enabled|disabled|true|false)\s+by\s+default"
    ),
    _pattern(
        rf"(?:is|are)\s+the\s+(?P<name>{_SETTING})\s+(?:flag|option|setting)\s+(?:on|off|set|enabled|disabled)\s+by\s+default"
    ),
    _pattern(rf"(?:the\s+)?(?P<name>{_MARKED_SETTING})(?:'s)?\s+default(?:\s+value)?"),
)  # fmt: skip
_SCOPED_VALUE = (
    _pattern(
        rf"{_WHAT}\s+(?:the\s+value\s+of\s+)?(?P<name>{_MARKED_SETTING})(?:\s+set\s+to)?\s+(?:in|inside|within)\s+{_DET}"
        r"(?P<owner>`[^`\n]+`|[\w./-]+(?:\s+[\w-]+){0,2})"
    ),
    _pattern(rf"what\s+(?:does|do)\s+{_DET}{_OF_KIND}(?P<name>{_MARKED_SETTING}){_AFTER_KIND}\s+(?:contain|hold)"),
)
"""A value in a class or a file: "What is MAX_SIZE in the queue handler?"; and "What does LEVELS contain?"."""
_PROSE = (
    r"(?:(?:number|amount|count)\s+of\s+)?[A-Za-z][\w-]*(?:\s+(?!of\b|for\b|in\b|to\b|on\b|by\b)[A-Za-z][\w-]*){0,3}"
)
_PROSE_VALUE = (
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?(?P<bound>default|max(?:imum|imal)?|min(?:imum|imal)?)(?:\s+(?:value|setting))?\s+"
        rf"(?:(?:of|for)\s+)?{_DET}(?P<name>{_PROSE})(?:\s+{_OF}\s+{_DET}(?P<owner>{_SETTING}(?:\s+[a-z][\w-]*){{0,2}}?){_OWNER_KIND})?"
        rf"(?:\s+by\s+default)?"
    ),
)
"""A value that prose names: "the default read buffer size", "the maximum number of retries"."""
# "What does parse_url call?", "Which functions are called by parse_url?".
_CALLEES = (
    _pattern(rf"what\s+(?:does|do)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:call|invoke)"),
    _pattern(
        rf"(?:which|what)\s+(?:other\s+)?(?:functions?|methods?)\s+(?:does|do|are|is)\s+{_DET}{_OF_KIND}(?P<name>{_NAME})"
        rf"{_AFTER_KIND}\s+(?:call|invoke)"
    ),
    _pattern(
        rf"(?:which|what)\s+(?:other\s+)?(?:functions?|methods?)\s+(?:are|is)\s+(?:called|invoked)\s+(?:by|in|from)\s+"
        rf"{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(rf"{_WHAT}\s+the\s+callees\s+of\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"),
)
_BASE = r"(?:(?:base|parent|super)[\s-]?(?:class(?:es)?|interfaces?|types?)|superclass(?:es)?|parents?|bases?)"
_INHERIT = r"(?:inherit(?:\s+from)?|extend|subclass|derive\s+from|implement)"
# "What are the base classes of Session?", "What does Session inherit from?".
_BASES = (
    _pattern(
        rf"(?:{_WHAT}|which\s+are)\s+(?:the\s+)?(?:direct\s+)?{_BASE}\s+(?:of|for)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(
        rf"(?:what|which\s+(?:classes|class|interfaces?|traits?|protocols?|types?))\s+(?:does|do)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+{_INHERIT}"
    ),
)
# "What is the difference between get and fetch?", "How does get differ from fetch?".
_DIFFERENCE = (
    _pattern(
        rf"(?:{_WHAT}\s+)?(?:the\s+)?differences?\s+between\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:and|vs\.?)\s+"
        rf"{_DET}{_OF_KIND}(?P<owner>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(
        rf"how\s+(?:does|do|is|are)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:differ|different)\s+from\s+"
        rf"{_DET}{_OF_KIND}(?P<owner>{_NAME}){_AFTER_KIND}"
    ),
)
_MEMBER_NOUN = (
    r"(?:enum\s+)?(?:members|values|variants|cases|constants|entries|elements|enumerators|options|constructors|alternatives"
    r"|possibilities)"
)
# "What are the members of the enum Color?", "Which values does Color have?".
_MEMBERS = (
    _pattern(
        rf"(?:{_WHAT}\s+|which\s+are\s+|list\s+|show\s+(?:me\s+)?|name\s+)(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:possible\s+|different\s+)?"
        rf"{_MEMBER_NOUN}\s+(?:of|in|for)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(
        rf"(?:{_WHAT}\s+|list\s+|show\s+(?:me\s+)?)(?:all\s+)?(?:the\s+)?(?P<name>{_NAME})\s+(?:enum(?:eration)?(?:'s)?\s+){_MEMBER_NOUN}"
    ),
    _pattern(
        rf"(?:what|which)\s+(?:possible\s+)?{_MEMBER_NOUN}\s+(?:does|do|are|is|can)\s+(?:in\s+)?{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
        rf"(?:\s+(?:have|has|define|declare|contain|list|include|take|be))?"
    ),
)
_TEST_VERB = r"(?:test|cover|exercise|check|use)s?"
# "Which tests cover parse_url?", "Is parse_url tested?".
_TESTS = (
    _pattern(
        rf"(?:which|what)\s+(?:unit\s+)?(?:tests?|test\s+files?)\s+{_TEST_VERB}\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(rf"where\s+(?:is|are)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:unit[\s-])?tested"),
    _pattern(rf"(?:is|are)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:unit[\s-])?tested"),
    _pattern(
        rf"(?:(?:where|what)\s+are\s+|show\s+(?:me\s+)?|find\s+|list\s+)?(?:all\s+)?(?:the\s+)?(?:unit\s+)?tests\s+(?:of|for)\s+"
        rf"{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(
        rf"(?:are\s+there|is\s+there)\s+(?:any\s+|a\s+)?tests?\s+(?:of|for)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
)
_USING = r"(?:how\s+to\s+use|using|use|calling|creating)"
# "Show an example of Session", "How do I use Session?".
_EXAMPLE = (
    _pattern(
        rf"(?:(?:show|give)\s+(?:me\s+)?|find\s+|(?:is|are)\s+there\s+|where\s+(?:is|are)\s+|{_WHAT}\s+)?(?:an?\s+|any\s+|some\s+|the\s+)?"
        rf"(?:usage\s+)?examples?\s+(?:usage\s+)?(?:of|for)\s+(?:{_USING}\s+)?{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(
        rf"(?:how\s+(?:do|can|should|would)\s+(?:i|you|we|one)|how\s+to)\s+(?:use|call|instantiate)\s+{_DET}{_OF_KIND}(?P<name>{_NAME})"
        rf"{_AFTER_KIND}"
    ),
    _pattern(rf"how\s+(?:is|are)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+used"),
)
# "What does parse_url do?", "What is the purpose of Session?".
_PURPOSE = (
    _pattern(rf"what\s+does\s+{_DET}{_OF_KIND}(?P<name>{_NAME})(?:\s+(?P<kind>{KINDS}))?\s+do"),
    _pattern(rf"what\s+does\s+{_DET}(?P<kind>{KINDS})\s+(?P<name>{_NAME})\s+do"),
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?(?:purpose|role|job|meaning)\s+of\s+{_DET}(?:(?P<kind>{KINDS})\s+)?(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(rf"what\s+is\s+{_DET}(?:(?P<kind>{KINDS})\s+)?(?P<name>{_NAME}){_AFTER_KIND}\s+(?:used\s+)?for"),
)
# "What arguments does get take?", "What is the signature of get?".
_PARAMETERS = (
    _pattern(
        rf"(?:what|which)\s+(?:parameters|arguments|options|args|params)\s+(?:does|do|can)\s+{_DET}{_OF_KIND}(?P<name>{_NAME})"
        rf"{_AFTER_KIND}\s+(?:take|accept|have|need|expect|get|receive)"
    ),
    _pattern(
        rf"{_WHAT}\s+(?:the\s+)?(?:parameters|arguments|args|params|signature)\s+(?:of|to|for)\s+{_DET}{_OF_KIND}(?P<name>{_NAME})"
        rf"{_AFTER_KIND}"
    ),
)
_KEY_NOUN = (
    r"(?:(?:environment|env)\s+(?:variable|var)|(?:config(?:uration)?\s+)?(?:setting|option|key|flag|property)|configuration"
    r"|config(?:uration)?\s+value|command[\s-]line\s+(?:option|flag|argument))"
)
_HANDLED = r"(?:read|used|defined|set|handled|parsed|looked\s+up|registered|declared|checked|added|evaluated)"
# "Where is the setting `max_size` read?", "Which code handles the --quiet flag?".
_KEY = (
    _pattern(rf"where\s+(?:is|are)\s+(?:the\s+)?{_KEY_NOUN}\s+(?P<name>{_SETTING})\s+{_HANDLED}"),
    _pattern(rf"where\s+(?:is|are)\s+(?:the\s+)?(?P<name>{_SETTING})\s+{_KEY_NOUN}\s+{_HANDLED}"),
    _pattern(
        rf"(?:what|which\s+(?:code|functions?|files?))\s+(?:reads|uses|handles|checks|sets|defines)\s+(?:the\s+)?{_KEY_NOUN}\s+(?P<name>{_SETTING})"
    ),
    _pattern(
        rf"(?:what|which\s+(?:code|functions?|files?))\s+(?:reads|uses|handles|checks|sets|defines)\s+(?:the\s+)?(?P<name>{_SETTING})\s+{_KEY_NOUN}"
    ),
)
# "Which environment variables does it read?".
_ENVIRONMENT = (
    _pattern(
        r"(?:(?:which|what)\s+|list\s+(?:all\s+)?(?:the\s+)?)(?P<name>environment|env)\s+(?:variables|vars)(?:\s+(?:does|do|are|is|can)"
        r"(?:\s+(?:it|(?:the|this|its)(?:\s+(?:program|project|library|cli|tool|code|app|server|command|package))?))?\s+(?:read|use|used|supported?|understood|respected|honou?r(?:ed)?|checked?|consulted|set))?(?:\s+by)?"
    ),
)
# "Which environment variable sets the log level?", "How can I set the proxy from the environment?".
_VARIABLE = (
    _pattern(
        r"(?:which|what)\s+(?:environment|env)\s+(?:variable|var)\s+(?:can\s+|is\s+used\s+to\s+)?(?:sets?|controls?|changes?"
        r"|configures?|defines?|determines?|selects?|limits?|enables?|disables?|overrides?)\s+(?P<name>[A-Za-z][\w\s-]{1,60})"
    ),
    _pattern(
        r"how\s+(?:do|can|could|should)\s+(?:i|you|we|one)\s+(?:set|control|change|configure|limit|enable|disable|override)\s+"
        r"(?P<name>[A-Za-z][\w\s-]{1,60}?)\s+(?:from|with|by|through|via|using|in)\s+(?:an?\s+|the\s+)?(?:environment|env)"
        r"(?:\s+(?:variable|var))?"
    ),
)
# "Where is TimeoutError raised?", "What throws ParseError?".
_THROWS = (
    _pattern(
        rf"where\s+(?:is|are|does)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:thrown|raised)(?:\s+from)?"
    ),
    _pattern(
        rf"(?:what|who|which\s+(?:functions?|methods?|code))\s+(?:throws?|raises?)\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
    ),
    _pattern(rf"when\s+is\s+{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}\s+(?:thrown|raised)"),
)
# "What is line-length set to?": the value in a configuration file, rather than in code.
_CONFIGURED = (
    _pattern(rf"what\s+(?:is|are)\s+(?:the\s+)?{_KEY_NOUN}\s+(?P<name>{_SETTING})\s+set\s+to"),
    _pattern(rf"what\s+(?:is|are)\s+(?:the\s+)?(?P<name>{_SETTING})(?:\s+{_KEY_NOUN})?\s+set\s+to"),
    _pattern(rf"{_WHAT}\s+(?:the\s+)?(?:configured\s+)?value\s+of\s+(?:the\s+)?{_KEY_NOUN}\s+(?P<name>{_SETTING})"),
)
_CONFIGURED_OF = (
    _pattern(
        rf"what\s+(?:is|are)\s+(?:the\s+)?(?P<name>{_SETTING})(?:\s+{_KEY_NOUN})?\s+(?:of|for)\s+(?P<owner>[\w-]+)\s+(?:set|configured)\s+to"
    ),
)
_PACKAGES = r"(?:(?:third[\s-]party\s+|external\s+)?(?:packages?|librar(?:y|ies)|modules?|crates?|gems?|dependencies))"
# "What does it depend on?", "List the dev dependencies".
_DEPENDENCIES = (
    _pattern(r"what\s+(?:does|do)\s+(?:it\s+)?(?P<name>depend)\s+(?:up)?on"),
    _pattern(rf"(?:which|what)\s+{_PACKAGES}\s+(?:does|do)\s+(?:it\s+)?(?P<name>depend)\s+(?:up)?on"),
    _pattern(rf"(?:which|what)\s+{_PACKAGES}\s+(?:does|do|is|are)\s+(?:it\s+)?(?P<name>require|need|use)d?(?:\s+by)?"),
    _pattern(
        r"(?:what\s+are|which\s+are|list|show)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:direct\s+|runtime\s+)?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)(?:elopment)?[\s-]+)?(?P<name>dependencies)(?:\s+(?:of|in|for))?"
    ),
    _pattern(
        rf"(?:{_WHAT}\s+(?:its\s+|the\s+)?)?(?:(?:direct|runtime|external|third[\s-]party|package)\s+)?"
        rf"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)[\s-]+)?"
        rf"(?:(?:nuget|npm|pip|pypi|gem|cargo|hex|pub|maven|gradle|composer|cabal|swift|python|go|ruby|rust|node)\s+)?"
        rf"(?P<name>dependencies|deps)(?:\s+(?:of|in|for))?"
    ),
    _pattern(
        r"(?:does|do)\s+(?:it\s+)?(?:have|need|require)\s+(?:any\s+)?(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)"
        r"[\s-]+)?(?:external\s+|third[\s-]party\s+|runtime\s+)?(?P<name>dependencies|deps)"
    ),
    _pattern(
        r"(?:how\s+many|(?:what\s+is\s+)?(?:the\s+)?number\s+of)\s+(?:direct\s+|runtime\s+|external\s+|third[\s-]party\s+)?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)[\s-]+)?(?P<name>dependencies|deps)"
        r"(?:\s+(?:(?:does|do)\s+(?P<subject>[\w.+-]+(?:\s+project)?)?(?:\s*(?:have|need|require|list))?|(?:are|is)\s+there"
        r"|(?:of|in|for)\s+(?P<of>[\w.+-]+)))?"
    ),
    _pattern(
        r"(?:which|what)\s+(?:(?:of\s+)?(?:the\s+|its\s+)?dependencies|deps|packages|crates|gems)\s+are\s+"
        r"(?P<owner>optional|dev(?:elopment)?|peer|test)(?P<name>)(?:\s+(?:only|ones|dependencies))?"
    ),
    _pattern(
        r"(?:(?:list|show)\s+(?:me\s+)?)?(?:the\s+|all\s+)?(?:packages?|librar(?:y|ies)|crates?|gems?|modules?)\s+"
        r"(?:(?:that|which)\s+)?(?:it|this)\s+(?:depends\s+on|uses|needs|requires)(?P<name>)"
    ),
)
_ENDING = re.compile(r"[\s?.!,;:·]+$")
_OPENING = re.compile(
    r"^(?:[\s,;:·]|in\s*(?=,)|(?:please|can you tell me|tell me|could you tell me|do you know)\b)+", re.IGNORECASE
)
_MIN_CHARACTERS = 3
_CODE_ALONE = frozenset({"value", "configured", "purpose"})
"""Kinds that a plain word without a mark of code doesn't ask for."""
_PRONOUNS = frozenset(["it", "this", "that", "there", "they", "them", "what", "which", "who", "one"])


def read_lookup(text: str) -> Lookup | None:
    """Read a question without its repository names; None if no line of code can answer it alone."""
    words = text.replace(GAP.strip(), " ").replace("\u2019", "'")
    words = " ".join(_ENDING.sub("", _OPENING.sub("", words)).split())
    # Nested repetitions of long texts take time, and a question of one line's answer is short.
    if len(words) > 300:
        return None
    # A preposition is left over if the repository name after it was taken out.
    words = re.sub(r"\b(of|in|for|by|from)\s+in\b", r"\1", words)
    words = re.sub(r"\s+(?:of|in|for|from|within|by)$", "", words)
    # "Response's initialize" is one name, unless a noun follows it: "Response's status parameter".
    words = POSSESSIVE.sub(r"\1.", words)
    words = re.sub(r"\s+in\s+(?=(?:defines|declares|implements|calls|invokes|requires?|needs?|uses?|by)\b)", " ", words)
    words = expand_wording(words)
    lookup = _match(words)
    # Spelling is corrected only if nothing fits, because names in code may look like mistakes.
    if lookup is None and (mended := expand_wording(mend_spelling(words))) != words:
        lookup = _match(mended)
    return lookup


def _match(words: str) -> Lookup | None:
    """Return the lookup of the first form that the question has."""
    for kind, patterns in _FORMS:
        # Lines and languages have narrower forms than packages.
        if kind == "existence" and (question := read_build_question(words)) is not None:
            return _of_build(question)
        if kind == "value" and (question := read_key_question(words)) is not None:
            return _of_build(question)
        for pattern in patterns:
            match = pattern.match(words)
            lookup = match and _make(kind, match)
            if lookup:
                return lookup
    return None


def _of_build(question: BuildQuestion) -> Lookup:
    """Return the lookup of a question about manifests; a language among the packages is a version that one requires."""
    runtime = _RUNTIMES.get(question.name.lower())
    if runtime is not None and question.asks == "version" and not question.group:
        return Lookup("runtime", runtime, question.owner)
    if question.kind == "dependency":
        return Lookup("dependency", question.name, question.owner, group=question.group, asks=question.asks)
    name = question.name if question.kind in {"script", "target", "platform", "key", "tested", "extra"} else ""
    return Lookup("field", name, question.owner, question.kind, group=question.group)


def _make(kind: str, match: re.Match[str]) -> Lookup | None:  # noqa: PLR0911 - one for each kind
    groups = match.groupdict()
    if kind == "line":
        path = groups["path"].strip("`")
        return Lookup("line", path=path, line=int(groups["line"]), is_when=groups["asks"].lower() == "when")
    if kind == "imports":
        return Lookup("imports", path=groups["path"].strip("`"))
    written_name = groups["name"]
    name = _bare(written_name)
    if kind == "dependencies":
        subject = _bare(groups.get("subject") or groups.get("of") or "")
        is_general = subject.lower() in _PRONOUNS or subject.lower().endswith(("project", "have"))
        name = "dependencies" if is_general or not subject else subject
        return Lookup("dependencies", name, _bare(groups.get("owner") or ""))
    if not name or name.lower() in _PRONOUNS:
        return None
    if kind == "runtime":
        return Lookup("runtime", _RUNTIMES[name.lower()])
    owner = _bare(groups.get("owner") or "")
    if kind == "scoped_value":
        return Lookup("value", name.removesuffix("()"), owner)
    if kind == "configured_of":
        # "The line-length of ruff" is the key `ruff.line-length`, as nested tables are joined.
        return Lookup("configured", f"{owner}.{name}")
    if kind == "default" and name.lower() in {"number", "amount", "count"} and not OF_NUMBER.search(match[0]):
        return None  # "the default number of retries": the words after it name the value
    if kind == "prose":
        bound = groups["bound"].lower()[:3]
        if " " not in name and bound == "def":  # the forms of `_DEFAULT` come first, and rejected it
            return None
        return Lookup("default", f"{name} " if " " not in name else name, owner, bound="" if bound == "def" else bound)
    noun = (groups.get("kind") or groups.get("after") or "").lower()
    is_plain_word = written_name == name and re.fullmatch(r"[A-Za-z][a-z]*", name) is not None
    # "What is authentication?" is prose; so is "who calls back?".
    is_prose = is_plain_word and not groups.get("kind") and "value" not in match[0].lower()
    if is_prose and (kind in _CODE_ALONE or (kind == "callers" and len(name) < _MIN_CHARACTERS)):
        return None
    return Lookup(kind, name.removesuffix("()"), owner.removesuffix("()"), noun)


def _bare(text: str) -> str:
    return text.strip().strip("`\"'“”").strip()


_FORMS: Sequence[tuple[str, Sequence[re.Pattern[str]]]] = (
    ("line", _LINE),
    ("defining_line", _DEFINING_LINE),
    ("imports", _FILE_IMPORTS),
    ("runtime", _RUNTIME_FORMS),
    ("existence", _EXISTENCE),
    ("definition", _DEFINITION),
    ("definition", _LOCATED),
    ("environment", _ENVIRONMENT),
    ("variable", _VARIABLE),
    ("throws", _THROWS),
    ("dependencies", _DEPENDENCIES),
    ("difference", _DIFFERENCE),
    ("tests", _TESTS),
    ("example", _EXAMPLE),
    ("bases", _BASES),
    ("members", _MEMBERS),
    ("callees", _CALLEES),
    ("parameters", _PARAMETERS),
    ("purpose", _PURPOSE),
    ("key", _KEY),
    ("callers", _CALLERS),
    ("default", _DEFAULT),
    ("prose", _PROSE_VALUE),
    ("scoped_value", _SCOPED_VALUE),
    ("configured", _CONFIGURED),
    ("configured_of", _CONFIGURED_OF),
    ("value", _VALUE),
)
"""All forms in the order of trial, special ones first: a default is a value, too."""

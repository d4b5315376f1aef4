"""The forms of questions that a line of code answers: patterns of whole questions, by kind.

A form has to match the whole question: a word that it doesn't know makes it fail, so that no condition is dropped.
Questions come with single spaces and without their last mark, so that a space in a form is a space in the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.question.lookups.build_commands import MODULE_NOUN, RUNTIME, RUNTIME_NOUN
from sourcelight.engines.deepsearch.question.lookups.packages import DEPENDENCY_FORMS

KINDS = (
    r"(?:functions?|subs?|subroutines?|methods?|class(?:es)?|structs?|interfaces?|enums?|traits?|types?|constants?|variables?|macros?"
    r"|modules?|fields?|propert(?:y|ies)|attributes?|decorators?|exceptions?|errors?|constructors?|operators?"
    r"|modifiers?|contracts?)"
)
_DET = r"(?:(?:the|a|an|any|its|this) )?"
"""A determiner, if there is one."""
_CODE = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$~][\w$]*)*(?:\(\))?"
_TICKED = r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|(?<!\w)'[^'\n]+'(?!\w)"
_NAME = rf"(?:{_TICKED}|{_CODE})"
_SETTING = rf"(?:{_TICKED}|--?[A-Za-z][\w-]*|:?[A-Za-z_$][\w$.#-]*(?:\(\))?)"
_PATH = r"(?:[\w.@+-]{1,60}/){1,12}[\w.@+-]{1,80}"
_OWNER = rf"(?:{_PATH}|{_CODE}|{_SETTING})"
_OF_KIND = rf"(?:{KINDS} )?(?:called |named )?"
_AFTER_KIND = rf"(?: {KINDS})?"
_DEFINED = r"(?:defined|declared|implemented|located|written down)"
_WHAT = r"(?:what(?:'s|\u2019s| is| are| was)?|which is)"
_PARAMETER = (
    r"(?: (?:parameters?|arguments?|options?|flags?|settings?|keywords?|config(?:uration)?|field|attribute"
    r"|directive))?"
)
_OWNER_KIND = r"(?: (?:function|method|class|constructor|struct|command|call|type|macro|module|script))?"
_THE = "(?:the )?"
_SUBJECT = rf"{_DET}{_OF_KIND}(?P<name>{_NAME}){_AFTER_KIND}"
"""A name with or without a noun: "parse_url", "the function parse_url", "a class called Session"."""
_OTHER_SUBJECT = _SUBJECT.replace("<name>", "<owner>")
_NOUN_OR_NAME = rf"{_DET}(?:(?P<kind>{KINDS}) )?(?P<name>{_NAME}){_AFTER_KIND}"
"""As `_SUBJECT`, if the noun before the name matters."""
_NOUN_AND_NAME = rf"{_DET}(?:(?P<kind>{KINDS}) )?(?P<name>{_NAME})(?: (?P<after>{KINDS}))?"
"""As `_SUBJECT`, if the noun matters wherever it stands."""


def _patterns(*texts: str) -> tuple[re.Pattern[str], ...]:
    """Compile the forms of one kind of question."""
    return tuple(re.compile(rf"^{text}$", re.IGNORECASE) for text in texts)


# "Who last changed line 12 of setup.py?", "When was setup.py:12 written?". Seven digits are enough for any line.
_LINE = _patterns(
    (
        "(?P<asks>who|when|which commit|what commit) (?:was |were |did )?"
        "(?:(?:has|have|last|originally|first|most recently|lastly) )*"
        rf"(?:wrote|written|changed?|modified|touched|edited|authored|added|introduced)? ?{_THE}lines? "
        rf"(?P<line>\d{{1,7}}) (?:of|in|from) {_THE}(?:file )?(?P<path>`[^`]+`|[^ `]+?)"
        "(?: (?:last )?(?:written|changed|modified|touched|edited|added))?"
    ),
    (
        "(?P<asks>who|when|which commit|what commit) (?:(?:has|have|last|originally) )*"
        "(?:wrote|changed|modified|touched|edited|authored) (?P<path>`[^`]+`|[^ `]+?)(?::|,? (?:at )?line )"
        r"(?P<line>\d{1,7})"
    ),
)
# "Who last changed the line that defines MAX_SIZE, and when?"
_DEFINING_LINE = _patterns(
    (
        "(?P<asks>who|when|which commit|what commit) (?:(?:has|was|is|did|last|lastly) |most recently )*"
        rf"(?:changed?|modified|touched|edited|wrote) the line (?:that|which) (?:defines|declares) {_DET}(?:{KINDS} )?"
        rf"(?P<name>{_NAME})(?: ?,? and (?:when|by whom|who))?"
    ),
    (
        "(?P<asks>who|when|which commit|what commit) (?:(?:has|was|is|did|last|lastly) |most recently )*"
        "(?:changed?|modified|touched|edited|wrote) the (?:signature|declaration|definition)(?: line)? of "
        rf"{_DET}(?:{KINDS} )?(?P<name>{_NAME})(?: ?,? and (?:when|by whom|who))?"
    ),
)
_FILE = r"(?P<path>`[^`\n]+`|(?:[\w@.+-]+/)*[\w@+-]+\.[A-Za-z]\w{0,9})"
_THE_FILE = rf"(?:the )?(?:file )?{_FILE}"
_IMPORTING = r"(?:directly )?(?:import|include|require|use|load|depend (?:up)?on|pull in)"
_MODULE = r"(?P<name>`[^`\n]+`|\"[^\"\n]+\"|<[\w./-]+>|@?[A-Za-z][\w.@+-]*(?:(?:/|::|\\)[\w.+-]+)*)"
_MODULE_WORD = "(?:module|package|library|crate|gem|header|namespace|file)"
# "Which packages does src/app.py import?", "What are the imports of app.py?", "Does app.py import json?".
_FILE_IMPORTS = _patterns(
    rf"(?:what|which)(?: {MODULE_NOUN})? (?:does|do) {_THE_FILE} {_IMPORTING}",
    rf"(?:what|which) {MODULE_NOUN} (?:are|is) (?:imported|included|required|used|loaded) (?:by|in|from) {_THE_FILE}",
    rf"(?:{_WHAT} |which are |list |show (?:me )?)(?:all )?{_THE}(?:imports|includes) (?:of|in|for) {_THE_FILE}",
    (
        rf"(?:does|do) {_THE_FILE} (?:already |also |still |really )?(?P<verb>{_IMPORTING}|open) (?:the )?"
        rf"{_MODULE}(?: {_MODULE_WORD})?"
    ),
    (
        rf"is (?:the )?{_MODULE}(?: {_MODULE_WORD})? (?P<verb>imported|included|required|used|loaded|opened) "
        rf"(?:by|in|from|into) {_THE_FILE}"
    ),
)
# "Which Python version does it need?", "What is the minimum version of Node?", "Go version".
_RUNTIME_FORMS = _patterns(
    (
        rf"(?:which|what) (?:(?:is the )?(?:minimum|minimal|lowest|oldest) )?(?:version of )?(?P<name>{RUNTIME})s?"
        rf"{RUNTIME_NOUN}(?: versions?)?(?: (?:does|do|is|are))?(?: (?:it|this|one|we|you|i|the build))? "
        "(?:needed|required?|supported?|need|target(?:ed)?|have to have)"
        "(?: (?:by|for|in|to (?:run|use|install|build)))?(?: it)?"
    ),
    (
        rf"{_WHAT} {_THE}(?:(?:minimum|min|minimal|lowest|oldest|required) )?(?:(?:supported|required) )?"
        rf"(?:version of )?(?P<name>{RUNTIME}){RUNTIME_NOUN}(?: version)?"
        "(?: (?:of|for|in|required|needed|supported)(?: by)?)?"
    ),
    (
        rf"{_THE}(?:minimum|min|minimal|lowest|oldest|required|supported) (?:(?:supported|required) )?(?:version of )?"
        rf"(?P<name>{RUNTIME}){RUNTIME_NOUN}(?: versions?)?(?: (?:of|for|in|required|needed|supported))?"
    ),
    rf"(?:{_WHAT} {_THE})?(?P<name>{RUNTIME}){RUNTIME_NOUN} (?:versions?|constraints?|requirement)(?: (?:of|for))?",
    rf"(?:{_WHAT} {_THE})?(?P<name>msrv)(?: (?:of|for|in))?",
    rf"(?:{_WHAT} {_THE})?minimum supported (?P<name>rust) version",
    rf"(?P<name>{RUNTIME}) version(?:s)?(?: (?:is|are))? (?:needed|required|supported)(?: (?:by|for|in))?",
)
_HYPHENATED = rf"(?:{_NAME}|[A-Za-z]\w*(?:-+\w+)+[?!]?)"
"""A name beside its kind, which tells that it is one of code."""
_DASHED = r"(?:[A-Za-z]\w*(?:-+\w+){2,}[?!]?|(?-i:[A-Z][a-z]+-[A-Z]\w+))"
"""A name with hyphens that is no word of prose: of a Lisp, or a command of PowerShell."""
_OF_CODE = (
    rf"(?:`[^`\s]+`|{_DASHED}|[A-Za-z_$][\w$.:]*\(\)"
    r"|(?-i:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z\d]+[A-Z]\w*))"
)
_OTHER_NOUN = (
    r"(?: (?:commands?|cmdlets?|hooks?|helpers?|modes?|mixins?|targets?|components?|services?|views?|models?|tasks?"
    r"|jobs?))?"
)
_HAVE = "(?:have|contain|define|declare|provide|export)"
# "Is there a class called Session?", "Does it have a parse_url function?".
_EXISTENCE = _patterns(
    rf"(?:is|are) there {_DET}(?P<kind>{KINDS}) (?:called |named )(?P<name>{_HYPHENATED})",
    rf"(?:is|are) there {_DET}(?P<kind>{KINDS}) (?P<name>{_OF_CODE})",
    rf"(?:is|are) there {_DET}(?P<name>{_HYPHENATED}) (?P<kind>{KINDS})",
    (
        rf"(?:does|do) (?:it )?{_HAVE} {_DET}(?P<kind>{KINDS}) "
        rf"(?:called |named )?(?P<name>{_HYPHENATED})"
    ),
    rf"(?:does|do) (?:it )?{_HAVE} {_DET}(?P<name>{_HYPHENATED}) (?P<kind>{KINDS})",
    rf"(?:is|are) there {_DET}(?P<name>{_OF_CODE}){_OTHER_NOUN}(?: (?:anywhere|somewhere))?",
    rf"(?:does|do) (?:it )?{_HAVE} {_DET}(?P<name>{_OF_CODE}){_OTHER_NOUN}",
)
# "Where is the class Session defined?", "Where is get defined in api.py?", "Which file implements parse_url?".
_DEFINITION = _patterns(
    (
        rf"where (?:is|are|was|were) {_DET}(?:(?P<kind>{KINDS}) )?(?:called |named )?(?P<name>{_NAME})"
        rf"(?: (?P<after>{KINDS}))? {_DEFINED}(?: (?:in|inside|within) {_DET}(?P<owner>`[^`\n]+`|[\w./:-]+)"
        "(?: (?:class|file|module|package|directory|folder))?)?"
    ),
    rf"where (?:does|do) (?:it )?(?:define|declare|implement) {_NOUN_AND_NAME}",
    rf"where (?:is|are|was|were) {_DET}(?:(?P<kind>{KINDS}) )?(?:called |named )?(?P<name>{_DASHED}) {_DEFINED}",
    (
        "(?:which|what) (?:source )?(?:file|module) (?:defines|declares|implements|has the definition of) "
        rf"{_NOUN_AND_NAME}"
    ),
    rf"(?:which|what) (?:source )?(?:file|module) (?:is|contains) {_NOUN_AND_NAME} {_DEFINED}(?: in)?",
    (
        "(?:show (?:me )?|find |where (?:is|can i find) )the (?:definition|declaration|implementation) of "
        rf"{_NOUN_AND_NAME}"
    ),
)
# "Where is the Session class?": a definition without a verb.
_LOCATED = _patterns(
    rf"where(?:'s|\u2019s| is| are) the (?P<kind>{KINDS}) (?:called |named )?(?P<name>{_NAME})",
    rf"where(?:'s|\u2019s| is| are) the (?P<name>{_NAME}) (?P<kind>{KINDS})",
)
# "What calls parse_url?", "Where is parse_url called from?".
_WITHIN = r"(?: (?:in|inside|within) (?:the )?(?P<owner>`[^`\n]+`|[\w./:-]+(?: [a-z][\w-]*){0,2}))?"
_CALLER = (
    r"(?:(?:functions?|methods?|procedures?|(?:sub)?routines?|subs|commands?|code|files?|class(?:es)?|modules?|lines?|places?|parts?|things?"
    r"|types?|structs?|objects?|components?|callers?|predicates?|macros?|packages?|namespaces?|traits?|scripts?)"
    r"(?: of (?:the )?code)?)"
)
"""Nouns for anything that calls: "which tests call it" leaves callers out."""
_CALLERS = _patterns(
    rf"(?:what|who|(?:which|what) (?:other )?{_CALLER}) (?:calls?|invokes?) {_SUBJECT}{_WITHIN}",
    rf"(?:from )?where (?:is|are|does|do) (?:it |we |they )?{_SUBJECT} (?:get )?(?:called|invoked)(?: from)?{_WITHIN}",
    rf"where (?:do|does) (?:we|it|they|the code) (?:call|invoke) {_SUBJECT}{_WITHIN}",
    rf"(?:by )?(?:what|who|which {_CALLER}) (?:is|are) {_SUBJECT} (?:called|invoked)(?: (?:by|from))?{_WITHIN}",
    rf"(?:what|who) are the callers of {_SUBJECT}",
)
_OF_STYLE = r"`?(?:--|\$)[a-z][\w-]{1,80}`?"
"""A custom property of CSS, or a variable of SCSS."""
# "What is the value of MAX_RETRIES?". The last form, "What is X?", is tried after all others.
_VALUE = _patterns(
    rf"{_WHAT} {_THE}(?:current )?value of {_NOUN_OR_NAME}",
    rf"what (?:is|are|was) {_DET}(?P<name>{_NAME}){_AFTER_KIND} (?:set|equal|defined|initiali[sz]ed) (?:to|as)",
    rf"what (?:is|are|was) {_DET}(?P<name>{_NAME}){_AFTER_KIND} initially",
    rf"{_WHAT} (?P<name>{_NAME})",
    rf"{_WHAT} {_THE}(?:value of )?(?P<name>{_OF_STYLE})(?: (?:set|equal) to)?",
)
_OF = r"(?:of|for|in|to|on)"
_OF_OWNER = rf"(?: {_OF} {_DET}(?P<owner>{_OWNER}){_OWNER_KIND})?"
_MARKED_SETTING = (
    r"(?:`[^`\n]+`|--[a-z][\w-]*|\$\w+"
    r"|(?-i:[A-Za-z]\w*_\w+|[A-Z][A-Z\d]{2,}|[a-z]+[A-Z]\w*|[A-Z][a-z\d]+[A-Z]\w*))"
)
"""A setting that can't be a word of prose: with an underscore, in capitals, or with capitals inside."""
_UNGIVEN = (
    "(?:what happens|what is used|(?:what|which) (?:value )?(?:is used|does it use)|what does it default to) "
    "(?:if|when) "
)
_GIVE = "(?:pass|set|give|specify|provide|define)(?:es|s)?"
_NOT_GIVE = (
    rf"(?:(?:i|you|we|they|one) (?:(?:do|does) not|don'?t|doesn'?t) {_GIVE}|(?:no ?body|no one) {_GIVE}"
    "|(?:i|you|we|they) (?:omit|skip|leave out))"
)
_GIVEN = "(?:set|passed|given|specified|provided|configured|defined)"
_IS_UNSET = rf"(?:(?:(?:is|are) (?:not|never)|isn'?t|aren'?t) {_GIVEN}|(?:is|are) (?:omitted|missing|absent|unset))"
# "What is the default timeout of get?", "What does retries default to?", "What is X by default?".
_DEFAULT = _patterns(
    rf"{_WHAT} {_THE}default(?: (?:value|setting))? (?:{_OF} )?{_DET}(?P<name>{_SETTING}){_PARAMETER}{_OF_OWNER}",
    (
        rf"{_WHAT} {_THE}default(?: (?:value|setting))? (?:{_OF} )?{_DET}(?P<owner>{_NAME})(?:'s|\u2019s) "
        rf"(?P<name>{_SETTING}){_PARAMETER}"
    ),
    rf"what (?:does|do) {_DET}(?P<name>{_SETTING}){_PARAMETER}{_OF_OWNER} default to",
    (
        rf"what (?:does|do) {_DET}(?P<name>{_SETTING}){_PARAMETER} default to {_OF} {_DET}(?P<owner>{_OWNER})"
        rf"{_OWNER_KIND}"
    ),
    rf"{_WHAT} {_THE}(?P<name>{_SETTING}){_PARAMETER}{_OF_OWNER} by default",
    rf"{_WHAT} {_THE}(?P<name>{_SETTING}){_PARAMETER} by default {_OF} {_DET}(?P<owner>{_OWNER}){_OWNER_KIND}",
    (
        rf"(?:is|are) {_THE}(?P<name>{_MARKED_SETTING})(?: (?:flag|option|feature|setting))? "
        rf"(?:on|off|set|enabled|disabled|true|false) by default{_OF_OWNER}"
    ),
    rf"(?:is|are) the (?P<name>{_SETTING}) (?:flag|option|setting) (?:on|off|set|enabled|disabled) by default",
    rf"{_THE}(?P<name>{_MARKED_SETTING})(?:'s)? default(?: value)?",
    rf"{_UNGIVEN}{_NOT_GIVE} {_DET}(?P<name>{_MARKED_SETTING}){_PARAMETER}",
    (
        rf"{_UNGIVEN}{_NOT_GIVE} {_DET}(?P<name>{_SETTING}){_PARAMETER} (?:to|for) {_DET}(?P<owner>{_OWNER})"
        f"{_OWNER_KIND}"
    ),
    (
        rf"{_UNGIVEN}{_DET}(?P<name>{_MARKED_SETTING}){_PARAMETER}(?: of {_DET}(?P<owner>{_OWNER}){_OWNER_KIND})? "
        f"{_IS_UNSET}"
    ),
)
# "What is MAX_SIZE in the queue handler?": a value in a class or a file. "What does LEVELS contain?".
_OWNER_FILE = r"(?:file )?(?P<owner>`[\w./-]+\.\w{1,6}`|(?:[\w-]+/){0,8}[\w-]+\.[a-z]\w{0,5})"
_SCOPED_VALUE = _patterns(
    (
        rf"{_WHAT} (?:the value of )?(?P<name>{_MARKED_SETTING})(?: set to)? (?:in|inside|within) {_DET}"
        rf"(?P<owner>`[^`\n]+`|[\w./-]+(?: [\w-]+){{0,2}})"
    ),
    # A file says where a plain word is a name: "what is minus set to in characters.dart".
    rf"{_WHAT} (?:the value of )?{_DET}(?P<name>{_CODE})(?: set to)? (?:in|inside|within) {_DET}{_OWNER_FILE}",
    # A class or a file, rather than what a value is of.
    rf"{_WHAT} (?:the value of )?(?P<name>{_MARKED_SETTING}) (?:of|for) {_DET}(?P<owner>(?-i:[A-Z])\w*[a-z]\w*)",
    rf"what (?:does|do) {_DET}{_OF_KIND}(?P<name>{_MARKED_SETTING}){_AFTER_KIND} (?:contain|hold)",
)
_PROSE = r"(?:(?:number|amount|count) of )?[A-Za-z][\w-]*(?: (?!of\b|for\b|in\b|to\b|on\b|by\b)[A-Za-z][\w-]*){0,3}"
# "What is the default read buffer size?", "What is the maximum number of retries?": a value that prose names.
_PROSE_VALUE = _patterns(
    (
        rf"{_WHAT} {_THE}(?P<bound>default|max(?:imum|imal)?|min(?:imum|imal)?)(?: (?:value|setting))? (?:(?:of|for) )?"
        rf"{_DET}(?P<name>{_PROSE})(?: {_OF} {_DET}(?P<owner>{_SETTING}(?: [a-z][\w-]*){{0,2}}?){_OWNER_KIND})?"
        "(?: by default)?"
    ),
)
# "What does parse_url call?", "Which functions are called by parse_url?".
_CALLEES = _patterns(
    rf"what (?:does|do) {_SUBJECT} (?:call|invoke)",
    rf"(?:which|what) (?:other )?(?:functions?|methods?) (?:does|do|are|is) {_SUBJECT} (?:call|invoke)",
    rf"(?:which|what) (?:other )?(?:functions?|methods?) (?:are|is) (?:called|invoked) (?:by|in|from) {_SUBJECT}",
    rf"{_WHAT} the callees of {_SUBJECT}",
)
_BASE = r"(?:(?:base|parent|super)[\s-]?(?:class(?:es)?|interfaces?|types?)|superclass(?:es)?|parents?|bases?)"
_INHERIT = r"(?:inherit(?: from)?|extend|subclass|derive from|implement)"
# "What are the base classes of Session?", "What does Session inherit from?".
_BASES = _patterns(
    rf"(?:{_WHAT}|which are) {_THE}(?:direct )?{_BASE} (?:of|for) {_SUBJECT}",
    rf"(?:what|which (?:classes|class|interfaces?|traits?|protocols?|types?)) (?:does|do) {_SUBJECT} {_INHERIT}",
)
# "What is the difference between get and fetch?", "How does get differ from fetch?".
_DIFFERENCE = _patterns(
    rf"(?:{_WHAT} )?{_THE}differences? between {_SUBJECT} (?:and|vs\.?) {_OTHER_SUBJECT}",
    rf"how (?:does|do|is|are) {_SUBJECT} (?:differ|different) from {_OTHER_SUBJECT}",
)
_MEMBER_NOUN = (
    r"(?:enum )?(?:members|values|variants|cases|constants|entries|elements|enumerators|options|constructors"
    r"|alternatives|possibilities)"
)
# "What are the members of the enum Color?", "Which values does Color have?".
_MEMBERS = _patterns(
    (
        rf"(?:{_WHAT} |which are |list |show (?:me )?|name )(?:all )?(?:of )?{_THE}(?:possible |different )?"
        rf"{_MEMBER_NOUN} (?:of|in|for) {_SUBJECT}"
    ),
    rf"(?:{_WHAT} |list |show (?:me )?)(?:all )?{_THE}(?P<name>{_NAME}) (?:enum(?:eration)?(?:'s)? ){_MEMBER_NOUN}",
    (
        rf"(?:what|which) (?:possible )?{_MEMBER_NOUN} (?:does|do|are|is|can) (?:in )?{_SUBJECT}"
        "(?: (?:have|has|define|declare|contain|list|include|take|be))?"
    ),
    # The sentence that lists them gives their number, too.
    (
        rf"how many (?:possible |different )?{_MEMBER_NOUN} (?:does|do|are|is) (?:there )?(?:(?:in|of) )?{_SUBJECT}"
        "(?: (?:have|has|define|declare|contain|list|include|take))?"
    ),
)
_TEST_VERB = r"(?:test|cover|exercise|check|use|call|invoke)s?"
# "Which tests cover parse_url?", "Is parse_url tested?".
_TESTS = _patterns(
    rf"(?:which|what) (?:unit )?(?:tests?|test files?) {_TEST_VERB} {_SUBJECT}",
    rf"where (?:is|are) {_SUBJECT} (?:unit[\s-])?tested",
    rf"(?:is|are) {_SUBJECT} (?:unit[\s-])?tested",
    rf"(?:(?:where|what) are |show (?:me )?|find |list )?(?:all )?{_THE}(?:unit )?tests (?:of|for) {_SUBJECT}",
    rf"(?:are there|is there) (?:any |a )?tests? (?:of|for) {_SUBJECT}",
)
_USING = r"(?:how to use|using|use|calling|creating)"
# "Show an example of Session", "How do I use Session?".
_EXAMPLE = _patterns(
    (
        rf"(?:(?:show|give) (?:me )?|find |(?:is|are) there |where (?:is|are) |{_WHAT} )?(?:an? |any |some |the )?"
        rf"(?:usage )?examples? (?:usage )?(?:of|for) (?:{_USING} )?{_SUBJECT}"
    ),
    rf"(?:how (?:do|can|should|would) (?:i|you|we|one)|how to) (?:use|call|instantiate) {_SUBJECT}",
    rf"how (?:is|are) {_SUBJECT} used",
)
# "What does parse_url do?", "What is the purpose of Session?".
_PURPOSE = _patterns(
    rf"what does {_DET}{_OF_KIND}(?P<name>{_NAME})(?: (?P<kind>{KINDS}))? do",
    rf"what does {_DET}(?P<kind>{KINDS}) (?P<name>{_NAME}) do",
    rf"{_WHAT} {_THE}(?:purpose|role|job|meaning) of {_NOUN_OR_NAME}",
    rf"what is {_NOUN_OR_NAME} (?:used )?for",
)
# "What arguments does get take?", "What is the signature of get?".
_PARAMETERS = _patterns(
    (
        rf"(?:what|which) (?:parameters|arguments|options|args|params) (?:does|do|can) {_SUBJECT} "
        "(?:take|accept|have|need|expect|get|receive)"
    ),
    rf"{_WHAT} {_THE}(?:parameters|arguments|args|params|signature) (?:of|to|for) {_SUBJECT}",
    (
        rf"{_WHAT} {_THE}(?:default (?:values?|arguments?)|defaults) (?:of|for) "
        rf"{_THE}(?:parameters|arguments|args|params) (?:of|to|for) {_SUBJECT}"
    ),
)
_KEY_NOUN = (
    r"(?:(?:environment|env) (?:variable|var)|(?:config(?:uration)? )?(?:setting|option|key|flag|property)"
    r"|configuration|config(?:uration)? value|command[\s-]line (?:option|flag|argument))"
)
_HANDLED = r"(?:read|used|defined|set|handled|parsed|looked up|registered|declared|checked|added|evaluated)"
# "Where is the setting `max_size` read?", "Which code handles the --quiet flag?".
_KEY = _patterns(
    rf"where (?:is|are) {_THE}{_KEY_NOUN} (?P<name>{_SETTING}) {_HANDLED}",
    rf"where (?:is|are) {_THE}(?P<name>{_SETTING}) {_KEY_NOUN} {_HANDLED}",
    (
        rf"(?:what|which (?:code|functions?|files?)) (?:reads|uses|handles|checks|sets|defines) {_THE}{_KEY_NOUN} "
        rf"(?P<name>{_SETTING})"
    ),
    (
        rf"(?:what|which (?:code|functions?|files?)) (?:reads|uses|handles|checks|sets|defines) {_THE}"
        rf"(?P<name>{_SETTING}) {_KEY_NOUN}"
    ),
)
# "Which environment variables does it read?".
_ENVIRONMENT = _patterns(
    (
        rf"(?:(?:which|what) |list (?:all )?{_THE})(?P<name>environment|env) (?:variables|vars)"
        "(?: (?:does|do|are|is|can)(?: (?:it|(?:the|this|its)"
        "(?: (?:program|project|library|cli|tool|code|app|server|command|package))?))? "
        "(?:read|use|used|supported?|understood|respected|honou?r(?:ed)?|checked?|consulted|set))?(?: by)?"
    ),
)
# "Which environment variable sets the log level?", "How can I set the proxy from the environment?".
_VARIABLE = _patterns(
    (
        "(?:which|what) (?:environment|env) (?:variable|var) (?:can |is used to )?"
        "(?:sets?|controls?|changes?|configures?|defines?|determines?|selects?|limits?|enables?|disables?|overrides?) "
        r"(?P<name>[A-Za-z][\w\s-]{1,60})"
    ),
    (
        "how (?:do|can|could|should) (?:i|you|we|one) (?:set|control|change|configure|limit|enable|disable|override) "
        r"(?P<name>[A-Za-z][\w\s-]{1,60}?) (?:from|with|by|through|via|using|in) (?:an? |the )?(?:environment|env)"
        "(?: (?:variable|var))?"
    ),
)
# "Where is TimeoutError raised?", "What throws ParseError?".
_THROWS = _patterns(
    rf"where (?:is|are|does) {_SUBJECT} (?:thrown|raised)(?: from)?",
    rf"(?:what|who|which (?:functions?|methods?|code)) (?:throws?|raises?) {_SUBJECT}",
    rf"when is {_SUBJECT} (?:thrown|raised)",
)
# "What is line-length set to?": the value in a configuration file, rather than in code.
_CONFIGURED = _patterns(
    rf"what (?:is|are) {_THE}{_KEY_NOUN} (?P<name>{_SETTING}) set to",
    rf"what (?:is|are) {_THE}(?P<name>{_SETTING})(?: {_KEY_NOUN})? set to",
    rf"{_WHAT} {_THE}(?:configured )?value of {_THE}{_KEY_NOUN} (?P<name>{_SETTING})",
)
_CONFIGURED_OF = _patterns(
    rf"what (?:is|are) {_THE}(?P<name>{_SETTING})(?: {_KEY_NOUN})? (?:of|for) (?P<owner>[\w-]+) (?:set|configured) to",
)
FORMS: Sequence[tuple[str, Sequence[re.Pattern[str]]]] = (
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
    ("dependencies", DEPENDENCY_FORMS),
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

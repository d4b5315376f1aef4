"""Patterns of questions for a number or a list, over a text with marks."""

from __future__ import annotations

import re

from sourcelight.engines.deepsearch.question.phrases import DET, MARKED_OR_PATHS, TERMS
from sourcelight.engines.deepsearch.question.vocabulary import NOUN

POLITE = re.compile(
    r"^\W*(?:(?:please|so|and|ok(?:ay)?|hi|hey|hello|can you|could you|would you|tell me|i(?:'d| would) like to know"
    r"|i want to know|do you know|what about)\b[,\s]*)+",
    re.IGNORECASE,
)
MANY = re.compile(
    r"\bhow many\b|\bhow much\b"
    # "The max count" and "the refcount" are names; "count the files" tells someone to.
    r"|(?:^\W*|\b(?:please|to|and|then|just|the|a)\s+)(?<!\bof the )(?<!\bdefault )"
    r"\b(?:count|tally)(?: up)?\b(?: how many| (?:the )?(?:total )?number of)?|\bhow (?:often|frequently)\b"
    r"|\bhow (?:big|large|long)(?=\s+(?:is|are|was)\s+(?:the\s+)?(?:⟨P\d+⟩|⟨G\d+⟩|files?\b|code\b|codebase\b"
    r"|repository\b|project\b|\W*$))"
    # The default or greatest number of something is a value that a line sets.
    # "What sets the number of jobs" asks for a setting.
    r"|\b(?<!sets the )(?<!set the )(?<!controls the )(?<!limits the )(?<!changes the )(?<!configures the )"
    r"(?<!determines the )(?<!default )(?<!maximum )(?<!minimum )(?<!max )(?<!min )(?<!initial )(?:total )?"
    r"(?:number|count|amount|quantity) of\b",
    re.IGNORECASE,
)
NUMBER_IN_PASSING = re.compile(
    r"^\W*(?:how\s+(?:can|could|do|does|did|should|would|is|are|to)|why|where)\b"
    r"(?:(?!\bhow\b).)*?\b(?:number|count|amount|quantity)\s+of\b",
    re.IGNORECASE | re.DOTALL,
)
"""A question for a way, a reason or a place, such as "how can I limit the number of clients"; it asks for no number."""
TOTAL = re.compile(rf"^\W*(?:the\s+)?(?:total|sum of)\s+(?:the\s+)?(?={NOUN.pattern})", re.IGNORECASE)
LIST = re.compile(
    r"\b(?:list|show|find|enumerate|give|name|print)\s+(?:me\s+)?(?:all|every|each)\b(?:\s+of)?|^\W*(?:list"
    r"|enumerate)\b"
    r"|^\W*(?:all|every)\s+(?:the\s+)?(?=[\w⟨])|^\W*(?:(?:in|on|of|from|by)\s+)?(?:which|what)\b(?:\s+(?:are"
    r"|is)\b(?:\s+all)?)?(?:\s+the)?",
    re.IGNORECASE,
)
TODO = re.compile(
    r"(?<![\w⟨])(?P<word>(?:TODO|FIXME|XXX|HACK)(?:s?\s*(?:,|and|or)\s*(?:TODO|FIXME|XXX"
    r"|HACK))*)(?P<many>s?)\b(?P<noun>\s+(?:comments?|notes?|markers?|items?|entries))?",
    re.IGNORECASE,
)
CODE_LINES = re.compile(
    r"\b(?:lines? of (?:source |program )?(?:code|text)\b|lines? of(?=\s+⟨G)|(?:s?loc|code lines|source lines)\b)",
    re.IGNORECASE,
)
TESTS_BY_FORM = re.compile(
    r"\b(?:deftests?|ert(?:[ -](?:def)?tests?)|(?:bats|rspec|mocha|jest|minitest|busted) (?:tests?|examples?)"
    r"|(?:it|test|should)(?:\(\))? blocks?)(?=\s)"
    r"|(?<![\w`])`?@(?:testsets?|tests?)`?(?:\s+(?:functions?|methods?|annotations?|tests?))?(?=\s)"
    r"|#\[test\](?:\s+(?:functions?|tests?))?(?=\s)",
    re.IGNORECASE,
)
"""Tests by the form or the framework that their custom has anyway."""
EXPORT_VERB = re.compile(r"\bexport(?:s|ed)?\b", re.IGNORECASE)
_EXPORTED_NOUN = r"(?:functions?|names?|symbols?|things?|identifiers?|values?|procedures?|objects?)"
EXPORTED = re.compile(
    rf"\b(?:exports?(?=\s+(?:are|does|do|has|have|in|of)\b|\s*[?·])|(?:publicly )?exported {_EXPORTED_NOUN})\b"
    rf"|\b{_EXPORTED_NOUN}"
    r"(?=\s+(?:(?:does|do)(?:\s+[\w⟨⟩.:/-]+){0,5}?\s+export\b|(?:are|is)(?:\s+publicly)?\s+exported\b))",
    re.IGNORECASE,
)
"""Words for exported names, as the thing that is counted."""
FOLLOWED = re.compile(r"\s*(?:⟨|(?!(?:are|is|in|of|to|do|does|there|exist|have|has|was|were|for|by)\b)\w)")
_VERBS_TEXT = """
uses calls references matches mentions tests hits call use match reference mention import imports
release releases tag tags branch branches fork forks merge merges
"""
VERBS = frozenset(_VERBS_TEXT.split())
"""Nouns that are verbs behind another noun: "which method releases a lock" asks for no release."""
SKIPPED = re.compile(
    r"\s*(?:·|,|\.|:|of\b|all\b|the\b|these\b|those\b|different\b|distinct\b|unique\b|various\b|total\b"
    r"|individual\b|separate\b|single\b"
    r"|in\b|are\b|is\b|there\b|do\b|does\b|has\b|have\b|we\b|i\b|our\b|any\b|each\b|every\b|me\b|external\b"
    r"|(?:or|and)\b(?=\s*⟨G)|⟨[GRP]\d+⟩)",
    re.IGNORECASE,
)
ADJECTIVE = re.compile(r"\s*[A-Za-z][\w-]*(?:\s+(?=⟨G\d+⟩)⟨G\d+⟩)?(?=\s)")
HEAD = re.compile(rf"\s*(?P<noun>{NOUN.pattern})", re.IGNORECASE)
TOGETHER = {
    ("class", "method"),
    ("struct", "method"),
    ("interface", "method"),
    ("class", "field"),
    ("struct", "field"),
    ("repositories", "files"),
    ("commits", "authors"),
    ("files", "lines"),
    ("lines", "lines"),
    ("files", "files"),
    ("function", "occurrences"),
    ("method", "occurrences"),
    ("repositories", "commits"),
    ("repositories", "authors"),
}
"""Pairs of nouns in which the first adds nothing to the second."""

SAME = re.compile(r"\s*(?:⟨G\d+⟩|\()", re.IGNORECASE)
NAME = rf"(?P<terms>{TERMS}|[\w.$]*[\w$])"
STARTS = re.compile(
    rf"\b(?:(?:whose|with)\s+(?:a\s+)?names?\s+)?(?:that\s+)?(?:start(?:s|ing)?|begin(?:s|ning)?"
    rf"|prefixed)\s+(?:with|by)\s+{DET}{NAME}",
    re.IGNORECASE,
)
ENDS = re.compile(
    rf"\b(?:(?:whose|with)\s+(?:a\s+)?names?\s+)?(?:that\s+)?(?:end(?:s|ing)?|suffixed)\s+(?:with|in"
    rf"|by)\s+{DET}(?P<terms>{TERMS}|\.?[\w.$]*[\w$])",
    re.IGNORECASE,
)
PART = re.compile(rf"\b(?:with|containing|having|contain)\s+{DET}{NAME}\s+in (?:their|its|the) names?", re.IGNORECASE)
WHOSE = re.compile(rf"\bwhose names? (?:contains?|includes?|has|have)\s+{DET}{NAME}", re.IGNORECASE)
NAMED = re.compile(
    rf"\b(?:named|called|with (?:the )?name|by the name of|whose name is)\s+{DET}(?P<terms>{MARKED_OR_PATHS}"
    rf"|[\w.$]*[\w$])",
    re.IGNORECASE,
)
HAVING = re.compile(
    r"\b(?:have|has|having|with|contain(?:s|ing)?|include)\s+(?:a\s+|an\s+|the\s+)?(?:file\s+)?(?:called\s+"
    r"|named\s+)?(?P<terms>⟨P\d+⟩(?:\s*(?:,\s*(?:and|or)|,|and|or)\s*(?:an?\s+)?⟨P\d+⟩)*)(?:\s+files?\b)?",
    re.IGNORECASE,
)
INHERIT = re.compile(
    rf"\b(?:that |which |directly )*(?:inherit(?:s|ing|ed)?(?: from)?|subclass(?:es|ed|ing)?(?: of| from)?"
    rf"|deriv(?:es?|ed|ing) from"
    rf"|extend(?:s|ing)?|implement(?:s|ing)?|conform(?:s|ing)?\s+to|adopt(?:s|ing)?)\s+{DET}(?:(?:interface|trait|protocol|class)\s+)?"
    rf"(?P<terms>{TERMS}|\w+)(?:\s+(?:interface|trait|protocol|class|type)\b)?"
    r"|\b(?:of|from) (?P<of>⟨[NQ]\d+⟩|(?-i:[A-Z]\w+))",
    re.IGNORECASE,
)
MEMBER = re.compile(
    r"\b(?:does|do|of|in|on|has|have)\s+(?:the\s+)?(?:(?:class|struct|interface|type)\s+(?P<first>⟨[NQ]\d+⟩"
    r"|\w+)|(?P<second>⟨[NQ]\d+⟩|(?-i:[A-Z]\w+))\s+(?:class|struct|interface|type)\b|(?P<third>⟨[NQ]\d+⟩"
    r"|(?-i:[A-Z]\w+)(?=\s+(?:have|has|define|defines|declare)\b)))"
    r"(?:\s+(?:have|has|define|defines|contain|declare))?",
    re.IGNORECASE,
)
_MODULE = r"(?:⟨[NPQ]\d+⟩|[\w./@-]*\w)"
MODULE = (
    rf"(?!(?:up)?on\b|from\b)(?P<terms>{_MODULE}(?:\s*,\s*{_MODULE})*\s*,?\s+(?:and|or)\s+{_MODULE}"
    rf"(?=[\W·]*$|\s*·|\s+(?:in|of|within|across)\b)|{TERMS}|{_MODULE})"
    r"(?:\s+(?:package|module|library|header|crate))?"
)
IMPORT = re.compile(
    rf"\b(?:that |which )?(?:do |does )?(?:directly )?(?:imports?|importing|imported|depend(?:s|ing|ed)? "
    rf"(?:up)?on|requir(?:e|es|ing)|pull(?:s|ing)? in)\s+(?:from\s+)?{DET}{MODULE}",
    re.IGNORECASE,
)
INCLUDE = re.compile(r"\b#?include[sd]?\s+(?:the\s+)?(?:header\s+)?(?P<terms>⟨P\d+⟩|⟨Q\d+⟩|<[\w./-]+>)", re.IGNORECASE)
DEPENDENTS = re.compile(rf"\b(?:of|on|to|does|do|has|have)\s+{DET}{MODULE}(?:\s+have\b)?", re.IGNORECASE)
WHAT_DEPENDS = re.compile(
    rf"^\W*(?:what|which|who)(?P<noun>(?:\s+⟨G\d+⟩)?\s+\w+)?\s+(?:all\s+)?(?:depends?|relies|rely"
    rf"|imports?)\s+(?:(?:up)?on\s+)?{DET}{MODULE}",
    re.IGNORECASE,
)
WHAT_DOES = re.compile(
    r"^\W*what\s+(?:all\s+)?(?:does|do|is|are)\b(?P<rest>.*?)\b(?:depend(?:s|ent)? (?:up)?on|import(?:s)?"
    r"|requires?)\W*$",
    re.IGNORECASE,
)
CHANGE = re.compile(
    r"\b(?:(?:has|have|was|were|been|did|that|which|got)\s+)*(?:chang(?:e|ed|es)|modif(?:y|ied)|touch(?:ed"
    r"|es)?|edit(?:ed)?|updat(?:e|ed)|committed|contribut(?:e|ed|es)(?: to)?|work(?:ed|s)? (?:on|in)"
    r"|affected|written to)\b",
    re.IGNORECASE,
)
MADE = re.compile(
    r"\b(?:(?:did|do|does|has|have|had|was|were|been)\s+)?(?:author|made|make|written|wrote|write|pushed|landed"
    r"|authored|added|there|in total|happened)\b",
    re.IGNORECASE,
)
ADDED_LINES = re.compile(
    r"\b(?:(?:were|was|did|has|have|been)\s+)*(?P<verb>add(?:ed)?|remov(?:e|ed)|delet(?:e|ed)|chang(?:e|ed)"
    r"|writ(?:e|ten)|wrote)\b",
    re.IGNORECASE,
)
PACKAGE_WORDS = re.compile(r"\b(?:external|third[- ]party|direct|outside|do|does|have|has|use|uses)\b", re.IGNORECASE)
DEFINE = re.compile(
    r"\b(?:(?:is|are|do|does|that|which)\s+)*(?:defin(?:e|es|ed|ing)|declar(?:e|es|ed|ing)|implement(?:s|ed"
    r"|ing)?|contain(?:s|ed)?|have|has|expose[sd]?)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:(?:do|does|did)(?:n['\u2019]t|\s+not)|never|without(?:\s+any)?|lack(?:s|ing)?)(?=\s)"
    r"|\b(?:have|has|having|with|contain(?:s|ing)?)\s+no(?=\s+(?:⟨[NQ]|(?:TODO|FIXME|XXX|HACK)\b))",
    re.IGNORECASE,
)
NEGATED_VERB = re.compile(
    rf"(?:{NEGATION.pattern})\s+(?=(?:directly\s+)?(?:import|#?includ|depend|requir|pull|hav|has\b|contain)\w*)"
    r"|(?:(?<=\bhave\s)|(?<=\bhas\s)|(?<=\bwith\s))no\s+(?=⟨P)",
    re.IGNORECASE,
)
"""A "not" in front of what a file or repository imports, or of the file that a repository has."""

BOTS = re.compile(
    r"\b(?:(?:authored|written|made|done)\s+)?by\s+(?:the\s+)?bots?\b"
    r"|\b(?:did|have|do|are)\s+(?:the\s+)?bots?(?:\s+(?:make|made|author|authored|write|written|push|pushed|commit"
    r"|committed))?\b|\bfrom\s+(?:the\s+)?bots?\b",
    re.IGNORECASE,
)
IS_DEFINED = re.compile(
    rf"\b(?:is|are|was|were)\s+{DET}(?P<terms>{TERMS})\s+(?:defined|declared|implemented)\b", re.IGNORECASE
)
DEFINES = re.compile(
    rf"\b(?:that |which )?(?:defin(?:e|es|ing)|declar(?:e|es|ing))\s+{DET}(?P<terms>{TERMS})", re.IGNORECASE
)
SUBTYPES = re.compile(
    r"^\W*(?:(?:what|who|which|list|show|name|are|is|there|all|any|the|me|other|types?|things?|structs?(?=\s+(?:that\s+)?conform)"
    r"|objects?|ones)\s+)*(?:that\s+)?(?:directly\s+)?"
    r"(?:(?P<verb>implements?|inherits?(?:\s+from)?|extends?|derives?\s+from|conforms?\s+to|adopts?|sub-?\s?class(?:es)?)"
    r"|(?:sub-?\s?class(?:es)?|sub-?types?|implement(?:ations?|ors?|ers?)|heirs?|derived\s+class(?:es)?"
    r"|child(?:ren)?(?:\s+class(?:es)?)?|conformances?)\s+(?:of|to))\s+"
    rf"(?={DET}(?:(?:interface|trait|protocol|class|base\s+class|type)\s+)?(?:⟨[NQ]\d+⟩|(?-i:[A-Z]\w*)))",
    re.IGNORECASE,
)
"""A question for subtypes that names no kind of them: "what implements X", "subclasses of X"."""
MANY_SUBTYPES = re.compile(
    r"\bhow many\s+(?:direct\s+)?(?:sub-?\s?class(?:es)?|sub-?types?|implement(?:ations?|ors?|ers?)"
    r"|types?\s+(?:that\s+)?implement)(?:\s+(?:of|for)|\s+(?:does|do|has)(?:\s+the\s+(?:class|interface|trait))?)?"
    r"\s+(?=⟨[NQ]\d+⟩|(?-i:[A-Z]\w*))",
    re.IGNORECASE,
)
_GLUE = """
a about all also am an and any anyone are as at be been being but by can could did do does doing each either
ever every exist exists existing for from had has have having here how i if in into is list me
my of on one or our overall please shall should so some such than that the then there this
to total totally up us was we were what whats when where which while who whole whom whose will with
within would you your show find give tell count number amount altogether currently now today different distinct
unique various present available ones place places code codebase source entire across anywhere got current actually
really just print name names enumerate s t there's that's what's who's where's when's i'm let's
his her their its it me these those consist consists comprise comprises
"""
GLUE = frozenset(_GLUE.split())
"""Words that say how a sentence is built; the answer names any other word that was ignored."""
VERB_AS_NAME = re.compile(
    r"(?:\b(?:of|in|for|on|from|into)\s+|\bto\s+(?=\w+\W*$))(?P<name>find|show|list|print|give|tell|count|enumerate)\b"
    r"(?=\W*$|\s+(?:functions?|methods?|commands?|class|module|(?:first\s+)?(?:added|introduced|removed|changed))\b)",
    re.IGNORECASE,
)
"""A verb of `GLUE` where a name stands: "who added the limit option of find", "to print?"."""

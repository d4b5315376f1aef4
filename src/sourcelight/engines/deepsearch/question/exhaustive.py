"""Questions for a count or a whole list, planned as queries that are counted and not sampled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.query.languages import find_language
from sourcelight.engines.search.ranking.question import analyse
from sourcelight.engines.search.ranking.words import FUNCTION_WORDS

_ASKS = re.compile(
    r"^\s*(?:please\s+)?(?:(?:can|could) you\s+)?(?:"
    r"(?P<list>(?:list|show|find|enumerate|give(?: me)?|name|what are|which are)\s+(?:me\s+)?(?:all|every|each)\b)"
    r"|(?P<many>(?:how many|count(?: of| all| the)?|what is the (?:number|count) of|number of)\b)"
    r"|(?P<which>(?:(?:in|of) )?(?:which|what)\s+(?:\w+\s+)?(?:repositor(?:y|ies)|repos?|projects?|files?)\b)"
    r"|(?P<every>(?:all|every)\s+(?:the\s+)?\w+)"
    r")",
    re.IGNORECASE,
)
_REPOSITORIES = re.compile(r"\b(?:repositor(?:y|ies)|repos?|projects?)\b", re.IGNORECASE)
_FILES = re.compile(r"\b(?:files?|modules?|scripts?)\b", re.IGNORECASE)
_SYMBOLS = {
    "function": ("function", "method"),
    "method": ("method",),
    "class": ("class",),
    "struct": ("struct",),
    "interface": ("interface",),
    "enum": ("enum",),
    "constant": ("constant",),
    "definition": (),
    "symbol": (),
}
_SYMBOL_WORD = re.compile(
    r"\b(functions?|methods?|class(?:es)?|structs?|interfaces?|enums?|constants?|definitions?|symbols?)\b",
    re.IGNORECASE,
)
_STARTS = re.compile(r"\b(?:start(?:s|ing)?|begin(?:s|ning)?|prefixed)\s+with\s+", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:end(?:s|ing)?|suffixed)\s+(?:with|in)\s+", re.IGNORECASE)
_CALLED = re.compile(r"\b(?:named|called)\b", re.IGNORECASE)
_CALLS = re.compile(r"\b(?:calls?|called|invocations?|invokes?)\b", re.IGNORECASE)
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
_COMMON_CAPITALS = frozenset(
    {"API", "HTTP", "HTTPS", "URL", "JSON", "XML", "SQL", "AND", "OR", "NOT", "ALL", "HTML", "CSS", "UTF"}
)
_PLAIN = re.compile(r"[A-Za-z_][\w.$:-]*")
_LANGUAGE = re.compile(
    r"\b(?:in|written in|of)?\s*([A-Za-z+#]+)\s+(?:files?|code|functions?|classes|methods?|modules?|scripts?)\b",
    re.IGNORECASE,
)


_CONTAINS = re.compile(
    r"\b(?:contain(?:s|ing)?|includ(?:es?|ing)|mention(?:s|ing)?|named|called)\s+(?:the\s+)?(?:word\s+)?"
)
_OF = re.compile(
    r"\b(?:calls?|uses?|usages?|occurrences?|references?|callers?|invocations?)\s+(?:of|to)\s+(?:the\s+)?",
    re.IGNORECASE,
)
_INHERITS = re.compile(
    r"\b(?:inherit(?:s|ing|ed)?\s+from|subclass(?:es|ed|ing)?\s+(?:of|from)|deriv(?:es?|ed|ing)\s+from"
    r"|extend(?:s|ing)?)\s+(?:the\s+)?",
    re.IGNORECASE,
)
_HEIR = (
    r"^\s*((export|default|public|protected|private|internal|abstract|final|sealed|open|data|static)\s+)*"
    r"(class|interface|struct)\s+\w+[^{{;\n]*[^{{;\n\w](?:{names})\b"
)
_QUOTES = re.compile(r"`[^`]*`|\"[^\"]*\"")
_KNOWN_WORDS = """
list show find enumerate give name names named number count total many every each all what which where how are
please repository repositories repo repos project projects file files module modules script scripts function functions
method methods class classes struct structs interface interfaces enum enums constant constants definition definitions
symbol symbols start starts starting begin begins beginning prefixed end ends ending suffixed contain contains
containing include includes including mention mentions mentioning call calls called calling caller callers invocation
invocations invoke invokes use uses used using usage usages occurrence occurrences occur occurs reference references
line lines place places comment comments code codebase exist exists defined define written whole time times here
marker markers word words text string strings inherit inherits inheriting inherited subclass subclasses subclassed
subclassing derive derives derived deriving extend extends extending
"""
_UNDERSTOOD = frozenset(_KNOWN_WORDS.split())


@dataclass(frozen=True, slots=True)
class CountedQuery:
    """A query whose matches are counted, all of them.

    Attributes
    ----------
    query
        In the query language, without filters of repositories.
    unit
        What is counted: ``lines``, ``files``, ``definitions`` or ``repositories``.
    lists
        Whether the matches themselves are wanted, not their number alone.
    ignored
        Words of the question that the query makes nothing of.
    calls
        Whether calls are asked for: text alone can't tell them from a definition of the same name.
    """

    query: str
    unit: str
    lists: bool
    ignored: tuple[str, ...] = ()
    calls: bool = False


def counted_query(text: str) -> CountedQuery | None:
    """Plan a question as a counted query; None when it asks for no count, or for nothing that can be counted."""
    asks = _ASKS.search(text)
    if asks is None:
        return None
    lists = not asks["many"]
    language, patterns = _language(text), _patterns(text)
    symbol = _SYMBOL_WORD.search(text)
    found: tuple[tuple[str, ...], str]
    if _REPOSITORIES.search(asks[0]) or (_REPOSITORIES.search(text) and asks["many"] and not symbol):
        found = (language, _content(patterns, text)), "repositories"
    elif patterns and _INHERITS.search(text):
        names = "|".join(re.escape(pattern).replace("/", r"\/") for pattern in patterns)
        found = (language, f"case:yes type:file /{_HEIR.format(names=names)}/"), "lines"
    elif symbol is not None and not _CALLS.search(text):
        whole = asks["list"] is not None or asks["many"] is not None
        named = _named(patterns, text)
        parts = ("type:symbol", named, _select(_kind(symbol[1]))) if named or language or whole else ()
        found = ((language, *parts) if parts else ()), "definitions"
    elif _FILES.search(text) and patterns and _CALLED.search(text):
        names = "|".join(re.escape(pattern) for pattern in patterns)
        found = (language, f"type:path /(^|\\/)({names})$/"), "files"
    elif _FILES.search(text) and (patterns or language):
        found = (language, _content(patterns, text) or "type:path"), "files"
    else:
        found = ((language, _content(patterns, text)) if patterns else ()), "lines"
    query = " ".join(part for part in found[0] if part)
    ignored = _ignored(text, patterns)
    if not query or (ignored and not patterns):
        return None
    return CountedQuery(query, found[1], lists, ignored, found[1] == "lines" and bool(_CALLS.search(text)))


def _ignored(text: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Give the words of a question that the query makes nothing of."""
    rest = _QUOTES.sub(" ", text)
    for pattern in patterns:
        rest = rest.replace(pattern, " ")
    words = [word for word in re.findall(r"[^\W_][\w+#-]*", rest) if word.lower() not in _UNDERSTOOD]
    return tuple(dict.fromkeys(w for w in words if w.lower() not in FUNCTION_WORDS and find_language(w) is None))


def _language(text: str) -> str:
    for found in _LANGUAGE.finditer(text):
        if find_language(found[1]) is not None and found[1].lower() not in {"text", "c"}:
            return f"lang:{found[1]}"
        if found[1] == "C":
            return "lang:C"
    return ""


def _patterns(text: str) -> list[str]:
    """Give the names and texts that are looked for, in the order met."""
    question = analyse(text)
    found = [*question.phrases]
    found += [name.strip().removesuffix("()") for name in re.findall(r"`([^`]+)`", text)]
    known = " ".join(found)
    found += [name for name in question.names if name not in known]
    found += [name for name in _CAPITALS.findall(text) if name not in _COMMON_CAPITALS and name not in known]
    found += [file for file in question.files if file not in known]
    for marker in (_STARTS, _ENDS, _CONTAINS, _OF, _INHERITS):
        place = marker.search(text)
        word = _PLAIN.match(text, place.end()) if place is not None else None
        if word is not None and word[0].lower() not in _UNDERSTOOD | FUNCTION_WORDS:
            found.append(word[0].rstrip(".,;:"))
    return list(dict.fromkeys(item for item in found if item))


def _content(patterns: list[str], text: str) -> str:
    """Write a pattern for text of files: whole names, and called ones where calls are asked for."""
    if not patterns:
        return ""
    parts = []
    for pattern in patterns:
        escaped = re.escape(pattern).replace("/", r"\/")
        left = r"\b" if re.match(r"\w", pattern) else ""
        right = r"\b" if re.search(r"\w$", pattern) else ""
        called = r"\s*\(" if _CALLS.search(text) and _PLAIN.fullmatch(pattern) else ""
        parts.append(f"{left}{escaped}{right}{called}")
    body = parts[0] if len(parts) == 1 else "(" + "|".join(parts) + ")"
    return f"case:yes type:file /{body}/"


def _named(patterns: list[str], text: str) -> str:
    """Write a pattern for names of definitions."""
    if not patterns:
        return ""
    names = "|".join(re.escape(pattern) for pattern in patterns)
    if _STARTS.search(text):
        return f"case:yes /^({names})/"
    if _ENDS.search(text):
        return f"case:yes /({names})$/"
    if re.search(r"\bcontain|\bwith\b|\binclud", text, re.IGNORECASE):
        return f"/({names})/"
    return f"case:yes /^({names})$/"


def _kind(word: str) -> str:
    return re.sub(r"(?<=class)es$|s$", "", word.lower()) if word.lower() != "class" else "class"


def _select(kind: str) -> str:
    kinds = _SYMBOLS.get(kind, ())
    return f"select:symbol.{kinds[0]}" if kinds else ""

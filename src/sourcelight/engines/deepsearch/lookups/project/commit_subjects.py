"""Read the subject of a commit: what it does, to what, and of which component."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sourcelight.engines.search.ranking.terms.related_words import short_forms
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, stem

MAX_CHARS = 300
"""Maximum characters of a subject that is read."""

WORD = re.compile(r"--?[A-Za-z][\w-]*|\.[A-Za-z][\w-]+|\w[\w.+#/:-]*[\w+#]|\w")
_PREFIX = re.compile(
    r"(?:\[[^\]\n]{1,60}\]\s*:?\s*|[\w.,/*-]{1,50}(?:\s?\([^)\n]{1,60}\))?!?:\s+"
    r"|(?:feat|fix|docs|chore|refactor|test|ci|perf|style|build)\([^)\n]{1,60}\)\s+)"
)
"""The part of a subject that names a component: `feat(gate):`, `[charts/gate]`."""
_NUMBERS = re.compile(
    r"^(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|issue|bug)?\s*\(?#\d+\)?\s*[-:,]\s*"
    r"|\s*\(?(?:(?:closes|fixes|see|refs?|pr|issue|bug|resolves)\s+)?#\d+\)?|\s*\[#\d+\]",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[A-Z]+")
"""The words in a name, such as `is`, `Aba` and `Routing`."""
_IRREGULAR = {
    "made": "make", "wrote": "write", "written": "write", "brought": "bring", "built": "build", "hid": "hide",
    "hidden": "hide", "shown": "show", "sped": "speed", "rewrote": "rewrite", "rewritten": "rewrite", "took": "take",
    "taken": "take", "gave": "give", "given": "give", "began": "begin", "begun": "begin", "ran": "run", "sent": "send",
    "broke": "break", "broken": "break", "moved": "move", "dropped": "drop",
    "taught": "teach", "got": "get", "gotten": "get", "let": "let", "did": "do",
}  # fmt: skip
ADDING = ("add", "introduce", "implement", "create", "support", "new", "initial")
_MEANINGS: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("add", "introduce", "implement", "create"), ADDING),
    (("write",), (*ADDING, "write")),
    (("remove", "delete", "drop"), ("remove", "delete", "drop")),
    (("replace", "migrate", "switch", "swap"), ("replace", "migrate", "switch", "swap", "move", "convert", "port")),
    (("expose", "export"), ("expose", "export")),
    (("fix", "resolve", "repair"), ("fix", "resolve", "repair", "correct")),
    (("update", "upgrade", "bump"), ("update", "upgrade", "bump")),
    (("raise", "increase"), ("raise", "increase", "bump")),
    (("lower", "reduce", "decrease"), ("lower", "reduce", "decrease")),
)
"""Verbs of questions, and the verbs of subjects that say the same."""
_ADDING_TEXT = """
add introduce implement create write support provide allow enable offer include bring expose define ship start initial
first new make build
"""
_WIDER_MEANINGS: Sequence[tuple[str, str]] = (
    ("add introduce implement create write", _ADDING_TEXT),
    ("remove delete drop", "remove delete drop replace kill purge ditch dump eliminate retire"),
    ("fix resolve repair solve correct", "fix resolve repair solve correct prevent avoid handle guard stop"),
    (
        "update upgrade bump raise increase require",
        "update upgrade bump raise increase require move switch set migrate use change",
    ),
    ("lower reduce decrease", "lower reduce decrease set change limit"),
    ("respect honor honour obey", "respect honor honour obey support use"),
    ("allow enable permit support", "allow enable permit support add"),
    ("disable deactivate", "disable deactivate remove stop"),
    ("limit cap restrict bound", "limit cap restrict bound add set"),
    ("speed optimize optimise improve", "speed optimize optimise improve perf"),
    ("rename", "rename"),
    ("use adopt", "use adopt switch migrate move convert port"),
    ("deprecate", "deprecate"),
    ("replace migrate switch swap move convert port", "replace migrate switch swap move convert port dump use"),
)
_LIMITS_TEXT = """
not no nor none without except never but besides only before after until since last latest lately recently most again
often why how many other every each all don't doesn't didn't isn't wasn't again back undo
"""
LIMITS = frozenset(_LIMITS_TEXT.split())
"""Words that turn a question, or a subject, into another one."""
_LIGHT_TEXT = """
new initial basic simple optional support ability option possibility version first command line cli
"""
LIGHT = frozenset(_LIGHT_TEXT.split())
"""Words before the object of a subject that leave it the same: "Add a new chart"."""
_GENERIC_TEXT = """
option flag switch thing feature functionality support function functions method methods api class argument parameter
setting ability capability possibility version command proc procedure subcommand cli helper custom own our built-in
builtin basic initial new first minimal minimum module package document commit implementation issue issues bug bugs
problem problems regression compatibility
"""
GENERIC = frozenset(_GENERIC_TEXT.split())
"""Nouns that name the kind of a thing, which a question and a subject may name differently or leave out."""
_KINDS_TEXT = """
tag category role driver adapter plugin filter rule task template provider backend handler hook middleware widget field
key attribute macro mixin trait struct enum interface constant variable header reader literal dialect locale engine
formatter converter validator transformer codec operator keyword tool utility method function class type property
extension addon theme preset parser lexer backend frontend service resource mode feature page screen target step job
workflow script file directory folder endpoint route shortcut keybinding binding alias decorator annotation directive
exporter importer linter check checker cop matcher encoder decoder serializer integration wrapper language syntax
"""
KINDS = frozenset(_KINDS_TEXT.split())
"""Further nouns for the kind of a thing, which the subject of a commit may leave out: the `retry` tag."""
GENERIC_IF_REMOVED = frozenset(["ci", "configuration", "config", "integration", "file", "files", "code", "dependency"])
"""Nouns behind a name that is removed or replaced: "Remove Travis configuration" removes Travis."""
_BESIDE_TEXT = """
test tests testing spec specs doc docs documentation document readme changelog changes example examples sample demo ci
workflow lint comment comments typo benchmark benchmarks translation translations badge link icon note
notes section mention caveat instruction instructions faq screenshot todo warning entry
"""
BESIDE = frozenset(_BESIDE_TEXT.split())
"""Things to which something is added, too, or in which it is only written about."""
_JOINING_TEXT = """
to for in into on with and via by so that which when as from of using if while instead at during within including or
about against behind between over under through around without per like than
"""
JOINING = frozenset(_JOINING_TEXT.split())


def stem_of(word: str) -> str:
    """Return the stem of a word, or of what it is short for; an option such as ``-q`` stays whole."""
    lower = word.lower()
    return lower if lower.startswith("-") else short_forms(stem(_IRREGULAR.get(lower, lower)))[0]


SAME: Mapping[str, frozenset[str]] = {
    stem_of(verb): frozenset(map(stem_of, same)) for verbs, same in _MEANINGS for verb in verbs
}
SIMILAR: Mapping[str, frozenset[str]] = {
    stem_of(verb): frozenset(map(stem_of, same.split())) for verbs, same in _WIDER_MEANINGS for verb in verbs.split()
}
"""Verbs of questions, and those of subjects that may say the same of the same object."""
DIRECTED = frozenset(
    map(stem_of, ("replace", "migrate", "switch", "swap", "rename", "move", "convert", "port", "bump"))
)
"""Verbs for which it matters which of two names comes first."""


def forms_of(word: str) -> frozenset[str]:
    """Return the stems that a word of a subject counts as: its own, and that of each part of a path."""
    parts = re.split(r"[/:]", word)
    return frozenset({stem_of(word), *(stem_of(part) for part in parts if part)})


def all_forms_of(word: str) -> frozenset[str]:
    """Return the stems that a word counts as, with those of each word in a name, such as `aba` in `isAbaRouting`."""
    parts = [part.lower() for part in _PARTS.findall(word)]
    pairs = [first + second for first, second in pairwise(parts)]
    bare_name = word.lower().strip("-.")
    return forms_of(word) | frozenset(stem_of(part) for part in (*parts, *pairs, "".join(parts), bare_name))


@dataclass(frozen=True, slots=True)
class SubjectLine:
    """The subject of a commit without numbers of issues: words of its components, and its own words with their stems.

    `text` is what follows the components, and `words` are its matches of `WORD`.
    """

    text: str
    prefix_words: frozenset[str]
    words: tuple[re.Match[str], ...]
    forms: tuple[frozenset[str], ...]

    @classmethod
    def read(cls, subject: str) -> SubjectLine | None:
        """Read a subject; None for one that is too long or has a single word."""
        text, beginning = _NUMBERS.sub("", subject[: MAX_CHARS + 1]), ""
        while (prefix := _PREFIX.match(text)) is not None:
            beginning, text = f"{beginning} {prefix[0]}", text[prefix.end() :]

        matches = tuple(WORD.finditer(text))
        if len(subject) > MAX_CHARS or not matches or len(matches) + bool(beginning) < 2:
            return None

        prefix_words = frozenset(
            form for word in re.findall(r"\w+", beginning) for form in (word.lower(), stem_of(word))
        )
        return cls(text, prefix_words, matches, tuple(forms_of(match[0]) for match in matches))

    def objects(self, start: int) -> list[list[str]]:
        """Return the phrases of the object from a word on, one for each that "and" or a comma joins.

        "Add support for basic auth and TLS on endpoints" has the objects "basic auth" and "TLS".
        """
        phrases: list[list[str]] = [[]]
        for number in range(start, len(self.words)):
            match = self.words[number]
            word = match[0].lower()
            between = self.text[self.words[number - 1].end() : match.start()] if number else ""
            has_object = any(
                other.lower() not in GENERIC | LIGHT and other.lower() not in FUNCTION_WORDS for other in phrases[-1]
            )
            if word in {"and", "or"} or re.search(r"[,&+/]", between) is not None:
                phrases.append([] if word in {"and", "or"} else [match[0]])
                continue
            if word in JOINING or re.search(r"[;:(]|[^\x00-\x7f]", between) is not None:
                if has_object:
                    break
                # "Support for …" and "an option to …" name the object after it.
                phrases[-1] = [] if word in JOINING else [match[0]]
                continue
            phrases[-1].append(match[0])
        return [phrase for phrase in phrases if phrase]

    def heads(self, start: int, *, is_removal: bool = False) -> list[str]:
        """Return the last word of each object that isn't generic: `auth` of "basic auth support"."""
        generic = GENERIC | GENERIC_IF_REMOVED if is_removal else GENERIC
        heads: list[str] = []
        for phrase in self.objects(start):
            words = [word for word in phrase if word.lower() not in FUNCTION_WORDS]
            while len(words) > 1 and words[-1].lower() in generic:
                words.pop()
            heads += words[-1:]
        return heads

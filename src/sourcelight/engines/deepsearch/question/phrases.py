"""Read the phrases that narrow a count: texts, paths, people, messages, revisions, bounds."""

from __future__ import annotations

import re
from typing import Any

from sourcelight.engines.deepsearch.question.marks import Mark, MarkedText
from sourcelight.engines.deepsearch.question.request import PathScope, QuestionPaths, Term, nest_folders, past_scope
from sourcelight.engines.deepsearch.question.vocabulary import NOUN, is_path

DET = (
    r"(?:(?:both|either)\s+)?(?:(?:the|a|an|any|some|our|its)\s+)?(?:(?:exact |literal )?(?:words?|strings?"
    r"|texts?|literals?|terms?|phrases?|functions?"
    r"|methods?|class|type|macro|struct|keyword|symbol|name|constant|variable|package|module|library|header|identifier"
    r"|decorator|interface|builtin)\s+)?"
)
TERMS = r"(?:⟨[NQ]\d+⟩(?:\s*(?:,\s*(?:and|or)|,|and|or|&)\s*⟨[NQ]\d+⟩)*)"
MARKED_OR_PATHS = TERMS.replace("NQ", "NPQ")
_NOUN_AFTER = (
    r"(?:\s+(?:function|method|class|type|macro|struct|keyword|symbol|string|word|constant|variable|package"
    r"|module|library|header|identifier|decorator|interface|builtin)s?\b)?"
)

_VERB = (
    r"(?:contain(?:s|ed|ing)?|mention(?:s|ed|ing)?|use[sd]?|using|includ(?:e|es|ed|ing)|referenc(?:e|es|ed"
    r"|ing)|refer(?:s|ring)? to"
    r"|match(?:es|ing)?|with|hav(?:e|ing)|has|say(?:s|ing)?|hold(?:s|ing)?)"
)
_NOUN_OF = r"(?:occurrences?|mentions?|uses?|usages?|references?|instances?|appearances?|matches|hits)\s+(?:of|to|for)"
_CALL_VERB = (
    r"(?:calls?(?: (?:of|to|for))?|calling|invokes?|invoking|invocations? of|callers? of|call sites? (?:of|for))"
)
# Words that end a bare text: in "use malloc in src", the text is "malloc".
_BARE_ENDS = (
    r"in|on|at|of|by|for|from|since|before|after|and|or|that|which|there|are|is|do|does|per|with|within|across|under"
    r"|inside|more|less|than|files?|lines?|directly|anywhere|somewhere|exactly|as|into|over|to|not|but|without|outside"
    r"|except|excluding|excludes?|ignoring|besides|beyond|beside|apart|other|the|a|an|any|all|each|every|this|that|these"
    r"|those|most|least|fewest|often|frequently|today|now|currently|anyway|anymore|still|yet|ever|never|please|overall"
    r"|altogether|together|total|when|where|if|because|while|during|until|till|between|via|through|throughout|only|also"
    r"|too|just|twice|once|times?|both|either|here|again|recently|lately|instead|like|versus|vs|using|right|presently"
    r"|nowadays|actually|really|at all|best|worst|alone|elsewhere|everywhere|non-tests?|tests?"
)
# At most four words: more of them are rarely a text, and nearly always the rest of the sentence.
_BARE = (
    r"(?P<bare>(?!(?:the|a|an|any|some|been|to|in|on|at|of|by|we|it|they)\b)[A-Za-z_$][\w$-]*"
    rf"(?:\s+(?!(?:{_BARE_ENDS})\b)[\w$-]+){{0,3}})"
)
_ANY_NOUN = re.sub(r"\?P<\w+>", "?:", NOUN.pattern)
_LISTED_WORD = rf"(?:⟨[NQ]\d+⟩|(?!(?:{_BARE_ENDS}|been|we|it|they|{_ANY_NOUN})\b)[A-Za-z_$][\w$]*)"
_CONTENT_VERB = r"contain(?:s|ed|ing)?|mention(?:s|ed|ing)?|us(?:e|es|ed|ing)|say(?:s|ing)?|referenc(?:e|es|ed|ing)"
# Words without marks are a list of texts only if the sentence ends after them or continues with a preposition.
_LISTED = (
    rf"{DET}(?P<listed>{_LISTED_WORD}(?:\s*,\s*{_LISTED_WORD})*\s*,?\s+(?:and|or)\s+{_LISTED_WORD})"
    r"(?=[\W·]*$|\s*·|\s*,|\s+(?:in|of|from|within|across|under|inside|outside|except|excluding|but|there|at|on)\b)"
)
VERBS_OF_CONTENT = (
    re.compile(rf"\b(?:that |which |do |does )*(?:{_CONTENT_VERB}|{_NOUN_OF})\s+{_LISTED}", re.IGNORECASE),
    re.compile(
        rf"\b(?:that |which |do |does )*(?:{_VERB}|{_NOUN_OF})\s+{DET}(?P<terms>{TERMS}){_NOUN_AFTER}", re.IGNORECASE
    ),
    re.compile(
        rf"(?:\b(?:is|are|was|were|does|do|has|have|where|that|which)\s+)?{DET}(?P<terms>{TERMS}){_NOUN_AFTER}\s+(?:("
        rf"?:is|are|been|being)\s+)?(?:used|mentioned|referenced|appears?|occurs?|found|present|written|shows? "
        rf"up|come up)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:that |which |do |does )*(?:contain(?:s|ed|ing)?|mention(?:s|ed|ing)?|us(?:e|es|ed|ing)|say(?:s"
        rf"|ing)?|{_NOUN_OF})\s+{DET}{_BARE}",
        re.IGNORECASE,
    ),
)
CALL = (
    re.compile(rf"\b(?:that |which |do |does )*{_CALL_VERB}\s+{_LISTED}", re.IGNORECASE),
    re.compile(rf"\b(?:that |which |do |does )*{_CALL_VERB}\s+{DET}(?P<terms>{TERMS}){_NOUN_AFTER}", re.IGNORECASE),
    re.compile(
        rf"(?:\b(?:is|are|was|were)\s+)?{DET}(?P<terms>{TERMS}){_NOUN_AFTER}\s+(?:(?:is|are|being"
        rf"|gets?)\s+)?(?:called|invoked)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:that |which |do |does )*(?:calls? (?:of|to)|calls?|invocations? of|invokes?|invoking"
        rf"|calling)\s+{DET}(?P<bare>[A-Za-z_$][\w$]*)",
        re.IGNORECASE,
    ),
)

LACKING = re.compile(
    rf"(?:\s*,)?\s*(?:\b(?:but|and)\s+(?:(?:do|does)\s+)?(?:not|n['\u2019]t|don['\u2019]t|doesn['\u2019]t|without)"
    rf"(?:\s+(?:{_CONTENT_VERB}))?|(?<=⟩)\s+without)\s+(?:any\s+)?{DET}"
    rf"(?:(?P<terms>{TERMS})|(?P<bare>(?!(?:{_BARE_ENDS}|counting|including)\b)[A-Za-z_$][\w$]*)"
    r"(?=[\W·]*$|\s*·|\s+(?:in|of|from|within|across)\b))",
    re.IGNORECASE,
)
"""Texts that the same file must not contain: "use `a` but not `b`"."""

_WORD_PREPOSITION = (
    r"(?:in|under|inside|below|beneath|within|of|to|from|for|on|at|across|into|throughout|touch(?:ed|es|ing)?"
    r"|chang(?:e|ed|es|ing)|modif(?:y|ied|ies|ying)|edit(?:ed|s|ing)?|updat(?:e|ed|es|ing)|affect(?:ed|s|ing)?"
    r"|does|do|has|have|did)"
)
_PATH_NOUN = r"(?:files?|folder|directory|subdirectory|dir|path|package|module|subtree|tree|header)"
# "Outside of tests", "excluding vendor/", "non-test".
_WITHOUT = re.compile(
    rf"\b(?:(?:outside(?: of)?|except(?: for| in| those in)?|excluding|not (?:in|counting|including|under)"
    rf"|without(?: counting)?|ignoring|other than|apart from|leaving out"
    rf"|(?:but|and|are|is|were)\s+not(?=\s+(?:the\s+|any\s+)?(?:unit\s+)?tests?\b))\s+(?:the\s+|any\s+)?(?:unit\s+)?"
    rf"(?:(?P<path>⟨P\d+⟩)(?:\s+{_PATH_NOUN})?|(?P<tests>tests?\b(?:\s+(?:files?|code|folders?|director(?:y|ies)|dirs?|suites?))?)"
    rf"|(?P<word>[\w.-]+)(?:\s+{_PATH_NOUN}\b)?)|(?P<non>non-test)\b)",
    re.IGNORECASE,
)
# "In tests", "test files". Without a noun only the plural, since "test" may be a verb.
_TESTS = re.compile(
    r"\b(?:(?:in|inside|within|of|across|by|from)\s+)?(?:the\s+|our\s+)?(?:(?:unit\s+)?tests?\s+(?:files?"
    r"|code|suites?|modules?)|tests)\b|\btest (?=files?|scripts?|⟨G)",
    re.IGNORECASE,
)
_IN_PATH = re.compile(
    rf"(?:\b{_WORD_PREPOSITION}\s+)?(?:\bthe\s+)?(?:\b{_PATH_NOUN}\s+)?(?P<path>⟨P\d+⟩(?:\s*(?:,|and"
    rf"|or)\s*⟨P\d+⟩)*)(?:\s+{_PATH_NOUN}\b)?",
    re.IGNORECASE,
)
# "In the src folder", "under directory src".
_IN_FOLDER = re.compile(
    rf"(?:\b{_WORD_PREPOSITION}\s+)?(?:\bthe\s+)?(?P<word>[\w.-]+|⟨[NQ]\d+⟩)\s+(?:folder|directory"
    rf"|subdirectory|dir|subtree|package|tree)\b|\b{_WORD_PREPOSITION}\s+(?:the\s+)?(?:folder|directory"
    rf"|subdirectory|dir|package)\s+(?P<named>[\w.-]+|⟨[NQ]\d+⟩)",
    re.IGNORECASE,
)
# "In src": only a word that is a directory is taken, or a file if it has a dot.
_IN_WORD = re.compile(
    r"\b(?:in|under|inside|below|within|from|of|to|touch(?:ed|es|ing)?)\s+(?:the\s+)?(?P<word>[\w.-]*\w"
    r"|⟨[NQ]\d+⟩)(?![\w/])",
    re.IGNORECASE,
)
_LANGUAGES = re.compile(
    r"(?:\b(?:written |implemented |coded? )?(?:in|of|with|use|uses|using)\s+)?(?P<marks>⟨G\d+⟩(?:\s*(?:,"
    r"|and|or)\s*⟨G\d+⟩)*)(?:\s+(?:source\s+)?(?:code|sources?|files?)\b)?",
    re.IGNORECASE,
)

_PERSON = r"(?P<person>[\w.+\[\]-]+@[\w.-]+\.\w+|⟨[QN]\d+⟩|{name}(?:\s+{name}){{0,3}})"
# A capital begins a name of a person, except in these words.
_CAPITAL = (
    r"(?!(?:I|The|A|An|Q[1-4]|January|February|March|April|May|June|July|August|September|October|November"
    r"|December|Go|Python)\b)[^\W\d_a-z][\w'\u2019.-]*\w"
)
_BY = re.compile(
    rf"\b(?:(?:authored|written|made|done|pushed|contributed|added|committed|introduced|changed|touched"
    rf"|removed|created) )?by (?:the author |author )?{_PERSON.format(name=_CAPITAL)}(?:['\u2019]s)?"
)
# Handles are lower case, so all words that may follow "by" must be excluded.
_HANDLE = (
    r"(?!(?:we|i|you|they|it|he|she|the|a|an|this|that|people|anyone|someone|somebody|everyone|there|each|any"
    r"|last|first|been|ever|who|not|most|its|their|authors?|contributors?|developers?|commits?"
    r"|files?|bots?|humans?|users?|persons?|women|men|members?|maintainers?|employees|outsiders|newcomers|volunteers"
    r"|engineers?|programmers?|committers?|folks|others|anybody|nobody|everybody|both|all|many|some|few|several|one|none"
    r"|repositor(?:y|ies)|repos?|projects?|teams?|compan(?:y|ies)|tests?|merges?|changes?|releases?)\b)[a-z][\w-]{2,}"
)
_BY_HANDLE = re.compile(
    rf"\b(?:(?:authored|written|made|done|pushed|contributed|committed) )?by (?:the )?(?:user |author |handle )"
    rf"(?P<person>{_HANDLE})|(?:·|\b(?:commits?|changes|are|were|authored|made|written|pushed|done))\s*\bby "
    rf"(?P<plain>{_HANDLE})(?=[\W·]*$)"
)
# "Did Ann commit", "has ann@example.org ever changed". The verb stays for later patterns.
_DID = re.compile(
    rf"\b(?:did|has|have|does) (?P<person>[\w.+\[\]-]+@[\w.-]+\.\w+|⟨[QN]\d+⟩"
    rf"|{_CAPITAL}(?:\s+{_CAPITAL}){{0,3}}|{_HANDLE})\s+(?P<adverb>ever\s+|last\s+"
    rf"|first\s+)?(?P<verb>ma[dk]e|commit(?:ted)?|writ(?:e|ten)|wrote|author(?:ed)?|chang(?:e|ed)"
    rf"|touch(?:ed)?|contribut(?:e|ed)(?: to)?|edit(?:ed)?|modif(?:y|ied)|work(?:ed)?(?: on)?|push(?:ed)?"
    rf"|add(?:ed)?|remov(?:e|ed)|delet(?:e|ed)|have|start(?: contributing| working)?|join)\b"
)
_POSSESSIVE = re.compile(
    rf"\b{_PERSON.format(name=_CAPITAL)}['\u2019]s?\s+(?=(?:first |last |latest )?(?:commits?|changes|work"
    rf"|contributions?))"
)
_FROM = re.compile(rf"\b(?:commits?|changes)\s+from {_PERSON.format(name=_CAPITAL)}")
_MESSAGE = re.compile(
    rf"\b(?:(?:that |which |whose )*(?:commit )?(?:messages?|subjects?|titles?)?\s*(?:mention(?:s|ed|ing)?"
    rf"|contain(?:s|ed|ing)?|say(?:s|ing)?|refer(?:s|ring)? to|includ(?:e|es|ing)|with|about|have"
    rf"|has))\s+{DET}(?P<terms>{TERMS}|(?<=mention )\w+|(?<=mentioning )\w+|(?<=about )\w+|(?<=mentions "
    rf")\w+)(?:\s+in (?:the(?:ir)?|its)?\s*(?:commit )?(?:messages?|subjects?|titles?))?",
    re.IGNORECASE,
)
_CHANGED_TEXT = re.compile(
    rf"\b(?:that |which |have |has |did )*(?P<verb>add(?:s|ed|ing)?|introduc(?:e|es|ed|ing)|remov(?:e|es|ed"
    rf"|ing)|delet(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|touch(?:es|ed|ing)?|modif(?:y|ies|ied"
    rf"|ying))\s+(?:(?:a |the )?lines? (?:with|containing|of)\s+|(?:a )?(?:use|usage|call)s? "
    rf"of\s+)?{DET}(?P<terms>{TERMS})",
    re.IGNORECASE,
)

_REVISION = (
    r"(?:(?:the\s+)?(?:version|release|tag|branch|commit)\s+)?(?P<{0}>⟨[PQN]\d+⟩|v?\d+(?:\.\d+)+(?:[\w.+-]*\w)?|v\d+"
    r"|[0-9a-f]{{7,40}}|[\w./-]*\w)"
)
# "Between v1.0 and v2.0", "from v1.0 to HEAD".
_SPAN = re.compile(
    rf"\b(?:between|from)\s+{_REVISION.format('base')}\s+(?:and|to|until|till|\.\.)\s+{_REVISION.format('head')}",
    re.IGNORECASE,
)
_DOTS = re.compile(r"(?P<base>[\w./+-]*?\w)\.\.\.?(?P<head>\w[\w./+-]*)")
_SINCE = re.compile(rf"\b(?:since|after|behind)\s+{_REVISION.format('base')}", re.IGNORECASE)
_UNTIL = re.compile(rf"\b(?:before|until|up to|in|at|by)\s+{_REVISION.format('head')}", re.IGNORECASE)

# "Not yet in main", "missing from v2".
_NOT_IN = re.compile(
    r"\b(?:(?:that|which)\s+)?(?:(?:are|is)\s+)?(?:not\s+(?:yet\s+)?(?:in|on|behind|part of)|missing (?:from|in))\s+"
    rf"{_REVISION.format('base')}",
    re.IGNORECASE,
)
# "By commit 1a2b3c4": the changes of one commit, as a span from its parent.
_OF_COMMIT = re.compile(
    r"\b(?:(?:by|in|did|does)\s+)?commit\s+(?P<head>[0-9a-f]{7,40})\b(?:\s+(?=chang|touch|modif|edit|add|remov))?",
    re.IGNORECASE,
)


def terms_of(marked_text: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the texts of marks, or of a bare word: quoted and dotted ones are literals, others whole words."""
    marks = marked_text.get_marks(text)
    if marks:
        return tuple(Term(mark.text, mark.kind == "N" and mark.text.replace("_", "a").isalnum()) for mark in marks)
    return (Term(" ".join(text.split()), is_word=True, is_bare=True),)


def read_terms(marked_text: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the texts of a list that may have words without marks: "Errorf, Sprintf and `fmt`"."""
    items = re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", text.strip())
    return tuple(terms_of(marked_text, item)[0] if item.startswith("⟨") else Term(item, is_word=True) for item in items)


def is_every(text: str) -> bool:
    """Return whether texts are joined by "and"."""
    return bool(re.search(r"[\w⟩]\s*(?:,\s*)?(?:\band\b|&)\s*[\w⟨]", text)) and not re.search(r"\bor\b", text)


def take_range(marked_text: MarkedText, paths: QuestionPaths) -> tuple[str, str]:
    """Take a span of revisions: "between v1 and v2", "since v1"; empty texts for none."""

    def revision(text: str) -> str:
        return marked_text.get_mark(text).text if text.startswith("⟨") else text

    for pattern in (_SPAN, _DOTS, _NOT_IN, _OF_COMMIT, _SINCE, _UNTIL):
        match = pattern.search(marked_text.text)
        if match is None:
            continue

        names = {name: revision(text) for name, text in match.groupdict().items() if text}
        # The patterns take any word; only a revision that exists makes it a span.
        names = {name: paths.find_revision(text) for name, text in names.items()}
        if all(names.values()):
            marked_text.text = marked_text.text[: match.start()] + " · " + marked_text.text[match.end() :]
            if pattern is _OF_COMMIT:
                return f"{names['head']}~1", names["head"]
            return names.get("base", ""), names.get("head", "")

    return "", ""


def take_authors(marked_text: MarkedText) -> tuple[str, ...]:
    """Take the authors of the commits."""
    authors: list[str] = []
    # One person for each form at most: further ones stay in the text, and are named as not applied.
    for pattern in (_BY, _BY_HANDLE, _DID, _POSSESSIVE, _FROM):
        match = pattern.search(marked_text.text)
        if match is None:
            continue
        groups = match.groupdict()
        person = groups["person"] or groups["plain"]
        authors.append(marked_text.get_mark(person).text if person.startswith("⟨") else person)
        end = match.start("verb") if pattern is _DID else match.end()
        left_text = "commits " if pattern is _FROM else f"{match['adverb'] or ''} " if pattern is _DID else ""
        marked_text.text = f"{marked_text.text[: match.start()]} · {left_text}{marked_text.text[end:]}"

    return tuple(dict.fromkeys(authors))


def take_messages(marked_text: MarkedText) -> dict[str, Any]:
    """Take the texts of commit messages, and whether a message needs all of them."""
    match = marked_text.remove(_MESSAGE)
    if match is None:
        return {"messages": ()}
    return {"messages": terms_of(marked_text, match["terms"]), "every_message": is_every(match["terms"])}


def take_changed_text(marked_text: MarkedText) -> dict[str, Any]:
    """Take the texts that commits add or remove, and which of the two; empty without such texts."""
    match = marked_text.remove(_CHANGED_TEXT)
    if match is None:
        return {}
    verb = match["verb"].lower()
    side = "added" if verb.startswith(("add", "intro")) else "removed" if verb.startswith(("remov", "delet")) else ""
    terms = terms_of(marked_text, match["terms"])
    return {"relation": "change", "terms": terms, "every": is_every(match["terms"]), "side": side}


def take_paths(
    marked_text: MarkedText, question_paths: QuestionPaths, *, of_history: bool, removed: bool = False
) -> dict[str, Any]:
    """Take the files that count, by path, directory, test and language, and those that don't.

    A path that isn't in the searched commits counts only in questions about history (`of_history`); otherwise it stays
    in the text. In questions about removals (`removed`), a former path comes before current paths that end with it.
    """
    fields: dict[str, Any] = {}
    # First, because "outside of src" contains "of src".
    _take_without(marked_text, question_paths, fields)
    paths: list[PathScope] = []
    names: dict[PathScope, str] = {}
    position, text = 0, marked_text.text
    while (match := _IN_PATH.search(marked_text.text, position)) is not None:
        scopes = [
            _find_scope(question_paths, mark.text, of_history=of_history, removed=removed)
            for mark in marked_text.get_marks(match["path"])
        ]
        if all(
            scope.exists or (of_history and (is_path(scope.source_text, strict=True) or scope.was_there))
            for scope in scopes
        ):
            paths += scopes
            if len(scopes) == 1:
                names[scopes[0]] = match["path"]
            marked_text.text = marked_text.text[: match.start()] + " · " + marked_text.text[match.end() :]
        else:
            position = match.end()

    for pattern in (_IN_FOLDER, _IN_WORD):
        position = 0
        while (match := pattern.search(marked_text.text, position)) is not None:
            word_text = next(group for group in match.groups() if group)
            word = marked_text.get_mark(word_text).text if word_text.startswith("⟨") else word_text
            scope = (
                question_paths.find(f"{word}/")
                if question_paths.is_folder(word)
                else question_paths.find(word)
                if "." in word
                else None
            )
            if scope is None:
                position = match.end()
                continue

            paths.append(scope)
            names[scope] = word_text
            marked_text.text = marked_text.text[: match.start()] + " · " + marked_text.text[match.end() :]

    if paths:
        fields["paths"], unread = nest_folders(text, paths, names, question_paths)
        for scope in unread:
            # No count is stated of a directory that isn't there: its name is not applied.
            name = scope.source_text.rstrip("/")
            marked_text.text += f" · {marked_text.add(Mark('X', name, name))} "

    if "tests" not in fields and marked_text.remove(_TESTS) is not None:
        fields["tests"] = True

    languages: list[str] = []
    while (match := marked_text.remove(_LANGUAGES)) is not None:
        languages += [mark.text for mark in marked_text.get_marks(match["marks"])]

    if languages:
        fields["languages"] = tuple(dict.fromkeys(languages))

    return fields


def _take_without(marked_text: MarkedText, question_paths: QuestionPaths, fields: dict[str, Any]) -> None:
    without: list[PathScope] = []
    position = 0
    while (match := _WITHOUT.search(marked_text.text, position)) is not None:
        scope: PathScope | None = None
        if match["path"]:
            scope = question_paths.find(marked_text.get_mark(match["path"]).text)
        elif match["word"] and question_paths.is_folder(match["word"]):
            scope = question_paths.find(f"{match['word']}/")

        if match["tests"] or match["non"]:
            fields["tests"] = False
        elif scope is not None:
            without.append(scope)
        else:
            position = match.end()
            continue

        marked_text.text = marked_text.text[: match.start()] + " · " + marked_text.text[match.end() :]

    if without:
        fields["without"] = tuple(without)


def _find_scope(question_paths: QuestionPaths, text: str, *, of_history: bool, removed: bool) -> PathScope:
    """Return the files of a path: current ones, former ones, or a path that never existed."""
    scope = question_paths.find(text)
    is_exact = scope is not None and scope.pattern.startswith("^")
    if of_history and (scope is None or (removed and not is_exact)):
        scope = question_paths.find_past(text) or scope
    return scope or past_scope(text, text)

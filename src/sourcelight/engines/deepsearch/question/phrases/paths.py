"""Take the files that count: by path, directory, test and language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sourcelight.engines.deepsearch.question.marks import GAP, Mark, MarkedText
from sourcelight.engines.deepsearch.question.request import PathScope, QuestionPaths, Term, nest_folders, past_scope
from sourcelight.engines.deepsearch.question.vocabulary import is_path

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
# "in ⟨P0⟩", "the files ⟨P0⟩ and ⟨P1⟩", "⟨P0⟩ directory"
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
# "At the top level of the repo", "in the root directory", "in the repository root".
AT_TOP = re.compile(
    r"\b(?:directly\s+|right\s+)?(?:at|in|on)\s+(?:the\s+|its\s+|our\s+)?"
    r"(?:(?:very\s+)?top(?:most)?[ -]level(?:\s+(?:folder|directory|dir))?"
    r"|(?:(?:repo|repository|project)(?:sitory)?(?:'s)?\s+)?root(?:\s+(?:folder|directory|dir|level))?)"
    r"(?:\s+of\s+(?:(?:the|this|our)\s+)?(?:repo|repository|project|tree|code ?base|checkout)|(?!\s+of\b))(?!\w)",
    re.IGNORECASE,
)
# "in Go", "Python and Rust files"
_LANGUAGES = re.compile(
    r"(?:\b(?:written |implemented |coded? )?(?:in|of|with|use|uses|using)\s+)?(?P<marks>⟨G\d+⟩(?:\s*(?:,"
    r"|and|or)\s*⟨G\d+⟩)*)(?:\s+(?:source\s+)?(?:code|sources?|files?)\b)?",
    re.IGNORECASE,
)


def take_paths(
    marked_text: MarkedText, question_paths: QuestionPaths, *, of_history: bool, removed: bool = False
) -> dict[str, Any]:
    """Take the files that count, by path, directory, test and language, and those that don't.

    A path that isn't in the searched commits counts only in questions about history (`of_history`); otherwise it stays
    in the text. In questions about removals (`removed`), a former path comes before current paths that end with it.
    """
    # First, because "outside of src" contains "of src".
    fields = _take_without(marked_text, question_paths)
    text = marked_text.text
    named_paths = _take_marked_paths(marked_text, question_paths, of_history=of_history, removed=removed)
    named_paths += _take_words(marked_text, question_paths)
    if named_paths:
        scopes = [path.scope for path in named_paths]
        names = {path.scope: path.name for path in named_paths if path.name}
        fields["paths"], unread = nest_folders(text, scopes, names, question_paths)
        for scope in unread:
            # No count is stated of a directory that isn't there: its name is not applied.
            name = scope.source_text.rstrip("/")
            marked_text.text += f"{GAP}{marked_text.add(Mark('X', name, name))} "

    if "tests" not in fields and marked_text.remove(_TESTS) is not None:
        fields["tests"] = True

    languages: list[str] = []
    match = marked_text.remove(_LANGUAGES)
    while match is not None:
        languages += [mark.text for mark in marked_text.get_marks(match["marks"])]
        match = marked_text.remove(_LANGUAGES)

    if languages:
        fields["languages"] = tuple(dict.fromkeys(languages))

    return fields


# "⟨P0⟩ to ⟨P1⟩", "was ⟨P0⟩ moved to ⟨N1⟩"
_RENAMED_TO = re.compile(
    r"(?P<old>⟨P\d+⟩)(?:\s+file)?[\s·]+(?:(?:was|were|been|got|get)\s+)*(?:(?:renamed|moved|changed)\s+)?"
    r"(?:in)?to\s+(?:the\s+)?(?P<new>⟨[NPQ]\d+⟩)",
    re.IGNORECASE,
)


def take_rename(marked_text: MarkedText, question_paths: QuestionPaths) -> dict[str, Any] | None:
    """Take the two names of a rename: the former path is the subject, and `value` the new name; None without both."""
    text = marked_text.text
    match = _RENAMED_TO.search(text)
    if match is None:
        return None

    new_name = marked_text.text_of(match["new"])
    marked_text.text = f"{text[: match.end('old')]} {text[match.end() :]}"
    return {"value": new_name, **take_paths(marked_text, question_paths, of_history=True, removed=True)}


@dataclass(frozen=True, slots=True)
class _NamedPath:
    """A path that a question names: its name in the text, which is empty for one of a list, and its files."""

    name: str
    scope: PathScope


def _take_marked_paths(
    marked_text: MarkedText, question_paths: QuestionPaths, *, of_history: bool, removed: bool
) -> list[_NamedPath]:
    """Take paths that have marks, such as "in ⟨P0⟩", where all paths of a list count."""
    named_paths: list[_NamedPath] = []
    position = 0
    match = _IN_PATH.search(marked_text.text)
    while match is not None:
        scopes = [
            _find_scope(question_paths, mark.text, of_history=of_history, removed=removed)
            for mark in marked_text.get_marks(match["path"])
        ]
        if all(_counts(scope, of_history=of_history) for scope in scopes):
            name = match["path"] if len(scopes) == 1 else ""
            named_paths += [_NamedPath(name, scope) for scope in scopes]
            marked_text.replace_match(match)
        else:
            position = match.end()

        match = _IN_PATH.search(marked_text.text, position)

    return named_paths


def _counts(scope: PathScope, *, of_history: bool) -> bool:
    """Return whether a question can be about a path: of a searched commit, or of an earlier one."""
    return scope.exists or (of_history and (is_path(scope.source_text, strict=True) or scope.was_there))


def _take_words(marked_text: MarkedText, question_paths: QuestionPaths) -> list[_NamedPath]:
    """Take words that are directories or files: "the src folder", "in src", "in main.py"."""
    named_paths: list[_NamedPath] = []
    for pattern in (_IN_FOLDER, _IN_WORD):
        position = 0
        match = pattern.search(marked_text.text)
        while match is not None:
            name = next(group for group in match.groups() if group)
            scope = _scope_of_word(question_paths, marked_text.text_of(name))
            if scope is None:
                position = match.end()
            else:
                named_paths.append(_NamedPath(name, scope))
                marked_text.replace_match(match)

            match = pattern.search(marked_text.text, position)

    return named_paths


def _scope_of_word(question_paths: QuestionPaths, word: str) -> PathScope | None:
    """Return the files of a word that is a directory, or a file with a dot in its name; None for another word."""
    if question_paths.is_folder(word):
        return question_paths.find(f"{word}/")
    if "." in word:
        return question_paths.find(word)
    return None


def _take_without(marked_text: MarkedText, question_paths: QuestionPaths) -> dict[str, Any]:
    """Take the files that don't count: fields ``without`` and ``tests``, if the question has them."""
    fields: dict[str, Any] = {}
    without: list[PathScope] = []
    position = 0
    match = _WITHOUT.search(marked_text.text)
    while match is not None:
        scope: PathScope | None = None
        if match["path"]:
            scope = question_paths.find(marked_text.text_of(match["path"]))
        elif match["word"] and question_paths.is_folder(match["word"]):
            scope = question_paths.find(f"{match['word']}/")

        if match["tests"] or match["non"]:
            fields["tests"] = False
            marked_text.replace_match(match)
        elif scope is not None:
            without.append(scope)
            marked_text.replace_match(match)
        else:
            position = match.end()

        match = _WITHOUT.search(marked_text.text, position)

    if without:
        fields["without"] = tuple(without)
    return fields


def _find_scope(question_paths: QuestionPaths, text: str, *, of_history: bool, removed: bool) -> PathScope:
    """Return the files of a path: current ones, former ones, or a path that never existed."""
    scope = question_paths.find(text)
    is_exact = scope is not None and scope.pattern.startswith("^")
    if of_history and (scope is None or (removed and not is_exact)):
        scope = question_paths.find_past(text) or scope
    return scope or past_scope(text, text)


_ENTRY_NOUN = (
    r"(?:support|language|entry|key|option|setting|rule|line|section|item|dependency|package|target|job|step|file|function"
    r"|method|class|test|comment|note|link|badge|field|type|command|it|them|everything|something)s?"
)
_ENTRY = (
    rf"(?P<entry{{number}}>(?:an?\s+|the\s+)?(?!{_ENTRY_NOUN}\b)(?P<word{{number}}>[\w+#.-]{{{{2,60}}}}?)"
    rf"(?:\s+{_ENTRY_NOUN})?)"
)
_OF_FILE = re.compile(
    rf"\b(?:add(?:ed)?|introduced?|put|removed?|deleted?|dropped|took|listed)\s+{_ENTRY.format(number=1)}"
    rf"\s+(?:to|into|in|from|out of)\s+(?:the\s+)?(?=⟨P(?P<path1>\d+)⟩)"
    rf"|\b(?:was|were|did)\s+{_ENTRY.format(number=2)}\s+(?:added|introduced|removed|deleted|dropped|listed)"
    rf"\s+(?:to|into|in|from)\s+(?:the\s+)?(?=⟨P(?P<path2>\d+)⟩)",
    re.IGNORECASE,
)
"""A word that a commit adds to a file: "who added Svelte support to languages.json"."""
_DATA = re.compile(r"\.(?:json|ya?ml|toml|cfg|ini|conf|xml|csv|txt|lock|properties|env|md|rst)$", re.IGNORECASE)
"""Files in which each word is an entry."""


def take_entry(marked_text: MarkedText) -> Term | None:
    """Take the word that was added to a file or removed from it; None for a question about the file itself."""
    match = _OF_FILE.search(marked_text.text)
    if match is None:
        return None

    number = "1" if match["entry1"] is not None else "2"
    word = match[f"word{number}"]
    path = marked_text.marks[int(match[f"path{number}"])].text
    is_name = not (word.isalpha() and word.islower()) or _DATA.search(path) is not None
    if not is_name or path.endswith("/"):
        return None

    start, end = match.span(f"entry{number}")
    marked_text.text = f"{marked_text.text[:start]} {marked_text.text[end:]}"
    return Term(word, is_word=True)

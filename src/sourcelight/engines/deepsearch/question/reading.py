"""Read questions for facts into requests; words that were not understood are named in them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

from sourcelight.engines.deepsearch.question.counts import CountReader, expand_count_wording, read_modules, read_parts
from sourcelight.engines.deepsearch.question.events import ONE_COMMIT, WHEN, WHO, read_commit, read_event
from sourcelight.engines.deepsearch.question.file_kinds import ANY_FOLDER, IN_BRACKETS, mark_file_kinds
from sourcelight.engines.deepsearch.question.grammar import (
    GLUE,
    LIST,
    MANY,
    MANY_SUBTYPES,
    POLITE,
    SUBTYPES,
    TOTAL,
    VERB_AS_NAME,
    WHAT_DEPENDS,
    WHAT_DOES,
)
from sourcelight.engines.deepsearch.question.marks import MarkedText
from sourcelight.engines.deepsearch.question.periods import take_period
from sourcelight.engines.deepsearch.question.phrases import AT_TOP, is_every, take_paths, take_range
from sourcelight.engines.deepsearch.question.request import (
    FactRequest,
    PathScope,
    QuestionPaths,
    endings_within,
    in_any_directory,
)
from sourcelight.engines.deepsearch.question.vocabulary import (
    NOUN,
    is_path,
    kind_of_noun,
    mark_languages,
    mark_names,
    mark_paths,
)

MAX_CHARACTERS = 1_000
"""Longer questions hold listings or messages of errors, and ask for no number."""


_OF_BEHAVIOR = re.compile(
    r"\W*how (?:does|do|is|are|can) (?:it|the|a|an|this|we)\b.*\bhow (?:many|much|often)\b", re.IGNORECASE
)
"""Questions about behavior, in which "how many" is not a count."""
_OF_PURPOSE = re.compile(r"\W*what\s+(?:does|do)\s+(?:the\s+)?[\w.:`-]+(?:\s+\w+)?\s+do\W*", re.IGNORECASE)
"""Questions for a purpose: `Header` of "what does Header do" is a name, and counts nothing."""
_OF_PAST = re.compile(
    r"^\W*(?:who|when|since when|by whom|which (?:commit|author|person))\b"
    r"|\b(?:commits?|chang|touch|remov|delet|renam|moved|authors?)",
    re.IGNORECASE,
)
"""Questions whose path may have been removed; only these open histories."""


_UNTESTED = re.compile(
    r"\b(?:class(?:es)?|functions?|methods?|modules?|structs?|traits?|packages?|commits?)(?:\s+(?:are|is)\s+there)?"
    r"\s+(without\s+(?:(?:a|any|unit)\s+)*tests?)\b(?!\s+(?:files?|code|folders?))",
    re.IGNORECASE,
)
"""Nouns of things that have no tests: that is not the same as things outside of tests."""


def read_request(text: str, paths: QuestionPaths, now: datetime) -> FactRequest | None:
    """Read a question without its repository names; None if it asks for no such facts."""
    if len(text) > MAX_CHARACTERS or _OF_BEHAVIOR.match(text) is not None or _OF_PURPOSE.fullmatch(text) is not None:
        return None

    text = expand_count_wording(POLITE.sub("", text), paths)
    of_folder = read_parts(text, paths)
    if paths.is_one_repository():
        text = _IN_REPOSITORY.sub(" ", text)
        of_folder = of_folder or read_parts(text, paths)

    if of_folder is not None:
        return of_folder

    text = IN_BRACKETS.sub(r"\g<asks> \g<ending> files ", text)
    marked_text = MarkedText.from_text(_FORM_OF_TESTS.sub("", text))
    marked_text.mark(_UNTESTED, "U", lambda match: match[1], 1)
    if (of_commit := read_commit(marked_text, paths)) is not None:
        return FactRequest(**of_commit)

    mark_paths(marked_text)
    unmarked = _unmark_absent(marked_text, paths)
    mark_file_kinds(marked_text, paths)
    period = take_period(marked_text, now)
    base, head = take_range(marked_text, paths)
    mark_names(marked_text)
    _mark_files(marked_text, paths)
    _mark_folders(marked_text, paths)
    mark_languages(marked_text)
    fields_of_all: dict[str, Any] = {"period": period, "base": base, "head": head}
    marked_text.text = SUBTYPES.sub("which classes implement ", marked_text.text)
    marked_text.text = MANY_SUBTYPES.sub("how many classes implement ", marked_text.text)
    fields = _read_dependencies(marked_text)
    if fields is None:
        fields = read_event(marked_text, paths)

    if fields is None:
        fields = CountReader(marked_text, paths).read()

    if fields is None:
        return None

    texts = {term.text for term in (*fields.get("terms", ()), *fields.get("messages", ()))}
    fields_of_all["as_text"] = tuple(text for text in unmarked if text in texts)
    return _with_rest(marked_text, {**fields_of_all, **fields}, paths)


_IN_REPOSITORY = re.compile(
    r"\s(?:in|of|within|across|inside) (?:the|this|our) (?:(?:whole|entire) )?(?:repo(?:sitory)?|project|code ?base)"
    r"(?=\s*(?:[?.!]|$))"
    r"|\s(?:does|do) (?:the|this|our) (?:repo(?:sitory)?|project|code ?base)(?=\s(?:have|contain|define|declare)\b)",
    re.IGNORECASE,
)
"""Words for the only repository that is searched, at the end of a question or as its subject."""


_FORM_OF_TESTS = re.compile(
    r"(?<=many )`?(?:it|test|specify|test_that|deftest|ert-deftest|@test|@Test|TEST)(?:\(\))?`? "
    r"(?=tests?\b|test cases?\b)"
)
"""The form of tests before the noun, as in "how many it() tests", which the customs of their language have anyway."""


def _mark_files(marked_text: MarkedText, paths: QuestionPaths) -> None:
    """Read a name as a path in a question for a person or a date if a file is called so.

    Names of files without a known ending, such as ``DESCRIPTION`` and ``BUILD.bazel``, have the form of names in code.
    """
    if WHO.search(marked_text.text) is None and WHEN.search(marked_text.text) is None:
        return

    for number, mark in enumerate(marked_text.marks):
        if mark.kind not in {"N", "Q"} or f"⟨{mark.kind}{number}⟩" not in marked_text.text:
            continue
        scope = paths.find(mark.text)
        is_same = scope is not None and scope.is_file and (scope.glob == mark.text or "." in mark.text)
        if is_same and re.search(r"[*\s]", mark.text) is None:
            marked_text.text = marked_text.text.replace(f"⟨{mark.kind}{number}⟩", f"⟨P{number}⟩")
            marked_text.marks[number] = replace(mark, kind="P")

    def file(match: re.Match[str]) -> str | None:
        scope = paths.find(match[0])
        return match[0] if scope is not None and scope.is_file and scope.glob == match[0] else None

    marked_text.mark(_HYPHENATED, "P", file)


_HYPHENATED = re.compile(r"(?<![\w⟨./-])(?:[A-Za-z]\w{0,60}(?:-\w{1,60}){1,8}|(?<=\s)[A-Z]\w{2,60})(?![\w⟩/.-])")
"""A name such as ``MIT-LICENSE`` or ``Earthfile``, which may be that of a file at the top."""


def _mark_folders(marked_text: MarkedText, paths: QuestionPaths) -> None:
    """Mark a directory that is called as a language, such as ``R``, where a language can't stand: "files are in R"."""

    def folder(match: re.Match[str]) -> str | None:
        return f"{match[1]}/" if paths.is_folder(match[1]) else None

    marked_text.mark(_IN_FOLDER, "P", folder, 1)


_IN_FOLDER = re.compile(
    r"\bfiles\s+(?:of\s+⟨P\d+⟩\s+)?(?:are |is )?(?:there )?in (?:the )?([A-Za-z][\w-]{0,60})(?=\s*\??\s*$)"
)


def _unmark_absent(marked_text: MarkedText, paths: QuestionPaths) -> list[str]:
    """Read a/b, as in HTTP/2, as text unless it is a path of the searched commits or has an extension.

    Returns these texts.
    """
    of_past = _OF_PAST.search(marked_text.text) is not None
    unmarked = []
    for number, mark in enumerate(marked_text.marks):
        if mark.kind != "P" or is_path(mark.text, strict=True) or paths.find(mark.text) is not None:
            continue
        if of_past and paths.find_past(mark.text) is not None:
            continue
        unmarked.append(mark.text)
        marked_text.marks[number] = replace(mark, kind="N")
        marked_text.text = marked_text.text.replace(f"⟨P{number}⟩", f"⟨N{number}⟩")

    return unmarked


def asks_for_facts(text: str) -> bool:
    """Return whether a question has the form of one for a number, a list, a person or a date."""
    if len(text) > MAX_CHARACTERS:
        return False
    text = POLITE.sub("", text)
    patterns = (MANY, TOTAL, LIST, WHO, WHEN, WHAT_DEPENDS, WHAT_DOES, ONE_COMMIT)
    return any(pattern.search(text) is not None for pattern in patterns)


def _with_rest(marked_text: MarkedText, fields: dict[str, Any], paths: QuestionPaths) -> FactRequest:
    """Take the remaining conditions on files, and name the remaining words."""
    of_history = fields["kind"] in {"commits", "authors", "who", "when", "changed_lines"}
    if fields["kind"] == "files" and marked_text.remove(AT_TOP) is not None:
        fields["without"] = (*fields.get("without", ()), ANY_FOLDER)
    for name, value in take_paths(marked_text, paths, of_history=of_history).items():
        if isinstance(value, tuple):
            fields[name] = tuple(dict.fromkeys((*fields.get(name, ()), *value)))
        else:
            fields.setdefault(name, value)

    if fields["kind"] in _IN_CLASS and not fields.get("paths") and not fields.get("relation"):
        fields["paths"] = _take_class(marked_text, paths)

    is_of_files = fields["kind"] == "files"
    scopes = fields.get("paths", ())
    fields["paths"] = endings_within(map(in_any_directory, scopes) if is_of_files else scopes, of_names=is_of_files)

    return FactRequest(**fields, ignored=ignored_words(marked_text))


_IMPORTING_MODULE = re.compile(r"(?:modules?|packages?|class(?:es)?|scripts?)", re.IGNORECASE)
_IN_CLASS = frozenset({"tests", "lines", "definitions", "declared"})
"""Things that a class has, so that the file called as it tells where to count them."""
_OF_CLASS = re.compile(
    r"\b(?:in|of|within|inside|does|do)\s+(?:the\s+)?(?:(?:test\s+)?(?:class|suite|module|file|spec|type|object)\s+)?"
    r"(?P<name>⟨N\d+⟩)(?:\s+(?:class|module|behaviou?r|package|namespace|protocol))?"
)
_MODULE_ENDINGS = (".ex", ".pm", ".rb", ".cr", ".jl", ".py", ".lua")
"""Endings of files that are called like the modules in them: ``Mill.Engine`` is in mill/engine.ex."""


def _take_class(marked_text: MarkedText, paths: QuestionPaths) -> tuple[PathScope, ...]:
    """Take the file of a class: "how many tests does QueueTest have" counts those of ``QueueTest.kt``."""
    match = _OF_CLASS.search(marked_text.text)
    name = "" if match is None else marked_text.get_mark(match["name"]).text
    scope = paths.find_named(name) if name else None
    if re.search(r"\.|::", name) is not None:
        parts = re.split(r"\.|::", name)
        stems = ("/".join(parts), "/".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part).lower() for part in parts))
        files = [paths.find(f"{stem}{ending}") for stem in stems for ending in _MODULE_ENDINGS]
        scope = next((file for file in files if file is not None), scope)
    if match is None or scope is None:
        return ()

    marked_text.text = f"{marked_text.text[: match.start()]} · {marked_text.text[match.end() :]}"
    return (scope,)


def ignored_words(marked_text: MarkedText) -> tuple[str, ...]:
    """Return the remaining words that carry meaning."""
    remaining = re.sub(
        r"⟨[A-Z](\d+)⟩",
        lambda match: f" {marked_text.marks[int(match[1])].source_text.replace(' ', chr(160))} ",
        marked_text.text,
    )
    remaining = remaining.replace("\u2019", "'")
    names = {match["name"] for match in VERB_AS_NAME.finditer(remaining)}
    words = [word.strip(".,;:!?()[]'\"“”\u2019") for word in re.split(r"[ \n\t·]+", remaining)]
    return tuple(
        dict.fromkeys(
            word.replace(chr(160), " ")
            for word in words
            if word and (word.lower() not in GLUE or word in names) and re.search(r"\w", word)
        )
    )


def _read_dependencies(marked_text: MarkedText) -> dict[str, Any] | None:
    """Read questions for dependents and dependencies."""
    if (match := WHAT_DEPENDS.search(marked_text.text)) is not None:
        noun = NOUN.search(match["noun"] or "")
        kind = kind_of_noun(noun) if noun is not None else "repositories"
        # A module that imports another one is a file in most languages.
        if noun is not None and _IMPORTING_MODULE.fullmatch(noun[0]) is not None:
            kind = "files"
        if (match["noun"] and noun is None) or kind not in {"repositories", "files"}:
            return None

        marked_text.text = marked_text.text[: match.start()] + " · " + marked_text.text[match.end() :]
        return {
            "kind": kind if noun is not None else "dependents",
            "relation": "import",
            "terms": read_modules(marked_text, match["terms"]),
            "every": is_every(match["terms"]),
            "is_list": True,
        }

    if (match := WHAT_DOES.search(marked_text.text)) is not None:
        marked_text.text = f" · {match['rest']} · "
        return {"kind": "dependencies", "is_list": True}

    return None

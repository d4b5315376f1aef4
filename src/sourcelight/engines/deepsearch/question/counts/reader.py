"""Read questions for a number or a list: the words that ask for it, and the noun that is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sourcelight.core.query.file_kinds import is_test
from sourcelight.engines.deepsearch.question.counts.conditions import CountConditions
from sourcelight.engines.deepsearch.question.file_kinds import all_headers, headers_of
from sourcelight.engines.deepsearch.question.grammar import (
    ADJECTIVE,
    CODE_LINES,
    EXPORT_VERB,
    EXPORTED,
    FOLLOWED,
    HEAD,
    LIST,
    MANY,
    NUMBER_IN_PASSING,
    SAME,
    SKIPPED,
    TESTS_BY_FORM,
    TODO,
    TOGETHER,
    TOTAL,
    VERBS,
)
from sourcelight.engines.deepsearch.question.groups import take_group
from sourcelight.engines.deepsearch.question.marks import Mark, MarkedText
from sourcelight.engines.deepsearch.question.phrases import TERMS, take_paths
from sourcelight.engines.deepsearch.question.request import PathScope, QuestionPaths
from sourcelight.engines.deepsearch.question.vocabulary import NOUN, SYMBOLS, kind_of_noun

_DEFAULT_OF = re.compile(r"\bby default\b", re.IGNORECASE)
_BY_DEFAULT = re.compile(r"\b(?:by default|at most|at once|at a time|before)\b", re.IGNORECASE)
"""Words of a question for a value that has no noun to count: "how many connections are there at most"."""

# Of a file of tests, its specs or examples are the tests.
_EXAMPLES = re.compile(r"\b(?:specs|examples)\b", re.IGNORECASE)
"""Tests, where a question is about a file of them."""
# "overloads of the function ⟨N0⟩"
_OVERLOADS = re.compile(
    r"\boverloads?\s+(?:of|for)\s+(?:the\s+)?(?:function\s+|method\s+)?(?P<name>⟨[NQ]\d+⟩|\w+)", re.IGNORECASE
)
# "and methods", behind the noun that is counted
_NEXT_NOUN = re.compile(rf"^[\s·]*(?:and|or|,)\s+(?P<noun>{NOUN.pattern})", re.IGNORECASE)

# Words before "TODO" that make it a text to look for: "files with a TODO", "more than 5 TODOs"
_WITH_TODO = re.compile(
    r"\b(?:with|contain\w*|have|has|most|mention\w*|more than|at least|than)\s+(?:the\s+|\d+\s+|most\s+)*$",
    re.IGNORECASE,
)
# The ones of them that ask for its lines: "the most TODOs"
_MOST_TODO = re.compile(r"\b(?:most|more than|at least|than)\s+(?:\d+\s+)?$")


class CountReader:
    """Reads a question for a number or a list."""

    def __init__(self, marked_text: MarkedText, paths: QuestionPaths) -> None:
        self.marked_text = marked_text
        self.paths = paths
        self.fields: dict[str, Any] = {}
        self.noun = ""
        self.is_how_often = False

    def read(self) -> dict[str, Any] | None:  # noqa: PLR0911 - one for each kind of question that asks for none
        """Return the fields of a request; None if the question asks for no number and no list."""
        self._reword()
        many = MANY.search(self.marked_text.text)
        if many is not None and self._takes_exports(many):
            return {"is_list": False, "kind": "exports"}

        trigger = self._take_trigger()
        if trigger is None:
            return None

        kind = self._kind(trigger)
        is_list = self.fields["is_list"]
        is_mass = trigger[0].lower() == "how much"
        if kind is None and is_mass and "⟨G" in self.marked_text.text:
            # "How much Go is there" means lines of that language.
            kind = "lines"
        elif kind is None and not is_mass and not is_list and re.search(TERMS, self.marked_text.text):
            # "How many `foo`?" without a noun counts the text itself.
            kind = "occurrences"

        if kind is None:
            # "How many connections are there by default" asks for a value, and "how much space" for nothing to count.
            if is_list or is_mass or _BY_DEFAULT.search(self.marked_text.text) is not None:
                return None
            return {"kind": "unknown"}

        if is_list and kind in {"occurrences", "other", "declared"} and "group" not in self.fields:
            return None

        if kind == "other":
            return {**self.fields, "kind": "unsupported", "subject": self.noun}

        if kind == "declared":
            self.fields["subject"] = self.noun

        has_no_noun = kind == "occurrences" and not self.noun and not self.is_how_often
        self._set_kind(kind)
        conditions = CountConditions(
            self.marked_text, self.paths, self.fields, noun=self.noun, is_how_often=self.is_how_often
        )
        conditions.take()

        # "How many `it()` blocks": no verb says that the name is a text to count, and lines of a file aren't meant.
        if has_no_noun and self.fields["kind"] == "occurrences" and not self.fields.get("terms"):
            return {"kind": "unknown"}

        # Grouped by something, but of what? The ranking then finds places that explain it.
        if self.fields.get("group") and self.fields["kind"] == "occurrences" and not self.fields.get("terms"):
            return None

        return self._of_file_kind()

    def _reword(self) -> None:
        """Replace forms of a question by others that the patterns below know."""
        marked_text = self.marked_text
        marked_text.text = CODE_LINES.sub(" lines in ", marked_text.text)
        marked_text.text = _OVERLOADS.sub(r"functions and methods named \g<name>", marked_text.text)
        if any(_is_test_file(mark) for mark in marked_text.marks):
            marked_text.text = _EXAMPLES.sub("tests", marked_text.text)

        marked_text.text = TESTS_BY_FORM.sub("tests", marked_text.text)

    def _take_trigger(self) -> re.Match[str] | None:
        """Take the words that ask for a number or a list, such as "how many"; None for another question."""
        marked_text = self.marked_text
        trigger = _find_trigger(marked_text.text)
        # "What directory does it serve by default" asks for a value, and "how many rows does it read" then, too.
        if trigger is None or _DEFAULT_OF.search(marked_text.text) is not None:
            return None

        pattern = trigger.re
        self.fields["is_list"] = pattern is LIST
        # Before the noun is read, since "TODOs" would be an unknown one. It shifts the text, so the trigger is searched
        # again.
        marked_text.text = TODO.sub(self._todo, marked_text.text)
        if pattern is not LIST:
            pattern = MANY if MANY.search(marked_text.text) is not None else TOTAL

        trigger = pattern.search(marked_text.text) or trigger
        marked_text.replace_match(trigger)
        return trigger

    def _takes_exports(self, many: re.Match[str]) -> bool:
        """Take exported names as the thing that is counted; return whether the question counts them."""
        text = self.marked_text.text
        exported = EXPORTED.search(text, many.end())
        if exported is None:
            return False

        text = f"{text[: many.start()]} · {text[many.end() : exported.start()]} · {text[exported.end() :]}"
        self.marked_text.text = EXPORT_VERB.sub(" · ", text, count=1)
        return True

    def _of_file_kind(self) -> dict[str, Any]:
        """Narrow the count to headers or notebooks; scripts, documents and pages are named as not applied."""
        word = self.noun.lower()
        if _kind_of(word) != "files" or word in {"file", "files"}:
            return self.fields

        of_history = self.fields["kind"] in {"commits", "authors", "changed_lines"}
        for name, value in take_paths(self.marked_text, self.paths, of_history=of_history).items():
            if isinstance(value, tuple):
                self.fields[name] = (*self.fields.get(name, ()), *value)
            else:
                self.fields[name] = value

        paths: Sequence[PathScope] = self.fields.get("paths", ())
        if word.startswith("source ") and not (self.fields.get("languages") or self.fields.get("relation")):
            self.fields["relation"] = "source"
            return self.fields

        if "header" in word and all(path.pattern.endswith("/") for path in paths):
            self.fields["paths"] = tuple(headers_of(path) for path in paths) or (all_headers(self.noun),)
        elif "notebook" in word and not self.fields.get("languages"):
            self.fields["languages"] = ("Jupyter Notebook",)
        elif "header" in word or not self.fields.get("languages"):
            # Paths are alternatives, so "headers and src/a.c" can't require both; "headers" is named as not applied.
            self.marked_text.text += f" · {self.marked_text.add(Mark('N', word, self.noun))} "

        return self.fields

    def _todo(self, match: re.Match[str]) -> str:
        """Replace a TODO by a term to search for, or by "lines with" it if it is a thing, as in "TODO comments"."""
        # "TODO/FIXME comments" means either of them.
        markers = re.findall(r"TODO|FIXME|XXX|HACK", match["word"].upper())
        name = " or ".join(self.marked_text.add(Mark("N", word, word)) for word in markers)
        if not (match["noun"] or match["many"]):
            return f" {name} "

        before = self.marked_text.text[: match.start()]
        if _WITH_TODO.search(before) is None:
            return f" lines with {name} "

        if _MOST_TODO.search(before) is None:
            return f" {name} "

        return f" {name} lines "

    def _kind(self, trigger: re.Match[str]) -> str | None:
        """Return the kind of thing that is counted: by the trigger, by a group, or by the noun; None for none."""
        trigger_text = trigger[0].lower()
        self.is_how_often = trigger_text.startswith(("how often", "how freq"))
        if self.is_how_often:
            return "occurrences"
        if trigger_text.startswith(("how big", "how large", "how long")):
            return "lines"

        group = take_group(self.marked_text, is_list=bool(self.fields["is_list"]))
        if group is not None:
            self.fields |= {
                "group": group.group,
                "is_top": group.is_top,
                "is_fewest": group.is_fewest,
                "threshold": group.threshold,
            }
            if group.measure:
                return group.measure

        return self._head(trigger.start())

    def _head(self, start: int) -> str | None:
        """Take the noun to count: the last of consecutive nouns."""
        text = self.marked_text.text
        position = start
        before = start
        kind: str | None = None
        while True:
            position = _end_of_skipped(SKIPPED if kind is None else SAME, text, position)
            noun = HEAD.match(text, position)
            if noun is None and kind is None:
                # "Public functions": the adjective stays in the text, and is named as not applied.
                adjective = ADJECTIVE.match(text, position)
                if adjective is not None:
                    noun = HEAD.match(text, adjective.end())

            if noun is None:
                break

            word = noun["noun"].lower()
            # Some nouns are verbs, too: in "files import `os`", the second one isn't counted.
            if kind is not None and word in VERBS and FOLLOWED.match(text, noun.end()):
                break
            if kind == "lines" and kind_of_noun(noun) == "other":
                break

            noun_kind = kind_of_noun(noun)
            position = noun.end()
            if kind == "tests" and noun_kind == "files":
                self.fields["tests"] = True
            elif kind in SYMBOLS and noun_kind == "definition":
                noun_kind = kind
            # The earlier noun narrows the later one, so it goes back into the text as a condition.
            elif kind not in {None, noun_kind} and (kind, noun_kind) not in TOGETHER:
                text = text[:before] + self.noun + text[before + len(self.noun) :]

            self.noun = noun["noun"]
            kind = noun_kind
            before = noun.start("noun")

            # Blanks of the same length, so that positions in the text stay valid.
            text = text[:before] + " " * (noun.end() - before) + text[noun.end() :]

        self.marked_text.text = text
        return kind

    def _set_kind(self, kind: str) -> None:
        fields, marked_text = self.fields, self.marked_text
        fields["kind"] = kind
        if kind == "merges":
            fields |= {"kind": "commits", "merges": True}
        elif kind in SYMBOLS:
            fields |= {"kind": "definitions", "symbol_kinds": () if kind == "definition" else (kind,)}
            self._take_further_kinds()

        if fields["kind"] in {"commits", "authors"}:
            without_merges = marked_text.remove(
                r"\b(?:not counting|excluding|without|ignoring|except(?: for)?)\s+(?:the\s+)?merges?(?: commits?)?"
                r"|\bnon-merges?\b"
            )
            if without_merges is not None:
                fields["merges"] = False

    def _take_further_kinds(self) -> None:
        """Take the other kinds of definitions in a list of nouns: "functions and methods"."""
        noun = _NEXT_NOUN.match(self.marked_text.text)
        while noun is not None:
            kind = kind_of_noun(noun)
            if kind not in SYMBOLS:
                return

            self.fields["symbol_kinds"] = (*self.fields["symbol_kinds"], kind)
            self.marked_text.text = self.marked_text.text[noun.end() :]
            noun = _NEXT_NOUN.match(self.marked_text.text)


def _find_trigger(text: str) -> re.Match[str] | None:
    """Return the words that ask for a number, or else for a list."""
    if NUMBER_IN_PASSING.search(text) is None:
        # "Total" may occur with "how many", which describes the subject better.
        many = MANY.search(text) or TOTAL.search(text)
        if many is not None:
            return many

    return LIST.search(text)


def _is_test_file(mark: Mark) -> bool:
    return mark.kind == "P" and is_test(mark.text) and not mark.text.endswith("/")


def _end_of_skipped(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return the end of all matches of a pattern that follow each other from a position."""
    match = pattern.match(text, position)
    while match is not None and match.end() > position:
        position = match.end()
        match = pattern.match(text, position)
    return position


def _kind_of(noun: str) -> str:
    """Return the kind of a noun; empty for another word."""
    match = NOUN.fullmatch(noun)
    return kind_of_noun(match) if match is not None else ""

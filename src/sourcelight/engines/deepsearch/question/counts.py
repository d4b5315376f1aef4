"""Read questions for a number or a list: the noun that is counted, and the conditions on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sourcelight.core.query.file_kinds import is_test
from sourcelight.engines.deepsearch.question.file_kinds import all_headers, headers_of
from sourcelight.engines.deepsearch.question.grammar import (
    ADDED_LINES,
    ADJECTIVE,
    BOTS,
    CHANGE,
    CODE_LINES,
    DEFINE,
    DEFINES,
    DEPENDENTS,
    ENDS,
    EXPORT_VERB,
    EXPORTED,
    FOLLOWED,
    HAVING,
    HEAD,
    IMPORT,
    INCLUDE,
    INHERIT,
    IS_DEFINED,
    LIST,
    MADE,
    MANY,
    MEMBER,
    NAMED,
    NEGATED_VERB,
    NEGATION,
    NUMBER_IN_PASSING,
    PACKAGE_WORDS,
    PART,
    SAME,
    SKIPPED,
    STARTS,
    TESTS_BY_FORM,
    TODO,
    TOGETHER,
    TOTAL,
    VERBS,
    WHOSE,
)
from sourcelight.engines.deepsearch.question.groups import take_group
from sourcelight.engines.deepsearch.question.marks import Mark, MarkedText
from sourcelight.engines.deepsearch.question.phrases import (
    CALL,
    DET,
    LACKING,
    TERMS,
    VERBS_OF_CONTENT,
    is_every,
    read_terms,
    take_authors,
    take_changed_text,
    take_messages,
    take_paths,
    terms_of,
)
from sourcelight.engines.deepsearch.question.request import PathScope, QuestionPaths, Term
from sourcelight.engines.deepsearch.question.vocabulary import (
    NOUN,
    SYMBOLS,
    kind_of_noun,
)


def read_modules(marked_text: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the modules of a list such as "fmt, `os` and net/http"."""
    # Not by "/", which is part of module paths in Go.
    items = re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", text.strip())
    return tuple(
        Term(marked_text.get_mark(item).text if item.startswith("⟨") else item.strip('<>"')) for item in items if item
    )


_DEFAULT_OF = re.compile(r"\bby default\b", re.IGNORECASE)
_BY_DEFAULT = re.compile(r"\b(?:by default|at most|at once|at a time|before)\b", re.IGNORECASE)


_EXAMPLES = re.compile(r"\b(?:specs|examples)\b", re.IGNORECASE)
"""Tests, where a question is about a file of them."""
_OVERLOADS = re.compile(
    r"\boverloads?\s+(?:of|for)\s+(?:the\s+)?(?:function\s+|method\s+)?(?P<name>⟨[NQ]\d+⟩|\w+)", re.IGNORECASE
)


_CREATED = re.compile(r"\b(?:is|are|do|does)?\s*(?:created?|creates)\b", re.IGNORECASE)


class CountReader:
    """Reads a question for a number or a list."""

    def __init__(self, marked_text: MarkedText, paths: QuestionPaths) -> None:
        self.marked_text = marked_text
        self.paths = paths
        self.fields: dict[str, Any] = {}
        self.noun = ""

    def read(self) -> dict[str, Any] | None:  # noqa: PLR0911 - one for each kind of question that asks for none
        """Return the fields of a request; None if the question asks for no number and no list."""
        marked_text = self.marked_text
        marked_text.text = CODE_LINES.sub(" lines in ", marked_text.text)
        marked_text.text = _OVERLOADS.sub(r"functions and methods named \g<name>", marked_text.text)
        if any(mark.kind == "P" and is_test(mark.text) and not mark.text.endswith("/") for mark in marked_text.marks):
            marked_text.text = _EXAMPLES.sub("tests", marked_text.text)

        marked_text.text = TESTS_BY_FORM.sub("tests", marked_text.text)

        many, list_match = MANY.search(marked_text.text), LIST.search(marked_text.text)
        if many is not None and self._takes_exports(many):
            return {"is_list": False, "kind": "exports"}

        # "Total" may occur with "how many", which describes the subject better.
        many = many or TOTAL.search(marked_text.text)
        if NUMBER_IN_PASSING.search(marked_text.text) is not None:
            many = None
        trigger = many or list_match

        # "What directory does it serve by default" asks for a value, and "how many rows does it read" then, too.
        if trigger is None or _DEFAULT_OF.search(marked_text.text) is not None:
            return None

        self.fields["is_list"] = many is None
        # Before the noun is read, since "TODOs" would be an unknown one. It shifts the text, so the trigger is searched
        # again.
        marked_text.text = TODO.sub(self._todo, marked_text.text)
        pattern = LIST if many is None else MANY if MANY.search(marked_text.text) is not None else TOTAL
        trigger = pattern.search(marked_text.text) or trigger
        marked_text.text = f"{marked_text.text[: trigger.start()]} · {marked_text.text[trigger.end() :]}"
        kind = self._kind(trigger)

        # "How much Go is there" means lines of that language.
        if kind is None and trigger[0].lower() == "how much" and "⟨G" in marked_text.text:
            kind = "lines"

        # "How many `foo`?" without a noun counts the text itself.
        is_mass = trigger[0].lower() == "how much"
        if kind is None and not is_mass and not self.fields["is_list"] and re.search(TERMS, marked_text.text):
            kind = "occurrences"

        if kind is None and not self.fields["is_list"]:
            # "How many connections are there by default" asks for a value, and "how much space" for nothing to count.
            is_no_count = is_mass or _BY_DEFAULT.search(marked_text.text) is not None
            return None if is_no_count else {"kind": "unknown"}
        has_no_noun = kind == "occurrences" and not self.noun and not self.often
        if kind is None or (
            self.fields["is_list"] and kind in {"occurrences", "other", "declared"} and "group" not in self.fields
        ):
            return None
        if kind == "other":
            return {**self.fields, "kind": "unsupported", "subject": self.noun}
        if kind == "declared":
            self.fields["subject"] = self.noun
        self._set_kind(kind)
        self._relate()

        # "How many `it()` blocks": no verb says that the name is a text to count, and lines of a file aren't meant.
        if has_no_noun and self.fields["kind"] == "occurrences" and not self.fields.get("terms"):
            return {"kind": "unknown"}

        # Grouped by something, but of what? The ranking then finds places that explain it.
        if self.fields.get("group") and self.fields["kind"] == "occurrences" and not self.fields.get("terms"):
            return None

        return self._of_file_kind()

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

        scope = take_paths(
            self.marked_text, self.paths, of_history=self.fields["kind"] in {"commits", "authors", "changed_lines"}
        )
        for name, value in scope.items():
            self.fields[name] = (*self.fields.get(name, ()), *value) if isinstance(value, tuple) else value

        paths: Sequence[PathScope] = self.fields.get("paths", ())
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

        if re.search(
            r"\b(?:with|contain\w*|have|has|most|mention\w*|more than|at least|than)\s+(?:the\s+|\d+\s+|most\s+)*$",
            self.marked_text.text[: match.start()],
            re.IGNORECASE,
        ):
            return (
                f" {name} "
                if not re.search(
                    r"\b(?:most|more than|at least|than)\s+(?:\d+\s+)?$", self.marked_text.text[: match.start()]
                )
                else f" {name} lines "
            )

        return f" lines with {name} "

    def _kind(self, trigger: re.Match[str]) -> str | None:
        trigger_text = trigger[0].lower()
        self.often = trigger_text.startswith(("how often", "how freq"))
        if self.often:
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
        text, position, before = self.marked_text.text, start, start
        kind: str | None = None
        while True:
            skip = SKIPPED if kind is None else SAME
            while (skipped := skip.match(text, position)) is not None and skipped.end() > position:
                position = skipped.end()

            noun = HEAD.match(text, position)
            if noun is None and kind is None and (described := ADJECTIVE.match(text, position)) is not None:
                # "Public functions": the adjective stays in the text, and is named as not applied.
                noun = HEAD.match(text, described.end())

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

            self.noun, kind = noun["noun"], noun_kind
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
            while (
                next_noun := re.compile(rf"^[\s·]*(?:and|or|,)\s+(?P<noun>{NOUN.pattern})", re.IGNORECASE).match(
                    marked_text.text
                )
            ) is not None:
                next_kind = kind_of_noun(next_noun)
                if next_kind not in SYMBOLS:
                    break
                fields["symbol_kinds"] = (*fields["symbol_kinds"], next_kind)
                marked_text.text = marked_text.text[next_noun.end() :]

        if (
            fields["kind"] in {"commits", "authors"}
            and marked_text.remove(
                r"\b(?:not counting|excluding|without|ignoring|except(?: for)?)\s+(?:the\s+)?merges?(?: "
                r"commits?)?|\bnon-merges?\b"
            )
            is not None
        ):
            fields["merges"] = False

    def _relate(self) -> None:
        """Take the conditions on the thing that is counted."""
        kind = self.fields["kind"]
        if kind in {"commits", "authors", "changed_lines"}:
            self._commits()
        elif kind == "definitions":
            self._definitions()
        elif kind in {"dependencies", "dependents"}:
            self._graph()
        elif kind == "tests":
            self._read_name() or self.marked_text.remove(DEFINE)
        elif kind == "declared":
            self._read_name() or self.marked_text.remove(DEFINE)
            self.marked_text.remove(_CREATED)
        elif kind in {"files", "repositories", "folders", "languages"}:
            self._files()
        elif kind in {"branches", "tags"}:
            self.marked_text.remove(MADE)
            self.marked_text.remove(r"\b(?:are|were|is|was)?\s*(?:tagged|released|published|cut)\b")
        elif kind in {"lines", "occurrences"}:
            self._lines()

    def _use(self, relation: str, match: re.Match[str] | None, text: str | None = None) -> bool:
        if match is None:
            return False

        terms_text = text or match["terms"]
        self.fields |= {
            "relation": relation,
            "terms": terms_of(self.marked_text, terms_text),
            "every": is_every(terms_text),
        }
        return True

    def _content(self) -> bool:
        for relation, patterns in (("call", CALL), ("contain", VERBS_OF_CONTENT)):
            for pattern in patterns:
                match = pattern.search(self.marked_text.text)
                if match is None:
                    continue

                groups = match.groupdict()
                self.marked_text.remove(pattern)
                if groups.get("listed"):
                    terms = read_terms(self.marked_text, groups["listed"])
                    self.fields |= {"relation": relation, "terms": terms, "every": is_every(groups["listed"])}
                    return True

                return self._use(relation, match, groups.get("terms") or groups.get("bare"))

        return False

    def _lacking(self) -> tuple[Term, ...]:
        """Take the texts of "but not `b`" behind a verb of content."""
        match = LACKING.search(self.marked_text.text)
        if match is None or not any(
            pattern.search(self.marked_text.text[: match.start()]) for pattern in (*CALL, *VERBS_OF_CONTENT)
        ):
            return ()
        self.marked_text.text = f"{self.marked_text.text[: match.start()]} · {self.marked_text.text[match.end() :]}"
        return terms_of(self.marked_text, match["terms"] or match["bare"])

    def _read_name(self) -> bool:
        for relation, pattern in (
            ("prefix", STARTS),
            ("suffix", ENDS),
            ("part", PART),
            ("part", WHOSE),
            ("name", NAMED),
        ):
            if (match := self.marked_text.remove(pattern)) is not None:
                return self._use(relation, match)

        return False

    def _import(self, pattern: re.Pattern[str]) -> bool:
        match = self.marked_text.remove(pattern)
        if match is None:
            return False

        self.fields |= {
            "relation": "import",
            "terms": read_modules(self.marked_text, match["terms"]),
            "every": is_every(match["terms"]),
        }
        return True

    def _commits(self) -> None:
        fields, marked_text = self.fields, self.marked_text
        fields["is_by_bots"] = marked_text.remove(BOTS) is not None
        fields["authors"] = take_authors(marked_text)
        fields |= take_changed_text(marked_text)
        fields |= take_paths(marked_text, self.paths, of_history=True)
        if fields["kind"] == "commits":
            fields |= take_messages(marked_text)

        marked_text.remove(CHANGE)
        marked_text.remove(MADE)

    def _definitions(self) -> None:
        heirs = {"class", "struct", "interface", "enum"}
        if heirs & set(self.fields["symbol_kinds"]) and (match := INHERIT.search(self.marked_text.text)) is not None:
            sub = "sub" in self.noun.lower()
            if match["terms"] or sub:
                self.marked_text.remove(INHERIT)
                self._use("inherit", match, match["terms"] or match["of"])
                return

        if self._read_name():
            return

        if (
            set(self.fields["symbol_kinds"]) & {"method", "field", "constructor", "constant"}
            and (match := MEMBER.search(self.marked_text.text)) is not None
        ):
            self.marked_text.remove(MEMBER)
            self._use("member", match, match["first"] or match["second"] or match["third"])
            return

        call = next((match for pattern in CALL if (match := pattern.search(self.marked_text.text)) is not None), None)
        if call is not None:
            self._content()
            return

        self.marked_text.remove(DEFINE)

    def _graph(self) -> None:
        if self.fields["kind"] == "dependents" and not self._import(DEPENDENTS):
            self.fields["terms"] = ()
        # Words such as "package" are part of the noun, and would be named as conditions not applied.
        while self.marked_text.remove(PACKAGE_WORDS) is not None:
            pass

    def _files(self) -> None:
        fields, marked_text = self.fields, self.marked_text
        if self._imports_or_has():
            return

        pattern = IS_DEFINED if IS_DEFINED.search(marked_text.text) is not None else DEFINES
        if (match := marked_text.remove(pattern)) is not None:
            self._use("define", match)
            return

        if fields["kind"] == "files" and self._read_name():
            # An empty name means any name, so it isn't a condition.
            if fields["relation"] == "name" and fields["terms"][0].text == "":
                fields.pop("relation")
            return

        authors = take_authors(marked_text)
        if authors:
            fields["authors"] = authors
            marked_text.remove(r"\b(?:commits?|changes)\b")

        if CHANGE.search(marked_text.text) is not None and not self._has_terms():
            marked_text.remove(CHANGE)
            fields["relation"] = "change"
            return

        if fields["kind"] == "languages":
            marked_text.remove(r"\b(?:use[ds]?|written|spoken|programmed)\b")

        # "But not" before a plain negation, because its "not" would negate the whole condition.
        if lacking := self._lacking():
            self._content()
            fields["lacking"] = lacking
            return

        negation = NEGATION.search(marked_text.text)
        before = marked_text.text
        if negation is not None:
            first_word = negation[0].lower()
            is_verb = first_word.startswith(("without", "lack")) or first_word.endswith("no")
            # "Files without `x`" loses its verb with the negation, so one is put in for the patterns below.
            verb = " contain " if is_verb else " "
            marked_text.text = f"{marked_text.text[: negation.start()]} · {verb}{marked_text.text[negation.end() :]}"

        if self._content():
            fields["is_negated"] = negation is not None
            return

        # Nothing was negated, so the word stays, and is named as not applied.
        marked_text.text = before
        marked_text.remove(DEFINE)

    def _imports_or_has(self) -> bool:
        """Take imports of files, or files of repositories, also negated ones."""
        negated = NEGATED_VERB.search(self.marked_text.text)
        if negated is not None:
            before = self.marked_text.text
            self.marked_text.text = f"{before[: negated.start()]} {before[negated.end() :]}"
            if self._import(INCLUDE) or self._import(IMPORT) or self._having():
                self.fields["is_negated"] = True
                return True
            self.marked_text.text = before

        return self._import(INCLUDE) or self._import(IMPORT) or self._having()

    def _having(self) -> bool:
        """Take the files that a repository has."""
        if self.fields["kind"] != "repositories" or (match := self.marked_text.remove(HAVING)) is None:
            return False
        self._use("name", match)
        self.fields["terms"] = tuple(Term(mark.text) for mark in self.marked_text.get_marks(match["terms"]))
        return True

    def _has_terms(self) -> bool:
        return re.search(r"⟨[NQ]\d+⟩", self.marked_text.text) is not None

    def _lines(self) -> None:
        fields, marked_text = self.fields, self.marked_text
        # "How often does X change" counts commits, while "how often is `x` used" counts places.
        asks_times = self.often or (fields["kind"] == "occurrences" and re.search(r"\btimes?\b", self.noun))
        if asks_times and not self._has_terms() and CHANGE.search(marked_text.text) is not None:
            marked_text.remove(CHANGE)
            fields["kind"] = "commits"
            self._commits()
            return

        is_call = self.noun.lower().startswith(("call", "invocation"))
        if is_call and self._use_terms("call", rf"(?i)\s*(?:of|to|for)\s+{DET}(?P<terms>{TERMS}|\w+)"):
            return

        if fields["kind"] == "occurrences" and self._use_terms(
            "contain", rf"(?i)\s(?:of|to|for)\s+{DET}(?P<terms>{TERMS}|(?!the\b|a\b)\w+)"
        ):
            return

        if self._content():
            return

        if fields["kind"] == "lines" and not self._changed_lines():
            self._use_terms("contain", rf"(?P<terms>{TERMS})")
            marked_text.remove(r"\blong\b")

    def _use_terms(self, relation: str, pattern: str) -> bool:
        """Take the terms that a pattern finds, for a relation; return whether it finds any."""
        marked_text = self.marked_text
        match = re.search(pattern, marked_text.text)
        if match is None:
            return False
        marked_text.text = f"{marked_text.text[: match.start()]} · {marked_text.text[match.end() :]}"
        self._use(relation, match)
        return True

    def _changed_lines(self) -> bool:
        """Read lines that somebody added or removed; return whether the question asks for these."""
        authors = take_authors(self.marked_text)
        match = ADDED_LINES.search(self.marked_text.text)
        if match is None and not authors:
            return False

        if match is not None:
            self.marked_text.remove(ADDED_LINES)

        verb = "" if match is None else match["verb"].lower()
        sides = {"remov": "removed", "delet": "removed", "add": "added", "wr": "added"}
        side = next((side for start, side in sides.items() if verb.startswith(start)), "")
        self.fields |= {"kind": "changed_lines", "authors": authors, "side": side}
        return True


def _kind_of(noun: str) -> str:
    match = NOUN.fullmatch(noun)
    return kind_of_noun(match) if match is not None else ""

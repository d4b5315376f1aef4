"""Take the conditions on the thing that a question counts: names, texts, modules, people, files."""

from __future__ import annotations

import re
from typing import Any

from sourcelight.engines.deepsearch.question.grammar import (
    ADDED_LINES,
    BOTS,
    CHANGE,
    DEFINE,
    DEFINES,
    DEPENDENTS,
    ENDS,
    HAVING,
    IMPORT,
    INCLUDE,
    INHERIT,
    IS_DEFINED,
    MADE,
    MEMBER,
    NAMED,
    NEGATED_VERB,
    NEGATION,
    PACKAGE_WORDS,
    PART,
    STARTS,
    WHOSE,
)
from sourcelight.engines.deepsearch.question.marks import GAP, MarkedText
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
from sourcelight.engines.deepsearch.question.request import QuestionPaths, Term

# "are created"
_CREATED = re.compile(r"\b(?:is|are|do|does)?\s*(?:created?|creates)\b", re.IGNORECASE)

_HEIRS = frozenset({"class", "struct", "interface", "enum"})
"""Kinds of definitions that can inherit."""
_MEMBERS = frozenset({"method", "field", "constructor", "constant"})
"""Kinds of definitions that a class has."""
_SIDES = {"remov": "removed", "delet": "removed", "add": "added", "wr": "added"}
"""Sides of a diff by the beginning of a verb."""


_NAME_PATTERNS = (("prefix", STARTS), ("suffix", ENDS), ("part", PART), ("part", WHOSE), ("name", NAMED))
"""Conditions on a name, with the relation of each."""


def read_modules(marked_text: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the modules of a list such as "fmt, `os` and net/http"."""
    # Not by "/", which is part of module paths in Go.
    items = re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", text.strip())
    return tuple(Term(_module_name(marked_text, item)) for item in items if item)


def _module_name(marked_text: MarkedText, item: str) -> str:
    """Return the name of a module: the text of a mark, or a word, without brackets and a sign for all of its names."""
    name = marked_text.text_of(item) if item.startswith("⟨") else item.strip('<>"')
    return re.sub(r"(?<=\w)(?:\.[*_]|::\*|\\\*)$", "", name)


class CountConditions:
    """Takes the conditions on a thing into the fields of a request.

    Parameters
    ----------
    marked_text
        The question without the words that ask for a number, and without the noun.
    paths
        The paths of the searched commits.
    fields
        The fields so far, with the kind of the thing; conditions are added.
    noun
        The noun that is counted; empty for none.
    is_how_often
        Whether the question asks "how often".
    """

    def __init__(
        self, marked_text: MarkedText, paths: QuestionPaths, fields: dict[str, Any], *, noun: str, is_how_often: bool
    ) -> None:
        self.marked_text = marked_text
        self.paths = paths
        self.fields = fields
        self.noun = noun
        self.is_how_often = is_how_often

    def take(self) -> None:
        """Take the conditions on the thing that is counted."""
        kind = self.fields["kind"]
        if kind in {"commits", "authors", "changed_lines"}:
            self._commits()
        elif kind == "definitions":
            self._definitions()
        elif kind in {"dependencies", "dependents"}:
            self._graph()
        elif kind in {"tests", "declared"}:
            if not self._read_name():
                self.marked_text.remove(DEFINE)
            if kind == "declared":
                self.marked_text.remove(_CREATED)
        elif kind in {"files", "repositories", "folders", "languages"}:
            self._files()
        elif kind in {"branches", "tags"}:
            self.marked_text.remove(MADE)
            self.marked_text.remove(r"\b(?:are|were|is|was)?\s*(?:tagged|released|published|cut)\b")
        elif kind in {"lines", "occurrences"}:
            self._lines()

    def _use(self, relation: str, match: re.Match[str] | None, text: str | None = None) -> bool:
        """Set the relation and its terms, from a text or from the group of a match; return whether there is a match."""
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
        """Take the texts that a file or line has, or the functions that it calls; return whether there are any."""
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
        if match is None:
            return ()

        before = self.marked_text.text[: match.start()]
        if not any(pattern.search(before) for pattern in (*CALL, *VERBS_OF_CONTENT)):
            return ()

        self.marked_text.replace_match(match)
        return terms_of(self.marked_text, match["terms"] or match["bare"])

    def _read_name(self) -> bool:
        """Take a condition on the name of the thing, or on a part of it; return whether there is one."""
        for relation, pattern in _NAME_PATTERNS:
            match = self.marked_text.remove(pattern)
            if match is not None:
                return self._use(relation, match)

        return False

    def _import(self, pattern: re.Pattern[str]) -> bool:
        """Take the modules that a file imports; return whether there are any."""
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
        kinds = set(self.fields["symbol_kinds"])
        if kinds & _HEIRS:
            match = INHERIT.search(self.marked_text.text)
            # "Subclasses of ⟨N0⟩" has no verb: its noun says that they inherit.
            if match is not None and (match["terms"] or "sub" in self.noun.lower()):
                self.marked_text.remove(INHERIT)
                self._use("inherit", match, match["terms"] or match["of"])
                return

        if self._read_name():
            return

        if kinds & _MEMBERS:
            match = self.marked_text.remove(MEMBER)
            if match is not None:
                self._use("member", match, match["first"] or match["second"] or match["third"])
                return

        if any(pattern.search(self.marked_text.text) for pattern in CALL):
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

        match = marked_text.remove(IS_DEFINED) or marked_text.remove(DEFINES)
        if match is not None:
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
        lacking = self._lacking()
        if lacking:
            self._content()
            fields["lacking"] = lacking
            return

        before = marked_text.text
        negation = NEGATION.search(marked_text.text)
        if negation is not None:
            word = negation[0].lower()
            # "Files without `x`" loses its verb with the negation, so one is put in for the patterns below.
            is_verb = word.startswith(("without", "lack")) or word.endswith("no")
            verb = " contain " if is_verb else " "
            marked_text.replace_match(negation, GAP + verb)

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
            self.marked_text.replace_match(negated, " ")
            if self._import(INCLUDE) or self._import(IMPORT) or self._having():
                self.fields["is_negated"] = True
                return True
            self.marked_text.text = before

        return self._import(INCLUDE) or self._import(IMPORT) or self._having()

    def _having(self) -> bool:
        """Take the files that a repository has."""
        if self.fields["kind"] != "repositories":
            return False

        match = self.marked_text.remove(HAVING)
        if match is None:
            return False

        self._use("name", match)
        self.fields["terms"] = tuple(Term(mark.text) for mark in self.marked_text.get_marks(match["terms"]))
        return True

    def _has_terms(self) -> bool:
        return re.search(r"⟨[NQ]\d+⟩", self.marked_text.text) is not None

    def _lines(self) -> None:
        fields, marked_text = self.fields, self.marked_text
        # "How often does X change" counts commits, while "how often is `x` used" counts places.
        asks_times = self.is_how_often or (fields["kind"] == "occurrences" and re.search(r"\btimes?\b", self.noun))
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
        match = re.search(pattern, self.marked_text.text)
        if match is None:
            return False

        self.marked_text.replace_match(match)
        self._use(relation, match)
        return True

    def _changed_lines(self) -> bool:
        """Read lines that somebody added or removed; return whether the question asks for these."""
        before = self.marked_text.text
        authors = take_authors(self.marked_text)
        match = self.marked_text.remove(ADDED_LINES)
        if match is None and re.search(r"\b(?:has|have)\b", before):
            # What has lines is a file rather than an author: "how many lines does gradlew have".
            self.marked_text.text = before
            return False
        if match is None and not authors:
            return False

        side = "" if match is None else _side_of(match["verb"])
        self.fields |= {"kind": "changed_lines", "authors": authors, "side": side}
        return True


def _side_of(verb: str) -> str:
    """Return the side of a diff that a verb means; empty for both."""
    for start, side in _SIDES.items():
        if verb.lower().startswith(start):
            return side
    return ""

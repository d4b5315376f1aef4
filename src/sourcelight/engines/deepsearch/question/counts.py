"""Read questions for a number or a list: the noun that is counted, and the conditions on it."""

from __future__ import annotations

import re
from typing import Any

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
    PACKAGE_WORDS,
    PART,
    SAME,
    SKIPPED,
    STARTS,
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


def read_modules(marked: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the modules of a list such as "fmt, `os` and net/http"."""
    items = re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", text.strip())
    return tuple(
        Term(marked.get_mark(item).text if item.startswith("⟨") else item.strip('<>"')) for item in items if item
    )


HEADERS = r"\.(?:h|hh|hpp|hxx)$"


def _kind_of(noun: str) -> str:
    match = NOUN.fullmatch(noun)
    return kind_of_noun(match) if match is not None else ""


class CountReader:
    """Reads a question for a number or a list."""

    def __init__(self, marked: MarkedText, paths: QuestionPaths) -> None:
        self.marked = marked
        self.paths = paths
        self.fields: dict[str, Any] = {}
        self.noun = ""

    def read(self) -> dict[str, Any] | None:
        """Return the fields of a request; None if the question asks for no number and no list."""
        marked = self.marked
        marked.text = CODE_LINES.sub(" lines in ", marked.text)
        many, listed = MANY.search(marked.text), LIST.search(marked.text)
        many = many or TOTAL.search(marked.text)
        trigger = many or listed
        if trigger is None:
            return None
        self.fields["is_list"] = many is None
        marked.text = TODO.sub(self._todo, marked.text)
        pattern = LIST if many is None else MANY if MANY.search(marked.text) is not None else TOTAL
        trigger = pattern.search(marked.text) or trigger
        marked.text = f"{marked.text[: trigger.start()]} · {marked.text[trigger.end() :]}"
        kind = self._kind(trigger)
        if kind is None and trigger[0].lower() == "how much" and "⟨G" in marked.text:
            kind = "lines"
        if kind is None and not self.fields["is_list"] and re.search(TERMS, marked.text):
            kind = "occurrences"
        if kind is None and not self.fields["is_list"]:
            return {"kind": "unknown"}
        if kind is None or (self.fields["is_list"] and kind in {"occurrences", "other"} and "group" not in self.fields):
            return None
        if kind == "other":
            return {**self.fields, "kind": "unsupported", "subject": self.noun}
        self._set_kind(kind)
        self._relate()
        if self.fields.get("group") and self.fields["kind"] == "occurrences" and not self.fields.get("terms"):
            return None
        return self._of_file_kind()

    def _of_file_kind(self) -> dict[str, Any]:
        """Narrow the count to headers or notebooks; scripts, documents and pages are named as not applied."""
        word = self.noun.lower()
        if _kind_of(word) != "files" or word in {"file", "files"}:
            return self.fields
        scope = take_paths(
            self.marked, self.paths, of_history=self.fields["kind"] in {"commits", "authors", "changed_lines"}
        )
        for name, value in scope.items():
            self.fields[name] = (*self.fields.get(name, ()), *value) if isinstance(value, tuple) else value
        if "header" in word and not self.fields.get("paths"):
            self.fields["paths"] = (PathScope(self.noun, HEADERS, "*.{h,hh,hpp,hxx}", is_file=True, exists=False),)
        elif "notebook" in word and not self.fields.get("languages"):
            self.fields["languages"] = ("Jupyter Notebook",)
        elif "header" in word or not self.fields.get("languages"):
            # Paths are alternatives to one another, so "headers in src" can't be both.
            self.marked.text += f" · {self.marked.add(Mark('N', word, self.noun))} "
        return self.fields

    def _todo(self, match: re.Match[str]) -> str:
        """A TODO is a word to look for; as a thing, in "TODO comments" or "TODOs", it is a line that has it."""
        markers = re.findall(r"TODO|FIXME|XXX|HACK", match["word"].upper())
        name = " or ".join(self.marked.add(Mark("N", word, word)) for word in markers)
        if not (match["noun"] or match["many"]):
            return f" {name} "
        if re.search(
            r"\b(?:with|contain\w*|have|has|most|mention\w*|more than|at least|than)\s+(?:the\s+|\d+\s+|most\s+)*$",
            self.marked.text[: match.start()],
            re.IGNORECASE,
        ):
            return (
                f" {name} "
                if not re.search(
                    r"\b(?:most|more than|at least|than)\s+(?:\d+\s+)?$", self.marked.text[: match.start()]
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
        group = take_group(self.marked, is_list=bool(self.fields["is_list"]))
        self.fields |= group
        kind: str | None = group.get("kind") or self._head(trigger.start())
        return kind

    def _head(self, start: int) -> str | None:
        """Take the noun to count: the last of consecutive nouns."""
        text, position, before = self.marked.text, start, start
        kind: str | None = None
        while True:
            skip = SKIPPED if kind is None else SAME
            while (skipped := skip.match(text, position)) is not None and skipped.end() > position:
                position = skipped.end()
            noun = HEAD.match(text, position)
            if noun is None and kind is None and (described := ADJECTIVE.match(text, position)) is not None:
                # "Public functions": the word before the noun stays, and is named as one that was not applied.
                noun = HEAD.match(text, described.end())
            if noun is None:
                break
            word = noun["noun"].lower()
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
            elif kind is not None and (kind, noun_kind) not in TOGETHER:
                text = text[:before] + self.noun + text[before + len(self.noun) :]
            self.noun, kind = noun["noun"], noun_kind
            before = noun.start("noun")
            text = text[:before] + " " * (noun.end() - before) + text[noun.end() :]
        self.marked.text = text
        return kind

    def _set_kind(self, kind: str) -> None:
        fields, marked = self.fields, self.marked
        fields["kind"] = kind
        if kind == "merges":
            fields |= {"kind": "commits", "merges": True}
        elif kind in SYMBOLS:
            fields |= {"kind": "definitions", "symbol_kinds": () if kind == "definition" else (kind,)}
            while (
                next_noun := re.compile(rf"^[\s·]*(?:and|or|,)\s+(?P<noun>{NOUN.pattern})", re.IGNORECASE).match(
                    marked.text
                )
            ) is not None:
                next_kind = kind_of_noun(next_noun)
                if next_kind not in SYMBOLS:
                    break
                fields["symbol_kinds"] = (*fields["symbol_kinds"], next_kind)
                marked.text = marked.text[next_noun.end() :]
        if (
            fields["kind"] in {"commits", "authors"}
            and marked.take(
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
            self._read_name() or self.marked.take(DEFINE)
        elif kind in {"files", "repositories", "folders", "languages"}:
            self._files()
        elif kind in {"branches", "tags"}:
            self.marked.take(MADE)
        elif kind in {"lines", "occurrences"}:
            self._lines()

    def _use(self, relation: str, match: re.Match[str] | None, text: str | None = None) -> bool:
        if match is None:
            return False
        terms_text = text or match["terms"]
        self.fields |= {"relation": relation, "terms": terms_of(self.marked, terms_text), "every": is_every(terms_text)}
        return True

    def _content(self) -> bool:
        for relation, patterns in (("call", CALL), ("contain", VERBS_OF_CONTENT)):
            for pattern in patterns:
                match = pattern.search(self.marked.text)
                if match is None:
                    continue
                groups = match.groupdict()
                self.marked.take(pattern)
                if groups.get("listed"):
                    terms = read_terms(self.marked, groups["listed"])
                    self.fields |= {"relation": relation, "terms": terms, "every": is_every(groups["listed"])}
                    return True
                return self._use(relation, match, groups.get("terms") or groups.get("bare"))
        return False

    def _lacking(self) -> tuple[Term, ...]:
        """Take the texts of "but not `b`" behind a verb of content."""
        match = LACKING.search(self.marked.text)
        if match is None or not any(
            pattern.search(self.marked.text[: match.start()]) for pattern in (*CALL, *VERBS_OF_CONTENT)
        ):
            return ()
        self.marked.text = f"{self.marked.text[: match.start()]} · {self.marked.text[match.end() :]}"
        return terms_of(self.marked, match["terms"] or match["bare"])

    def _read_name(self) -> bool:
        for relation, pattern in (
            ("prefix", STARTS),
            ("suffix", ENDS),
            ("part", PART),
            ("part", WHOSE),
            ("name", NAMED),
        ):
            if (match := self.marked.take(pattern)) is not None:
                return self._use(relation, match)
        return False

    def _import(self, pattern: re.Pattern[str]) -> bool:
        match = self.marked.take(pattern)
        if match is None:
            return False
        self.fields |= {
            "relation": "import",
            "terms": read_modules(self.marked, match["terms"]),
            "every": is_every(match["terms"]),
        }
        return True

    def _commits(self) -> None:
        fields, marked = self.fields, self.marked
        fields["is_by_bots"] = marked.take(BOTS) is not None
        fields["authors"] = take_authors(marked)
        fields |= take_changed_text(marked)
        fields |= take_paths(marked, self.paths, of_history=True)
        if fields["kind"] == "commits":
            fields |= take_messages(marked)
        marked.take(CHANGE)
        marked.take(MADE)

    def _definitions(self) -> None:
        heirs = {"class", "struct", "interface", "enum"}
        if heirs & set(self.fields["symbol_kinds"]) and (match := INHERIT.search(self.marked.text)) is not None:
            sub = "sub" in self.noun.lower()
            if match["terms"] or sub:
                self.marked.take(INHERIT)
                self._use("inherit", match, match["terms"] or match["of"])
                return
        if self._read_name():
            return
        if (
            set(self.fields["symbol_kinds"]) & {"method", "field", "constructor"}
            and (match := MEMBER.search(self.marked.text)) is not None
        ):
            self.marked.take(MEMBER)
            self._use("member", match, match["first"] or match["second"] or match["third"])
            return
        call = next((match for pattern in CALL if (match := pattern.search(self.marked.text)) is not None), None)
        if call is not None:
            self._content()
            return
        self.marked.take(DEFINE)

    def _graph(self) -> None:
        if self.fields["kind"] == "dependents" and not self._import(DEPENDENTS):
            self.fields["terms"] = ()
        while self.marked.take(PACKAGE_WORDS) is not None:
            pass

    def _files(self) -> None:
        fields, marked = self.fields, self.marked
        if self._imports_or_has():
            return
        pattern = IS_DEFINED if IS_DEFINED.search(marked.text) is not None else DEFINES
        if (match := marked.take(pattern)) is not None:
            self._use("define", match)
            return
        if fields["kind"] == "files" and self._read_name():
            if fields["relation"] == "name" and fields["terms"][0].text == "":
                fields.pop("relation")
            return
        authors = take_authors(marked)
        if authors:
            fields["authors"] = authors
            marked.take(r"\b(?:commits?|changes)\b")
        if CHANGE.search(marked.text) is not None and not self._has_terms():
            marked.take(CHANGE)
            fields["relation"] = "change"
            return
        if fields["kind"] == "languages":
            marked.take(r"\b(?:use[ds]?|written|spoken|programmed)\b")
        if lacking := self._lacking():
            self._content()
            fields["lacking"] = lacking
            return
        negation = NEGATION.search(marked.text)
        before = marked.text
        if negation is not None:
            first_word = negation[0].lower()
            is_verb = first_word.startswith(("without", "lack")) or first_word.endswith("no")
            verb = " contain " if is_verb else " "
            marked.text = f"{marked.text[: negation.start()]} · {verb}{marked.text[negation.end() :]}"
        if self._content():
            fields["is_negated"] = negation is not None
            return
        marked.text = before
        marked.take(DEFINE)

    def _imports_or_has(self) -> bool:
        """Take what files import, or which files repositories have; or do not."""
        negated = NEGATED_VERB.search(self.marked.text)
        if negated is not None:
            before = self.marked.text
            self.marked.text = f"{before[: negated.start()]} {before[negated.end() :]}"
            if self._import(INCLUDE) or self._import(IMPORT) or self._having():
                self.fields["is_negated"] = True
                return True
            self.marked.text = before
        return self._import(INCLUDE) or self._import(IMPORT) or self._having()

    def _having(self) -> bool:
        """Take the files that a repository has."""
        if self.fields["kind"] != "repositories" or (match := self.marked.take(HAVING)) is None:
            return False
        self._use("name", match)
        self.fields["terms"] = tuple(Term(mark.text) for mark in self.marked.get_marks(match["terms"]))
        return True

    def _has_terms(self) -> bool:
        return re.search(r"⟨[NQ]\d+⟩", self.marked.text) is not None

    def _lines(self) -> None:
        fields, marked = self.fields, self.marked
        if self.often and not self._has_terms() and CHANGE.search(marked.text) is not None:
            marked.take(CHANGE)
            fields["kind"] = "commits"
            self._commits()
            return
        if (
            fields["kind"] == "occurrences"
            and not self.often
            and re.search(r"\btimes?\b", self.noun)
            and not self._has_terms()
            and CHANGE.search(marked.text) is not None
        ):
            marked.take(CHANGE)
            fields["kind"] = "commits"
            self._commits()
            return
        if (
            self.noun.lower().startswith(("call", "invocation"))
            and (match := re.search(rf"\s*(?:of|to|for)\s+{DET}(?P<terms>{TERMS}|\w+)", marked.text, re.IGNORECASE))
            is not None
        ):
            marked.text = f"{marked.text[: match.start()]} · {marked.text[match.end() :]}"
            self._use("call", match)
            return
        if (
            fields["kind"] == "occurrences"
            and (
                match := re.search(
                    rf"\s(?:of|to|for)\s+{DET}(?P<terms>{TERMS}|(?!the\b|a\b)\w+)", marked.text, re.IGNORECASE
                )
            )
            is not None
        ):
            marked.text = f"{marked.text[: match.start()]} · {marked.text[match.end() :]}"
            self._use("contain", match)
            return
        if self._content():
            return
        if fields["kind"] == "lines":
            authors = take_authors(marked)
            changed = ADDED_LINES.search(marked.text)
            if changed is not None or authors:
                if changed is not None:
                    marked.take(ADDED_LINES)
                verb = "" if changed is None else changed["verb"].lower()
                side = (
                    "removed"
                    if verb.startswith(("remov", "delet"))
                    else "added"
                    if verb.startswith(("add", "wr"))
                    else ""
                )
                fields |= {"kind": "changed_lines", "authors": authors, "side": side}
                return
            match = re.search(rf"(?P<terms>{TERMS})", marked.text)
            if match is not None:
                marked.text = f"{marked.text[: match.start()]} · {marked.text[match.end() :]}"
                self._use("contain", match)
            marked.take(r"\blong\b")

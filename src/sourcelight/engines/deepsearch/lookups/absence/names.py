"""A name that nothing defines: the proof that no file has it, or the lines that have it without defining it.

Lookups ask this once their search for definitions found none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import (
    SearchRows,
    find_rows,
    join_queries,
    make_queries,
    rows_evidence,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import is_unread_code
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.absence.spellings import nearest_spelling
from sourcelight.engines.deepsearch.lookups.definitions.search import split_name
from sourcelight.engines.deepsearch.lookups.manifests import MANIFESTS
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

WITHIN_NAMES = ", always within other names"
"""End of a headline about a text that only occurs inside names."""

NOT_DENIED = "Code may do it under another name"
"""End of a headline about words of prose, which may not be the only ones for what a question asks for."""

_MAX_LINE = 300
_DEFINING_WORDS = r"(?:def|defn?|fn|func|function|class|struct|enum|type|let|const|var)"
"""Words that stand before the name in a definition, in languages that a grammar may not have read."""


def find_absence(work: Work, name: str, *, noun: str = "") -> Finding | None:
    """State that no file has a name, or that it occurs without a definition; None if this is uncertain.

    Parameters
    ----------
    work
        The request under way; its notes say why the search for definitions was incomplete.
    name
        The name, which may be qualified.
    noun
        The kind of definition that the question asks for, such as ``class``; empty for any.
    """
    _, simple = split_name(name)
    if name != simple and language_of(name):
        # In a path, what follows the dot is no name.
        return None

    queries = make_queries(work, f"case:no type:file /{escape_regexp(simple)}/")
    content = find_rows(work, queries)

    # An incomplete search can't prove absence, but what it searched may be said to lack a name, with what it left out.
    # A file that no grammar could parse is searched all the same.
    is_partial = bool(content.notes)
    if (is_partial and not content.lacks_only_files) or ((work.notes or is_partial) and content.lines):
        return None

    query = join_queries(queries)
    if content.lines:
        return _state_mentions(work, simple, content.lines, noun, query)

    paths = find_rows(work, make_queries(work, f"type:path /{escape_regexp(simple)}/"))

    # A file of this name is an answer.
    if paths.rows or paths.notes:
        return None

    return _prove_absence(work, simple, content, query)


def _prove_absence(work: Work, name: str, content: SearchRows, query: str) -> Finding | None:
    """State that no line and no path has a name; None if reading the files one by one finds it after all."""
    if not recount.are_absent(work, [name]):
        return None
    # Code may write a name of prose without its hyphens.
    if "-" in name and not recount.is_absent_joined(work, re.sub(r"\W", "", name)):
        return None

    text = f"No searched file has {code(name)}: no line and no path of {_repositories_text(work)} contains it"

    limits = limits_of(work, content)
    if limits:
        text += f" ({'; '.join(limits)})"

    nearest = nearest_spelling(work, name)
    if nearest and nearest.lower() not in FUNCTION_WORDS:
        text += f". The nearest spelling there is {code(nearest)}"

    return Finding(
        Statement(text),
        "absence",
        method=["The search ignored case and didn't read binary files.", *dict.fromkeys(content.large_files)],
        queries=[query],
        recounts=frozenset({len(work.names)}),
        is_negative=True,
    )


def _state_mentions(work: Work, name: str, rows: Sequence[Mapping[str, Any]], noun: str, query: str) -> Finding | None:
    """State that lines have a name but nothing defines it; None if one of them may define it."""
    rows = sorted(rows, key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))

    # The search ignored case, too: `retries` in another case is not within another name.
    whole_word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    exact = [row for row in rows if whole_word.search(row["line"] or "")]

    # Where no grammar reads definitions, such as in Swift, a line may define the name.
    if any(_may_define(work, row, name) for row in exact):
        return None

    confirmed = [row for row in rows if name.casefold() in (row["line"] or "").casefold()]
    evidence = rows_evidence(work, (exact or rows)[:MAX_NAMED])

    subject = f"{noun} definition" if noun else "definition"
    verb = "has" if len(rows) == 1 else "have"
    qualifier = "" if exact else WITHIN_NAMES
    text = (
        f"No {subject} of {code(name)} was found in {_repositories_text(work)}; "
        f"{count_of(len(rows), 'line')} {verb} the text{qualifier}, such as"
    )

    return Finding(
        Statement(text, evidence),
        "absence",
        method=["Covers definitions that a grammar knows. Code may also build the name at run time."],
        queries=[query],
        recounts=frozenset({len(confirmed), len(work.names)}),
        is_negative=True,
    )


def limits_of(work: Work, content: SearchRows) -> list[str]:
    """Return what a search for an absent name didn't read, a clause each."""
    unread = ["large files"] if content.large_files else []
    if _has_submodules(work):
        unread.append("submodules")

    limits = [f"{join_words(unread)} were not read"] if unread else []
    return [*limits, "some files couldn't be read"] if content.lacks_only_files else limits


def _has_submodules(work: Work) -> bool:
    """Return whether a repository has submodules, whose contents no search reads."""
    return bool(find_rows(work, make_queries(work, r"type:path /^\.gitmodules$/")).rows)


def _may_define(work: Work, row: Mapping[str, Any], name: str) -> bool:
    """Return whether a line may define a name in a way that the index doesn't have, such as by a macro."""
    target = work.inquiry.pins.of(row["repository"])
    if target is not None and is_unread_code(work.texts, target, row["path"]):
        return True
    # "Which file declares X": a manifest declares a package.
    if re.search(MANIFESTS, row["path"]) is not None:
        return True

    # Documents and tests show definitions that aren't those of the project.
    if rank_of(row["path"]) > 1:
        return False

    word = re.escape(name)
    defined = rf"\b{_DEFINING_WORDS}\s+{word}\b"
    assigned = rf"^\W*(?:(?:self|this|cls)\.)?{word}[\"']?\s*[:=](?!=)"
    # `attr_accessor :title, :width`: a call that makes methods of these names.
    by_call = (
        rf"^\s*(?:attr_\w+|define_method|alias_method|def_delegators?|delegate|getter|setter|property)\b.*:{word}\b"
    )
    # `char *names[] = {`: a type before the name, and behind it what ends a declaration.
    no_type = r"(?!(?:return|else|goto|delete|throw|case|new|await|yield)\b)"
    typed = rf"^\s*+{no_type}(?=\w)[\w:<>\s*&]*[\s*&]{word}(?:\[\w*\])*\s*(?:=(?!=)|;)"
    return re.search(f"{defined}|{assigned}|{by_call}|{typed}", (row["line"] or "")[:_MAX_LINE]) is not None


def _repositories_text(work: Work) -> str:
    """Name the repositories that were searched, or count them where there are many."""
    if len(work.names) > MAX_NAMED:
        return f"{len(work.names):,} repositories"

    return ", ".join(code(name) for name in work.names)

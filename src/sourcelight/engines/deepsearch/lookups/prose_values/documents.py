"""Defaults that documentation states: option tables, docstrings, and comments such as ``(defaults to 5)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE, language_at
from sourcelight.engines.deepsearch.lookups.definitions.location import ValueCandidate
from sourcelight.engines.deepsearch.lookups.prose_values.names import has_word, words_in_name
from sourcelight.engines.deepsearch.lookups.prose_values.question import ValueQuestion
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT
from sourcelight.engines.deepsearch.source.literals import TEXT, without_texts
from sourcelight.engines.search import Target

_MAX_ROWS, _MAX_LINE, _ITEM_LINES, _BLOCK_LINES = 8_000, 400, 8, 30
_VALUE = (
    r"(?:`{1,2}(?P<ticked>[^`\n]{1,60})`{1,2}|\+(?P<marked>[\w.:/-]{1,60})\+"
    r"|\\\"(?P<escaped>[^\"\\\n]{1,60})\\\"|(?P<bare>\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'"
    r"|-?\d[\w.]*(?:\s?(?:%|(?:ms|milliseconds|seconds?|minutes?|hours?|days?|bytes|characters?|KB|MB)(?!\w)))?"
    r"|(?:true|false|none|nil|null|infinity|unlimited)(?!\w)))"
)
_STATED = (
    re.compile(r"@default(?:[Vv]alue)?\s+`?(?P<ticked>[^\s`*][^`*\n]{0,60}?)`?\s*(?:\*/\s*)?$"),
    re.compile(
        rf"(?<![\"'])\bdefaults?\b(?:\s++value)?\s*+(?:(?:is|are|to|=|:|of)\s*+)?(?:(?:to|is|:|=)\s*+)?{_VALUE}",
        re.IGNORECASE,
    ),
    # Code stands in square brackets in documentation of OCaml.
    re.compile(r"\bdefaults?\b(?:\s+(?:is|to|value)){0,2}\s+\[(?P<ticked>[^\[\]\n]{1,60})\](?![(\w])", re.IGNORECASE),
    re.compile(rf"{_VALUE},?\s*(?:\(?by\s+default|\(\s*(?:the\s+)?default\s*\))", re.IGNORECASE),
)
_DEFAULT = re.compile(r"\bdefaults?\b\s*(?:[:=]|to\b|is\b)", re.IGNORECASE)
_PREFIX = r"^[\s#*/;%|!']{0,40}"
"""Indents, marks of comments, and borders of tables."""
_ITEM = re.compile(
    rf"{_PREFIX}(?:[-+]\s+|(?:@param|:param|@arg)\s+(?:[\w.]{{1,40}}\s+(?=\w+:))?)?(?:\{{[^{{}}]{{0,60}}\}}\s*)?"
    r"(?:-[a-zA-Z](?:,\s*|\s+)(?=--))?[\[`:*\"'{(]{0,4}(?:--?)?(?:[gbtw]:)?(?:[a-zA-Z]\w{0,40}\.){0,3}(?P<name>[A-Za-z_][\w-]{0,80})[\])`*\"'}=?~]{0,4}"
    r"(?P<mark>\s*(?:-{1,2}\s|:|\u2013|\u2014|\||=|$)|\s)"
)
_BEGINS = re.compile(rf"{_PREFIX}(?:[-+]\s|`|@param\b|:param\b|@arg\b|--?[a-zA-Z])|^\s*\||^[gbtw]:\w{{1,80}}~\s*$")
_BULLET = re.compile(r"\s*\*\s+\S")
_MEMBER = re.compile(
    r"\s*(?:(?:readonly|public|private|static|export|pub|def|fn|func|fun|function|let|var|val|const)\s+){0,4}(?:self\.)?(?P<name>[A-Za-z_]\w*)\s*[?!]?\s*[:=(]"
)
_GO_FIELD = re.compile(r"\t+(?P<name>[A-Z]\w*)\s+[\w*\[\].{}()]{1,60}(?:\s+`[^`]*`)?\s*(?://.*)?$")
_TRAILING = re.compile(
    r"\s*+(?:[,{(]\s*+)?(?:[A-Za-z_][\w.<>*&]{0,40}[\s*&]+){0,3}(?P<name>[A-Za-z_]\w{0,80})\s*"
    r"(?:::?|=|;|,|\s[A-Za-z*\[])[^#\"'`]{0,120}?(?P<mark>--\s|//|/\*|#\s)"
)
"""A member with a comment behind it, on its line."""
_LOGS = re.compile(
    r"(?:^|/)(?:changes|changelog|history|news|upgrad\w+|release\w*|migrat\w+)[^/]*$|/changelogs?/", re.IGNORECASE
)
_OF_CASE = re.compile(r"[`'\"]?\s+(?:for|on|when|if|unless)\s", re.IGNORECASE)
"""The condition of a default of one case alone: "defaults to `false` for Windows and to `true` elsewhere"."""
_PURPOSE = re.compile(r"(?<=\(default\) )to\s[^.;\n]{1,200}", re.IGNORECASE)
"""The use of a value, which its name isn't about: "set this to 0 (default) to use the width of the parent"."""
_NULL = re.compile(r"(?i:none|nil|\w{0,9}null|undefined|nullptr|void 0|\[\]|\{\}|\"\"|''|-1)")


@dataclass(frozen=True, slots=True)
class StatedDefault:
    """A default that a line of documentation states for a name."""

    name: str
    value: str
    begin_line: int
    end_line: int
    text: str


def is_null(value: str) -> bool:
    """Return whether a value only says that nothing is set."""
    return _NULL.fullmatch(value) is not None


def contradicts(documented: str, value: str) -> bool:
    """Return whether a value in code is another text, number or truth than a documented one; units aren't compared."""
    if is_null(value) or re.fullmatch(r"[\w.]+|\"[^\"]*\"|'[^']*'", value) is None:
        return False

    kinds = [_kind_of(_bare(documented)), _kind_of(_bare(value))]
    return kinds[0] == kinds[1] != "" and _bare(documented) != _bare(value)


def _kind_of(bare: str) -> str:
    """Return ``truth``, ``number`` or ``text`` for a bare value; empty for a name and a number with a unit."""
    if bare in {"true", "false"}:
        return "truth"
    if re.fullmatch(r"-?\d+(?:\.\d+)?", bare) is not None:
        return "number"
    return "text" if re.fullmatch(r"[a-z#][\w#/ -]*", bare) is not None else ""


def find_stated(work: Work, question: ValueQuestion, queries: list[str]) -> list[ValueCandidate]:
    """Return the defaults that documentation states for the setting of a question, if they are one value."""
    texts = work.texts
    searches = make_queries(work, r"case:no type:file /\bdefaults?\b|@default/")
    queries += searches
    rows = [row for row in run_searches(work, searches) if row["type"] == "content"]
    rows = [row for row in rows if len(row["line"] or "") <= _MAX_LINE and not _LOGS.search(row["path"])]
    if len(rows) > _MAX_ROWS:
        return []

    candidates: list[tuple[int, ValueCandidate]] = []
    for row in rows:
        path = row["path"]
        is_document = language_of(path) in NO_CODE
        if _statement_in(row["line"]) is None or (rank_of(path) and not is_document):
            continue

        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue

        work.inquiry.context.cancellation.check()
        lines = texts.lines(target, path)
        if not is_document and _is_code(texts, target, path, row["line_number"]):
            continue
        if language_of(path) in _DATA and _is_value(row["line"]):
            continue

        holders = texts.definitions_around(target, path, row["line_number"])
        around = " ".join(f"{holder.name} {holder.container}" for holder in holders)
        stated = read_stated(lines, row["line_number"], is_document=is_document)
        share = 0 if stated is None else _share(question, stated, f"{path} {around}")
        if stated is None or not share:
            continue

        evidence = texts.evidence(target, path, stated.begin_line, stated.end_line, "definition", 1.0, (stated.name,))
        claim = f"The documentation says that the default of {code(stated.name)}"
        rank = 1 if is_document else 0
        candidate = ValueCandidate(stated.value, claim, path, [evidence], rank, row["repository"], "is")
        candidates.append((share, candidate))

    order = max(((share, -item.rank) for share, item in candidates), default=(0, 0))
    best = [item for share, item in candidates if (share, -item.rank) == order]
    is_clear = len({_bare(item.value) for item in best}) == 1 and not any(_is_replaced(work, item) for item in best)
    return best if is_clear else []


def _is_replaced(work: Work, item: ValueCandidate) -> bool:
    """Return whether data of Puppet give a parameter another value than its comment says: ``kiln::mode: '0644'``."""
    if not item.path.endswith(".pp"):
        return False
    name = item.evidence[0].symbols[0]
    pattern = rf"::{escape_regexp(name)}:\s"
    rows = run_searches(work, make_queries(work, rf"case:yes type:file file:(^|/)(hiera)?data/.*\.ya?ml$ /{pattern}/"))
    values = {_bare((row["line"] or "").partition(f"::{name}:")[2].strip()) for row in rows}
    return bool(values - {_bare(item.value)})


def _is_code(texts: FileTexts, target: Target, path: str, number: int) -> bool:
    """Return whether what a line (from 1) says of a default is neither in a comment nor in a text: ``DEFAULT=true``."""
    lines = texts.lines(target, path)
    line = lines[number - 1]
    match = _statement_in(line)
    if match is None or _MARK.search(without_texts(line)[: match.start()]) is not None:
        return False
    if any(text.start() < match.start() < text.end() for text in TEXT.finditer(line)):
        return False
    return any(index == number for index, _ in texts.code_lines(target, path, language_at(texts, target, path)))


_DATA = frozenset({"YAML", "JSON", "JSON with Comments", "TOML", "INI", "XML"})
_KEY = re.compile(
    r"\s*(?:-\s+)?[\"']?(?!(?:descriptions?|desc|help|docs?|documentation|comments?|notes?|summary|title)\b)[\w.-]{1,80}[\"']?"
    r"\s*[:=](?=\s|$|[\"'])",
    re.IGNORECASE,
)
"""A key of data, other than one of a text for people."""
_MARK = re.compile(r"(?:^|\s)(?:#|//|/\*|\*|--|;|%)")
"""The beginning of a comment."""


def _is_value(line: str) -> bool:
    """Return whether what a line of data says of a default is a value of it: ``limit: default 5`` is no statement."""
    match = _statement_in(line)
    return match is not None and _KEY.match(line) is not None and _MARK.search(line[: match.start()]) is None


def _bare(value: str) -> str:
    return value.strip("\"'`:").replace("_", "").casefold()


def _share(question: ValueQuestion, stated: StatedDefault, around: str) -> int:
    """Return how many words of a question the name has, plus one; 0 if the statement is about something else."""
    share = len(question.words)
    if stated.name not in question.names:
        present = words_in_name(question, stated.name)
        if present is None or (question.head and not present & question.head) or not present:
            return 0
        share = len(present)

    text = f"{_PURPOSE.sub(' ', stated.text)} {around}"
    owners = [name for name in question.names if name != stated.name]
    has_all = all(has_word(text, word) for word in question.words) and all(
        re.search(rf"(?<!\w){re.escape(re.split(r'[.:#]', name)[-1])}(?!\w)", text) is not None for name in owners
    )
    return share + 1 if has_all else 0


def _statement_in(line: str) -> re.Match[str] | None:
    """Return the first form of a statement of a default that a line has, or None."""
    return next((match for pattern in _STATED if (match := pattern.search(line)) is not None), None)


def read_stated(lines: Sequence[str], number: int, *, is_document: bool) -> StatedDefault | None:
    """Return what a line (from 1) says of the name that its item is about; None without such a name or value."""
    text = lines[number - 1]
    match = _statement_in(text)
    value = "" if match is None else _value_in(match)
    if match is None or not value or _OF_CASE.match(text[match.end() :]) is not None:
        return None

    if not is_document:
        trailing = _TRAILING.match(text)
        if trailing is not None and trailing.end("mark") <= match.start():
            return StatedDefault(trailing["name"], value, number, number, text)
        member_line = _begin_of_trailing(lines, number)
        above = _TRAILING.match(lines[member_line - 1]) if member_line else None
        if above is not None:
            return StatedDefault(above["name"], value, member_line, number, "\n".join(lines[member_line - 1 : number]))

    start, end = _begin_of_item(lines, number, is_document=is_document), number
    if any(_DEFAULT.search(line[:_MAX_LINE]) is not None for line in lines[start - 1 : number - 1]):
        # An item has one default: another one begins between the lines, in a form that isn't known here.
        return None
    item = _ITEM.match(lines[start - 1])
    if item is not None and (item["mark"].strip() or lines[start - 1][: item.start("name")].strip(" \t*/#")):
        name = item["name"]
    elif is_document:
        return None
    else:
        # A comment is about the member below it.
        first, last = _comment_around(lines, number)
        name, end = _member_below(lines, last)
        start = min(start, first)

    return StatedDefault(name, value, start, end, "\n".join(lines[start - 1 : end])) if name else None


def _value_in(match: re.Match[str]) -> str:
    """Return the value of a statement; empty for one of signs alone, which is code."""
    groups = match.groupdict()
    value = next(filter(None, map(groups.get, ("ticked", "marked", "escaped", "bare"))), "").strip().rstrip(".,;")
    return "" if len(_bare(value)) > 3 and re.search(r"\w", value) is None else value


def _begin_of_item(lines: Sequence[str], number: int, *, is_document: bool) -> int:
    """Return the line (from 1) on which the item of a list, or the paragraph, around a line begins."""
    start = number
    while start > 1 and number - start < _ITEM_LINES and not _BEGINS.match(lines[start - 1]):
        is_bullet = is_document and _BULLET.match(lines[start - 1]) is not None
        if is_bullet or not lines[start - 2].strip(" \t*/#"):
            break
        start -= 1
    return start


def _member_below(lines: Sequence[str], comment_end: int) -> tuple[str, int]:
    """Return the name of the member that follows a comment, and its line (from 1); an empty name without one."""
    for number, line in enumerate(lines[comment_end : comment_end + _ITEM_LINES], comment_end + 1):
        if line.strip():
            member = _MEMBER.match(line) or (_GO_FIELD.match(line) if line.startswith("\t") else None)
            return ("", number) if member is None else (member["name"], number)
    return "", comment_end


def _begin_of_trailing(lines: Sequence[str], number: int) -> int:
    """Return the line (from 1) of a member whose trailing comment goes on to a line, in one column; 0 for none."""
    for index in range(number, max(1, number - _ITEM_LINES), -1):
        text, above = lines[index - 1], lines[index - 2]
        if ANY_COMMENT.match(text) is None or len(above) > _MAX_LINE:
            return 0

        trailing = _TRAILING.match(above)
        if trailing is not None:
            return index - 1 if trailing.start("mark") == len(text) - len(text.lstrip()) else 0

    return 0


def _comment_around(lines: Sequence[str], number: int) -> tuple[int, int]:
    """Return the first and the last line (from 1) of the comment that a line is in."""
    first = last = number
    for index in range(number, max(0, number - _BLOCK_LINES), -1):
        if "*/" in lines[index - 1] and index < number:
            break
        if lines[index - 1].lstrip().startswith("/*"):
            ends = range(number, min(number + _BLOCK_LINES, len(lines)) + 1)
            return index, next((end for end in ends if "*/" in lines[end - 1]), number)

    while first > 1 and number - first < _ITEM_LINES and ANY_COMMENT.match(lines[first - 2]):
        first -= 1
    while last < len(lines) and last - number < _ITEM_LINES and ANY_COMMENT.match(lines[last]):
        last += 1
    return first, last

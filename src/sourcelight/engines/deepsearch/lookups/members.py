"""Read the members of an enum from its body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import is_parsed
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    DefinitionLocation,
    best_locations,
    head_at,
    location_text,
)
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, with_overloads
from sourcelight.engines.deepsearch.question.lookups.member_wording import MemberQuestion, read_member_question
from sourcelight.engines.deepsearch.source.class_heads import C_FAMILY
from sourcelight.engines.deepsearch.source.values import blank_brackets


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A member of an enum: its name and its line, from 1."""

    name: str
    line: int


def find_members(work: Work, locations: Sequence[DefinitionLocation], name: str, queries: list[str]) -> Finding | None:
    """Return the members of an enum; None if the name is something else, or if some members may be missing."""
    texts = work.texts
    enums: list[tuple[DefinitionLocation, list[EnumMember]]] = []
    for location in with_overloads(texts, best_locations(locations)):
        lines = texts.lines(location.target, location.path)
        members = members_of(lines, location)
        if members == []:
            continue
        if members is None or not _has_same_members(texts, location, members):
            return None
        if not all(member.name in lines[member.line - 1] for member in members):
            return None
        enums.append((location, members))

    if not enums or len(enums) > MAX_NAMED:
        return None

    sentences, evidence = [], []
    for location, members in enums:
        lines = texts.lines(location.target, location.path)
        visible = members[:MAX_MEMBERS]
        names = join_words([code(member.name) for member in visible])

        # What a condition of the preprocessor or of the build leaves out can't be known from the text.
        body = lines[location.definition.begin_line - 1 : members[-1].line + 1]
        if any(re.match(r"\s*#\s*if|\s*#\[cfg", line) for line in body):
            names += ", some of them under a condition,"

        among = f"{count_of(len(members), 'member')}{', including' if len(members) > len(visible) else ':'}"
        sentences.append(f"{among} {names} in {location_text(work, location)}")
        line_numbers = sorted({location.definition.line, *(member.line for member in visible)})
        is_short = line_numbers[-1] - line_numbers[0] < MAX_LINES
        ranges = [(line_numbers[0], line_numbers[-1])] if is_short else [(line, line) for line in line_numbers]
        evidence += [
            texts.evidence(location.target, location.path, start, end, "definition", 1.0, (name,))
            for start, end in ranges
        ]

    statement = Statement(f"The body of {code(name)} lists {'; '.join(sentences)}", tuple(evidence))
    finding = Finding(statement, "members", queries=[join_queries(queries)])

    # `_has_same_members` compared the names with those of a grammar, where one reads the file.
    finding.recounts = frozenset(len(members) for _, members in enums)
    finding.quotes = [head_at(texts, enums[0][0])]
    finding.method.append("Members that are added elsewhere, such as by an extension or a macro, are not listed.")
    return finding


_MAX_ENUMS = 4
"""Spellings of a name that are looked up."""


def find_worded_members(work: Work, text: str) -> Finding | None:
    """Return the members of the only enum outside of tests that has the words of a question as its name."""
    question = read_member_question(text)
    for pattern in (*question.patterns, *question.patterns_in_owner) if question is not None else ():
        name = rf"\b(?:[a-z]{{2,3}})?{pattern}\b"
        head = rf"\b(?:enum|data|class|NS_ENUM|NS_OPTIONS)\b.*{name}|{name}.*=.*\benum\b"
        queries = make_queries(work, f"case:no type:file /{head}/")
        rows = [row for row in run_searches(work, queries) if row["type"] == "content" and rank_of(row["path"]).is_code]
        # Names of Objective-C begin with the letters of their project.
        word = re.compile(rf"\b(?:[A-Z]{{2,3}})?(?i:{pattern})\b")
        names = {match[0] for row in rows for match in word.finditer((row["line"] or "")[:_MAX_HEAD])}
        findings = []
        for name in sorted(names)[:_MAX_ENUMS]:
            locations = [
                location
                for location in find_definitions(work, name, queries, unparsed=True)
                if location.rank.is_code and _has_owner(location, pattern, question)
            ]
            finding = find_members(work, locations, name, queries) if locations else None
            findings += [finding] if finding is not None else []

        if findings or len(names) > _MAX_ENUMS:
            return findings[0] if len(findings) == 1 else None

    return None


def _has_owner(location: DefinitionLocation, pattern: str, question: MemberQuestion | None) -> bool:
    """Return whether the file or the container of an enum has the words of its owner, where its name lacks them."""
    if question is None or pattern in question.patterns:
        return True

    around = f"{location.path} {location.definition.container}"
    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", around)}
    return set(question.owner) <= words


def _has_same_members(texts: FileTexts, location: DefinitionLocation, members: Sequence[EnumMember]) -> bool:
    """Return whether a grammar finds the same members, if one reads the file."""
    if location.path.endswith((".py", ".pyi")) or not is_parsed(texts, location.target, location.path):
        # The grammar of Python knows no members of enums, and other files have none.
        return True

    definitions = list(texts.iter_definitions(location.target, location.path))

    # A grammar may miss an enum, and its members with it.
    if not any(
        (other.name, other.line) == (location.definition.name, location.definition.line) for other in definitions
    ):
        return True

    body = range(location.definition.begin_line, location.definition.end_line + 1)
    names = [
        definition.name
        for definition in definitions
        if definition.kind == "enummember" and definition.line in body
        if definition.container.rpartition(".")[2] == location.definition.name
    ]
    return sorted(names) == sorted(member.name for member in members)


def members_of(  # noqa: PLR0911 - one for each form of body
    lines: Sequence[str], location: DefinitionLocation
) -> list[EnumMember] | None:
    """Return the members of an enum in the order of the file: none of another thing, None for an unknown form."""
    line, path, name = location.definition.line, location.path, location.definition.name
    if not 0 < line <= len(lines) or location.definition.kind not in _WITH_MEMBERS:
        return []

    language = language_of(path)
    if language == "Python":
        return _python_members(lines, line, name)
    if language == "Haskell":
        return _haskell_members(lines, line, name)

    if language == "Nim":
        return _nim_members(lines, line, name)

    # In C, the name may follow the body: `typedef enum { A, B } letter;`.
    is_behind = language in C_FAMILY and location.definition.begin_line < line
    first_line = location.definition.begin_line if is_behind else line
    word = "" if is_behind else rf"(?<![\w$]){re.escape(name)}(?![\w$])"

    # A generated file may have lines of any length.
    text = "\n".join(lines[first_line - 1 : first_line - 1 + _MAX_BODY_LINES])[:_MAX_BODY]
    text = _NO_CODE.sub(_blank, text)
    if language == "PowerShell":
        text = re.sub(r"<#.*?#>|#[^\n]*", _blank, text, flags=re.DOTALL)
    head_end = _head_end(text, word)
    if not head_end:
        return []

    body = _body_of(text[head_end:])
    if body is None or re.search(r"^[ \t]*#\s*(?:include|define)\b", body, re.MULTILINE):
        return None

    first_line += text.count("\n", 0, head_end)
    outer = _outermost(re.sub(r"(?m)^[ \t]*#[ \t]*(?:if|el|endif|warning|region|endregion|pragma).*", _blank, body))
    if language in {"Swift", "PHP", "Scala"}:
        return _members_after_case(outer, first_line)

    separator = _SEPARATORS.get(language or "")
    if separator is None:
        return None
    bare = _BARE_ATTRIBUTES.sub(_blank, outer)
    # What follows the first semicolon in Java, Kotlin and Dart are methods.
    return _members_between(bare.partition(";")[0] if separator == "," else bare, separator, first_line)


def _nim_members(lines: Sequence[str], line: int, name: str) -> list[EnumMember] | None:
    """Return the members of an enum of Nim, which end where a line is indented as its head is."""
    head = re.match(
        rf"(?P<indent>[ ]*)(?:type\s+)?{re.escape(name)}\*?\s*(?:\{{\.[^{{}}]*\.\}}\s*)?=\s*enum\b(?P<rest>.*)$",
        lines[line - 1][:_MAX_HEAD],
    )
    if head is None:
        return []

    members = []
    indent = len(head["indent"])
    for number, text in enumerate([head["rest"], *lines[line : line + _MAX_BODY_LINES]], line):
        part_text = text[:_MAX_HEAD].split("#")[0].rstrip()
        if number > line and part_text and len(text) - len(text.lstrip()) <= indent:
            break
        for part in filter(str.strip, part_text.split(",")):
            member = re.fullmatch(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:=[^(]*)?", part)
            # A value of several parts has commas of its own.
            if member is None:
                return None
            members.append(EnumMember(member["name"], number))
    else:
        # A body without an end that was read may have more.
        if line + _MAX_BODY_LINES < len(lines):
            return None

    return members


_SEPARATORS = {
    **dict.fromkeys(
        (
            *C_FAMILY, "C#", "D", "Dart", "GDScript", "Groovy", "Java", "JavaScript", "Kotlin", "Objective-C", "Rust",
            "Solidity", "TSX", "TypeScript", "Vala",
        ),
        ",",
    ),
    **dict.fromkeys(("Protocol Buffer", "Haxe"), ";"),
    "PowerShell": r"[;\n]",
}  # fmt: skip
"""Signs between the members of an enum, by language."""
_NO_MEMBER = re.compile(r"\s*(?:option|reserved)\b")
"""Statements beside the members of an enum of Protocol Buffers."""
_WITH_MEMBERS = frozenset({"enum", "class", "type", "struct"})
MAX_MEMBERS = 24
"""Members that a headline names."""
_MAX_BODY_LINES, _MAX_BODY, _MAX_HEAD = 600, 60_000, 2_000
"""Lines and characters of a body, and characters of a head, that are read."""
_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|`[^`\n]*`(?=\s*=)",
    re.DOTALL,
)
_BARE_ATTRIBUTES = re.compile(r"#?\[[^\[\]\n]*\]|@[\w.]+(?:[ \t]*\([^()]*\))?")
_ENUM_MACRO = re.compile(r"\s*typedef\s+(?:NS|CF)_(?:CLOSED_)?(?:ENUM|OPTIONS)\s*\([\w\s]*,\s*(?P<name>\w+)\s*\)\s*\{")
"""The head of an enum of Objective-C, whose name is an argument."""
_VISIBILITY = re.compile(r"\bpub\s*\([\w\s:]*\)")
_MEMBER = re.compile(r"\s*(?P<name>[A-Za-z_$][\w$]*)\s*+(?:[={(].*)?", re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _head_end(text: str, word: str) -> int:
    """Return where the body of an enum begins; 0 without a head that has the name, an expression, behind ``enum``."""
    macro = _ENUM_MACRO.match(text[:_MAX_HEAD])
    if macro is not None:
        return macro.end() if word and re.fullmatch(word, macro["name"]) is not None else 0

    # One search for each part: a pattern of the whole head takes cubic time for a line of `enum A enum A …`.
    head = text[: text.find("{") + 1][:_MAX_HEAD]
    keyword = re.search(r"(?i:\benum\b)", head)
    if keyword is None or re.search(r"[\n=;(){]", _VISIBILITY.sub("", head[: keyword.start()])) is not None:
        return 0

    name = re.search(word, head[keyword.end() :])
    if name is None or re.search(r"[=;(){]", head[keyword.end() : keyword.end() + name.start()]) is not None:
        return 0

    return 0 if ";" in head or not head.endswith("{") else len(head)


def _outermost(text: str) -> str:
    """Blank what is in brackets, so that positions and lines stay."""
    blanked = blank_brackets(text)
    return "".join("\n" if letter == "\n" else other for letter, other in zip(text, blanked, strict=True))


def _body_of(text: str) -> str | None:
    """Return the text before the brace that closes a body whose opening brace precedes it."""
    depth = 1
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return text[: match.start()]
    return None


def _members_between(text: str, separator: str, first_line: int) -> list[EnumMember] | None:
    members: list[EnumMember] = []
    start = 0
    for end in [*(match.start() for match in re.finditer(separator, text)), len(text)]:
        item_text, offset = text[start:end], start
        start = end + 1
        if not item_text.strip() or (separator == ";" and _NO_MEMBER.match(item_text) is not None):
            continue
        match = _MEMBER.fullmatch(item_text)
        if match is None:
            return None
        members.append(EnumMember(match["name"], first_line + text.count("\n", 0, offset + match.start("name"))))

    # The branches of a condition may name one member twice.
    return list({member.name: member for member in reversed(members)}.values())[::-1] or None


def _members_after_case(text: str, first_line: int) -> list[EnumMember] | None:
    """Return what follows ``case`` in the outermost level of a body, whose further levels are blanked."""
    members: list[EnumMember] = []
    for match in re.finditer(r"(?m)^[^\S\n]*(?:@\w+[^\S\n]+)*(?:indirect\s+)?case\s+", text):
        # A list goes on below a comma.
        list_match = re.match(r"[^\n;]*(?:,[^\S\n]*\n[^\n;]*)*", text[match.end() :])
        following = "" if list_match is None else list_match[0]
        offset = match.end()
        for item_text in following.split(","):
            name = re.match(r"\s*`?([A-Za-z_]\w*)`?\s*(?:[({=:].*|extends\b.*)?$", item_text, re.DOTALL)
            if name is None:
                return None
            members.append(EnumMember(name[1], first_line + text.count("\n", 0, offset + name.start(1))))
            offset += len(item_text) + 1

    return members or None


def _python_members(lines: Sequence[str], line: int, name: str) -> list[EnumMember] | None:
    """Return the assignments directly in the body of a class whose head names an enum as its base."""
    head = re.match(rf"(\s*)class\s+{re.escape(name)}\s*\(([^()]*)\)\s*:\s*(?:#.*)?$", lines[line - 1])
    if head is None or re.search(r"\b\w*(?:Enum|Flag)\b", head[2]) is None:
        return []

    members: list[EnumMember] = []
    indent, in_text = "", ""
    for number, text in enumerate(lines[line : line + _MAX_BODY_LINES], line + 1):
        if in_text:
            in_text = "" if in_text in text else in_text
            continue
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        if not text.startswith(f"{head[1]} ") and not text.startswith(f"{head[1]}\t"):
            break

        indent = indent or text[: len(text) - len(text.lstrip())]
        in_text = next((mark for mark in ('"""', "'''") if text.count(mark) % 2), "")
        if not text.startswith(indent) or text[len(indent)].isspace():
            continue

        # A condition or a loop in the body may add members or leave some out.
        if re.match(r"\s*(?:if|for|while|with|try|exec|vars|locals)\b", text):
            return None

        # Several members on one line have forms that aren't read here.
        bare = _NO_CODE.sub(_blank, text).partition("#")[0]
        if ";" in bare or re.match(r"\s*\w+\s*(?:,[\w\s,]*=|=\s*\w+\s*=)(?!=)", bare) is not None:
            return None

        match = re.match(r"\s*([A-Za-z]\w*)\s*(?::[^=]+)?=(?!=)", text)
        if match is not None:
            members.append(EnumMember(match[1], number))

    return members or None


def _haskell_members(lines: Sequence[str], line: int, name: str) -> list[EnumMember] | None:
    """Return the constructors of a type of Haskell."""
    parts = [lines[line - 1]]
    for text in lines[line : line + _MAX_BODY_LINES]:
        if text.strip() and not text[0].isspace():
            break
        parts.append(text)

    text = re.sub(r"--+(?![!#$%&*+./<=>?@\\^|~]).*|\{-.*?-\}", _blank, "\n".join(parts))
    head = re.match(rf"(?:data|newtype)\s+{re.escape(name)}\b[^=]*=", text)
    if head is None:
        return []
    if re.search(r"\bforall\b|=>|#", text):
        return None

    body = re.split(r"\bderiving\b", text[head.end() :])[0]
    members: list[EnumMember] = []
    start = 0
    for item_text in _outermost(body).split("|"):
        match = re.match(r"\s*!?([A-Z][\w']*)(?=[\s{]|$)", item_text)
        if match is None or re.search(r"\s:\S*\s", item_text):
            return None
        offset = head.end() + start + match.start(1)
        members.append(EnumMember(match[1], line + text.count("\n", 0, offset)))
        start += len(item_text) + 1

    return members

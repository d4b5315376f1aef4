"""Read what a line gives to a name, in any language: by an assignment, an entry of a literal, or a call that sets it.

No grammar is needed, so that files of configuration and of build systems are read as code is. Where a form isn't sure,
the value is empty: the line gives the name something that can't be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import is_value
from sourcelight.engines.deepsearch.lookups.scoped_values.calls import LineValue, read_call
from sourcelight.engines.deepsearch.source.comment_marks import comment_mark_of
from sourcelight.engines.deepsearch.source.line_kinds import LISPS
from sourcelight.engines.deepsearch.source.literals import TEXT, without_texts
from sourcelight.engines.deepsearch.source.value_ends import split_column, value_before_in
from sourcelight.engines.deepsearch.source.values import goes_on, in_one_line, lisp_value, read_expression

MAX_LINE = 600
"""Characters of a line that is read: longer ones are minified or generated."""
_MAX_MATCHES, _MAX_VALUE, _MAX_LIST = 8, 300, 40
_DATA = re.compile(
    r"\.(?:ya?ml|json|jsonc|json5|toml|ini|cfg|conf|properties|editorconfig|xcconfig|neon|env|psd1)$"
    r"|(?:^|/)\.[a-z][\w-]*(?:rc|format|tidy|config|editorconfig|env)$|(?:^|/)(?:Pipfile|Cargo\.lock|\.env[\w.]*)$"
)
"""Files of configuration, in which a colon or a sign of equality gives a key its value."""
_SHELL = re.compile(r"\.(?:sh|bash|zsh|bats|ksh|env)$|(?:^|/)(?:configure|\.env[\w.]*|PKGBUILD)$")
_MAKE = re.compile(r"(?:^|/)(?:GNU)?[Mm]akefile(?:\.[\w.]+)?$|\.(?:mk|mak)$")
_SQL = re.compile(r"\.sql(?:\.in)?$")
_BEFORE = re.compile(
    r"\s*+(?:[\w@*&$.:<>\[\]?!,'#~/|-]++\s++)*+(?:(?:[\w$@]++|\])(?:\.|->|::|%|:))*+[@$%&*]{0,2}_?[\"'`]?"
)
"""Words, types and objects before a name that a line gives a value."""
_NO_GIVING = re.compile(
    r"(?<![\w-])(?:if|elif|elsif|elseif|unless|while|until|for|foreach|return|case|when|match|switch|assert\w*|expect"
    r"|print\w*|puts|echo|test|where|throw|raise|yield|await|import|from|not|and|or|else|then|do|del|delete|extern|use)"
    r"(?![\w-])"
)
"""Words before a name on its line that make it a condition, a loop or an argument of a statement."""
_OF_MEMBER = re.compile(r"(?:\b(?:self|this)(?:\.|->)|@)\w+(?:\.|->)(?:\w+(?:\.|->))*$")
"""The member of an object that has the name, as in `this.child.size`: the value is the child's."""
_CONSTANT_OF_PERL = re.compile(r"\s*use\s+constant\s+\{?\s*$")
_ASSIGNED = re.compile(
    r"[\"'`]?\*?(?:\s*+:\s*+[\w.<>\[\]?*&|@,() ]{1,100}?|\s++[*\[\]\w.]{1,60}|\[\w{0,20}\]|\s*+\{\.[^{}]{0,60}\.\})?"
    r"\s*+(?P<sign>:=|\?=|\|\|=|//=|\?\?=|=)(?![=~>])\s*+"
)
_ENTRY = re.compile(r"[\"'`]?\s*+(?P<sign>=>|:(?![:=]))\s*+(?=\S)")
_KEY = re.compile(r"[\"'`]?\s*+(?P<sign>:(?=\s)|=>|[:?]?=)[ \t]*+")
_ARROW = re.compile(r"[\"'`]?\s*+(?P<sign><<?-)\s*+(?=\S)")
_WITH_ARROWS = re.compile(r"\.(?:rb|rake|gemspec|podspec|cr|php|pl|pm|t|exs?|pp|ex)$")
"""Languages whose hashes have an arrow between key and value."""
_WITHOUT_TYPES = re.compile(r"\.(?:rb|gemspec|exs?|[cm]?jsx?|coffee|go|groovy|gradle)$")
"""Languages in which a colon behind a name comes before a value, never before a type."""
_SHELL_WORD = re.compile(r"(?:\"[^\"\\]*+\"|'[^']*+'|\$\{[^{}]*+\}|[^\s;&|\"'`$(){}<>\\]++|\$\w++)++(?=\s*+(?:$|;|#))")
_MODIFIER = re.compile(r"\s(?:if|unless|while|until|rescue)\s")
"""A condition behind a statement, as Ruby and Perl have it."""
_CODE = re.compile(r"(?:function|fn|func|fun|def|lambda|sub|proc|->|do|case|if|match|switch)\b")
"""The beginning of an expression that is no value yet."""
_OPTION_OF_PERL = re.compile(r"=>\s*\\\(\s*my\s*[$@%]$")
"""A variable for an option of a command line, which its value precedes: ``'limit=i' => \\(my $limit = 5)``."""
_OPTIONAL_OF_ML = re.compile(r"\?(?:\w+:)?\(\s*$")
"""The beginning of an optional parameter with its default: ``?(size = 5)``."""
_TYPE_OF_ERLANG = re.compile(r"\s+::\s.*$")
"""The type behind the value of a field of a record."""
_SCRIPT = re.compile(r"#!.*\b(?:ba|z|k|da)?sh\b")
_UNFINISHED = ("{", "(", "[", "+", "|", "&&", "<>", "..", "|>", "%>%", "=", "\\", ",")


def read_value(lines: Sequence[str], number: int, name: str, path: str) -> LineValue | None:
    """Return what a line (from 1) gives to a name; None if it gives it nothing.

    Parameters
    ----------
    lines
        The file.
    number
        The line, from 1.
    name
        The name, without a sign of variables before it.
    path
        The file, whose name tells the language.
    """
    text = lines[number - 1]
    if len(text) > MAX_LINE:
        return None

    if language_of(path) in LISPS:
        value = lisp_value(lines, name, number)
        return None if value is None else LineValue(value.text, 0, value.end_line)

    called = read_call(lines, number, name, path)
    if called is not None:
        return called

    for match in _mentions(text, name, path):
        line_value = _read_at(lines, number, match, path)
        if line_value is not None:
            return line_value

    return None


def _mentions(text: str, name: str, path: str) -> Iterator[re.Match[str]]:
    """Yield the places of a line that have a name as a whole, outside of comments."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-]|\()")
    for count, match in enumerate(word.finditer(text)):
        if count >= _MAX_MATCHES:
            return
        mark = text[match.start() - 1 : match.start()]
        is_cut = mark in {'"', "'", "`"} and text[match.end() : match.end() + 1] != mark
        if not is_cut and not _is_in_comment(text, match.start(), path):
            yield match


def _is_in_comment(text: str, column: int, path: str) -> bool:
    """Return whether a place is behind a mark of comments, or within a text."""
    mark = comment_mark_of(path)
    bare = without_texts(text[:column])
    is_commented = mark in bare and (mark != "#" or re.search(r"(?:^|\s)#", bare) is not None)
    # A quotation mark directly before the name makes it a key.
    open_marks = [sign for sign in "\"'`" if bare.rstrip("\"'`").count(sign) % 2]
    return is_commented or (bool(open_marks) and _DATA.search(path) is None)


def segment_before(text: str, column: int) -> tuple[str, str]:
    """Return what precedes a place of a line up to the nearest comma or open bracket, and that sign."""
    bare = without_texts(text[:column])
    depth = 0
    for position in range(len(bare) - 1, -1, -1):
        letter = bare[position]
        if letter in ")]}":
            depth += 1
        elif letter in "([{":
            if depth == 0:
                return text[position + 1 : column], letter
            depth -= 1
        elif letter in ",;" and depth == 0:
            return text[position + 1 : column], letter

    return text[:column], ""


def is_in_list(lines: Sequence[str], number: int, column: int) -> bool:
    """Return whether a place is within a round or square bracket that opens on its line or near above."""
    depth = 0
    for index in range(number, max(0, number - _MAX_LIST), -1):
        bare = without_texts(lines[index - 1][: column if index == number else MAX_LINE])
        for letter in reversed(bare):
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                return letter != "{"

    return False


def _read_at(lines: Sequence[str], number: int, match: re.Match[str], path: str) -> LineValue | None:
    """Return what a line gives to the name at a place."""
    text = lines[number - 1]
    segment, sign_before = segment_before(text, match.start())
    is_within = bool(sign_before) or is_in_list(lines, number, match.start())
    if not _may_give(segment):
        return None

    if _SQL.search(path) is not None:
        column = _read_column(lines, number, match, segment)
        if column is not None:
            return column

    if _DATA.search(path) is not None:
        key = _KEY.match(text, match.end())
        return None if key is None else _read_data(lines, number, match.start(), key.end())

    sign = _sign_behind(text, match.end(), path)
    # What a field of a message has there is its number.
    is_number = path.endswith(".proto") and re.search(r"(?:^|\s)option\s*\(?$|^\s*$", segment) is None
    if sign is None or is_number:
        return None

    is_entry = sign["sign"] in {":", "=>"}
    # An argument of a call without brackets: `parse_options size: 4`.
    if is_entry and segment.strip(" \t\"'`:") and not path.endswith((".pm", ".pl", ".t")):
        return None

    line_value = _read_assigned(lines, number, match.start(), sign, path, is_within=is_within or is_entry)
    return line_value if not is_entry or _is_entry(text, match, sign["sign"], line_value.value, path) else None


def _may_give(segment: str) -> bool:
    """Return whether what precedes a name lets a sign behind it give the name a value."""
    if _BEFORE.fullmatch(segment) is None or _OF_MEMBER.search(segment) is not None:
        return False
    return _NO_GIVING.search(segment) is None or _CONSTANT_OF_PERL.match(segment) is not None


def _sign_behind(text: str, end: int, path: str) -> re.Match[str] | None:
    """Return the sign behind a name that gives it a value; None for none."""
    assigned = _ASSIGNED.match(text, end)
    if assigned is not None:
        # A property of Kotlin that is computed each time has no value.
        return None if text[end : assigned.start("sign")].rstrip().endswith(" get()") else assigned

    arrow = _ARROW.match(text, end) if path.endswith((".R", ".r")) else None
    if arrow is not None:
        return arrow

    entry = _ENTRY.match(text, end)
    is_arrow = entry is not None and entry["sign"] == "=>"
    return None if is_arrow and _WITH_ARROWS.search(path) is None else entry


def _is_entry(text: str, match: re.Match[str], sign: str, value: str, path: str) -> bool:
    """Return whether a colon or an arrow gives a name a value, rather than a type."""
    is_quoted = text[match.start() - 1 : match.start()] in {'"', "'"}
    if sign == "=>" or is_quoted or _WITHOUT_TYPES.search(path) is not None:
        return True
    return is_value(value, is_entry=True) and not text.rstrip().endswith(";")


def _read_assigned(
    lines: Sequence[str], number: int, column: int, sign: re.Match[str], path: str, *, is_within: bool
) -> LineValue:
    """Return the value behind a sign; empty if it can't be read.

    Parameters
    ----------
    lines, number, path
        The file, and the line, from 1.
    column
        Where the name begins, from 0.
    sign
        The sign, with the spaces behind it.
    is_within
        Whether the name is an entry of brackets, so that a comma ends its value.
    """
    text = lines[number - 1]
    is_default = sign["sign"] in {"?=", "||=", "//=", "??="}
    is_script = "." not in path.rpartition("/")[2] and _SCRIPT.match(lines[0][:MAX_LINE]) is not None
    if _SHELL.search(path) is not None or language_of(path) == "Shell" or is_script:
        word = _SHELL_WORD.match(text, sign.end())
        return LineValue("" if word is None else word[0], column, number, is_default)
    if _MAKE.search(path) is not None:
        value = re.sub(r"\s#.*$", "", text[sign.end() :]).strip()
        return LineValue("" if value.endswith("\\") else value, column, number, is_default)

    stops = ",;" if is_within else ";"
    expression = read_expression(lines, number - 1, sign.end(), path, stops, ends_with_line=True)
    if expression is None:
        return LineValue("", column, number, is_default)

    value = value_before_in(in_one_line(expression.text.rstrip(",;")), path) or ""
    is_open = value.endswith(_UNFINISHED) or (not is_within and goes_on(lines, expression, path))
    is_conditional = path.endswith((".rb", ".pl", ".pm", ".cr", ".ex")) and _MODIFIER.search(value) is not None
    if is_open or is_conditional or len(value) > _MAX_VALUE or _CODE.match(value) is not None:
        value = ""

    if path.endswith((".erl", ".hrl")):
        value = _TYPE_OF_ERLANG.sub("", value)

    is_option = _OPTION_OF_PERL.search(text[:column]) is not None
    is_option = is_option or (
        path.endswith((".ml", ".fs", ".fsx")) and _OPTIONAL_OF_ML.search(text[:column]) is not None
    )
    return LineValue(value, column, min(expression.line + 1, len(lines)), is_default or is_option)


def _read_data(lines: Sequence[str], number: int, column: int, start: int) -> LineValue:
    """Return the value of a key of a file of configuration; empty if it goes on below."""
    value = lines[number - 1][start:].strip()
    if not value.startswith(("'", '"')):
        value = re.sub(r"(?:^|\s)(?:#|//|;).*$", "", value)
    elif (quoted := TEXT.match(value)) is not None:
        value = quoted[0] if re.fullmatch(r"\s*,?\s*(?:(?:#|//|;).*)?", value[quoted.end() :]) else value

    value = value.strip().rstrip(",;").strip()
    is_open = value.endswith(("{", "[", "(", "\\", "|", ">")) or value[:1] in {"&", "*", "|", ">"}
    return LineValue("" if is_open or len(value) > _MAX_VALUE else value, column, number)


def _read_column(lines: Sequence[str], number: int, match: re.Match[str], segment: str) -> LineValue | None:
    """Return the default of a column or a parameter of SQL, whose definition begins with its name."""
    text = lines[number - 1]
    if segment.strip() or re.match(r"\s+[A-Za-z]", text[match.end() :]) is None:
        return None

    definition = re.split(r"--", text[match.start() :], maxsplit=1)[0]
    expression = read_expression([definition + ","], 0, 0, "column.sql", ",")
    default = "" if expression is None else split_column(expression.text)[1]
    return LineValue(default, match.start(), number, is_default=True) if default else None


def sets_otherwise(line: str, name: str, path: str) -> bool:
    """Return whether a line changes a name as no form reads it: by adding to it, or as a part of a statement."""
    changed = re.compile(
        rf"(?<![\w-]){re.escape(name)}[\"'\]]{{0,2}}\s*+(?:(?:[-+*/%|&^.]|<<|>>)=|\+\+|--(?!\S)|(?<![=!<>])=(?![=~>]))"
    )
    return any(
        not _is_in_comment(line, match.start(), path) and segment_before(line, match.start())[1] != "("
        for match in changed.finditer(line[:MAX_LINE])
    )

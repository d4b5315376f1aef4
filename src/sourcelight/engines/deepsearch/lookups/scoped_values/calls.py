"""Read what a call or a keyword gives to a name: of build systems, preprocessors, Erlang, Perl, Gradle and Vim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.source.values import in_one_line, read_expression

_MAX_LINE, _MAX_CALL, _MAX_VALUE = 600, 12, 300
"""Characters of a line, lines of a call and characters of a value that are read."""
_DOCKER = re.compile(r"(?:^|/)(?:[\w.-]+\.)?(?:Dockerfile|Containerfile)(?:\.[\w-]+)?$")
_AUTOCONF = re.compile(r"(?:^|/)configure\.(?:ac|in)$|\.(?:m4|ac)$")
_CMAKE = re.compile(r"(?:^|/)CMakeLists\.txt$|\.cmake(?:\.in)?$")
_SET = re.compile(r"\s*(?i:set)\s*\(\s*(?P<name>[\w.-]+)\s+(?P<values>[^()]*+)\)")
_OPTION = re.compile(r"\s*(?i:option)\s*\(\s*(?P<name>[\w.-]+)\s+\"[^\"]*+\"\s*(?P<value>[\w.${}-]*+)\s*\)")
_CACHED = re.compile(r"\s+(?:CACHE\s+[A-Z]+\b.*|PARENT_SCOPE|FORCE)\s*$", re.DOTALL)
_MACRO_CALL = re.compile(r"^\s*(?P<name>[A-Za-z_]\w*)\(\s*\[?(?P<value>[^\[\](),]{1,120}+)\]?\s*\)\s*(?:$|dnl\b|#)")
_ERLANG = re.compile(r"^\s*-\s*define\(\s*(?P<name>\w+)\s*,\s*(?P<value>\S.{0,200})\)\s*\.\s*(?:%.*)?$")
_MACRO = re.compile(r"^\s*#\s*define\s+(?P<name>\w+)\s+(?P<value>\S.*)$")
_CONVENTION = re.compile(
    r"(?:^|[\s.{(])(?P<name>\w+)\.convention\(\s*(?P<value>[\w.]+(?:\([\w\s.,\"-]*\))?|\"[^\"]*+\")\s*\)\s*;?$"
)
"""The value that Gradle gives a property that no one sets."""
_GLOBAL_OF_VIM = re.compile(
    r"\bget\(\s*[gbtw]:\s*,\s*(?P<quote>['\"])(?P<name>[\w#]+)(?P=quote)\s*,\s*(?P<value>'[^']*+'|\"[^\"]*+\"|-?\d[\d.]*|\[\]|\{\})\s*\)"
)
_NAMES_OF_PERL = re.compile(
    r"\s*has\s+\[\s*qw[(\[/](?P<names>[\w\s]{1,200})[)\]/]\s*\]\s*=>\s*(?P<value>-?\d[\w.]*|'[^']*+'|\"[^\"]*+\")\s*;"
)
_MEMBER_OF_ANNOTATION = re.compile(
    r"^\s*(?:(?:public|abstract)\s+)*[\w.<>?\[\]]+\s+(?P<name>\w+)\(\)\s*default\s+(?P<value>[^;]{1,200}+);"
)
_ELEMENT = re.compile(r"^\s*<(?P<name>[\w.-]+)(?:\s[^<>]*)?>(?P<value>[^<>]{1,200}+)</(?P=name)>\s*$")
"""A value of XML, as build files of .NET and Maven have it."""
_XML = re.compile(r"\.(?:[cfv]sproj|props|targets|xml|nuspec|config|plist)$")
_ATTRIBUTE = re.compile(r"\s*@(?P<name>[a-z]\w*)\s+(?!do\b)(?=\S)")
_INSTRUCTION = re.compile(r"^\s*(?i:ENV|ARG)\s+(?P<name>\w+)[ =]\s*(?P<value>\"[^\"]*+\"|'[^']*+'|\S++)\s*$")


@dataclass(frozen=True, slots=True)
class LineValue:
    """The value that a line gives to a name.

    Attributes
    ----------
    value
        As written, in one line; empty if it can't be read.
    column
        Where the name begins, from 0; 0 for a call of its own.
    end_line
        The last line of the value, from 1.
    is_default
        Whether the language calls it a default: ``DEFAULT`` of SQL, a value for what isn't set.
    """

    value: str
    column: int
    end_line: int
    is_default: bool = False


_OF_DEFAULTS = (_CONVENTION, _GLOBAL_OF_VIM, _MEMBER_OF_ANNOTATION)


def read_call(lines: Sequence[str], number: int, name: str, path: str) -> LineValue | None:
    """Return what a call or a keyword on a line gives to a name, as build systems and preprocessors have it."""
    if _CMAKE.search(path) is not None:
        return _read_cmake(lines, number, name)
    if path.endswith((".ex", ".exs")):
        return _read_attribute(lines, number, name, path)

    text = lines[number - 1]
    patterns = (
        (_MACRO_CALL, _AUTOCONF.search(path) is not None),
        (_ERLANG, path.endswith((".erl", ".hrl"))),
        (_INSTRUCTION, _DOCKER.search(path) is not None),
        (_CONVENTION, path.endswith((".kt", ".kts", ".gradle", ".groovy", ".java"))),
        (_GLOBAL_OF_VIM, path.endswith(".vim")),
        (_MEMBER_OF_ANNOTATION, path.endswith(".java")),
        (_ELEMENT, _XML.search(path) is not None),
        (_MACRO, language_of(path) in {"C", "C++", "Objective-C", "Objective-C++"} and not text.endswith("\\")),
    )
    for pattern, is_of_language in patterns:
        match = pattern.search(text) if is_of_language else None
        if match is not None and match["name"] == name:
            value = re.sub(r"\s*(?://|/\*).*$", "", match["value"]) if pattern is _MACRO else match["value"]
            return _of_match(match, number, value.strip(), is_default=pattern in _OF_DEFAULTS)

    names = _NAMES_OF_PERL.match(text) if path.endswith(".pm") else None
    if names is not None and name in names["names"].split():
        return LineValue(names["value"], text.find(name), number, is_default=True)

    return None


def _read_cmake(lines: Sequence[str], number: int, name: str) -> LineValue | None:
    """Return what a call of CMake that begins on a line sets, or gives an option at first."""
    call = "\n".join(lines[number - 1 : number - 1 + _MAX_CALL])[: 2 * _MAX_LINE]
    option, values = _OPTION.match(call), _SET.match(call)
    if option is not None and option["name"] == name:
        return _of_match(option, number, option["value"] or "OFF", is_default=True)
    if values is not None and values["name"] == name:
        return _of_match(values, number, in_one_line(_CACHED.sub("", values["values"])))
    return None


def _read_attribute(lines: Sequence[str], number: int, name: str, path: str) -> LineValue | None:
    """Return the value of an attribute of a module of Elixir."""
    attribute = _ATTRIBUTE.match(lines[number - 1])
    if attribute is None or attribute["name"] != name:
        return None

    expression = read_expression(lines, number - 1, attribute.end(), path, ends_with_line=True)
    value = "" if expression is None else in_one_line(expression.text)
    end = number if expression is None else min(expression.line + 1, len(lines))
    return LineValue(value, attribute.start("name"), end)


def _of_match(match: re.Match[str], number: int, value: str, *, is_default: bool = False) -> LineValue:
    """Return what a call that begins on a line gives to its name, if its value is not too long."""
    end_line = number + match[0].count("\n")
    return LineValue(value if len(value) <= _MAX_VALUE else "", 0, end_line, is_default)

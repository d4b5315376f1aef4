"""Conditions around the entries of manifests that are programs: an entry in a branch isn't always needed.

They are read by words and indentation of lines: `if RUBY_VERSION < "3"`, `platforms :jruby do`, ``#if os(Linux)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sourcelight.engines.deepsearch.lookups.manifests.requirement import MAX_LINE, Requirement

_PROGRAMS = re.compile(
    r"\.(?:gemspec|podspec|rockspec|cabal|gradle|kts|sbt|exs)$"
    r"|(?:^|/)(?:Gemfile|Podfile|conanfile\.py|meson\.build|setup\.py|cpanfile|Package(?:@swift-[\d.]+)?\.swift|(?:Makefile|Build)\.PL)$"
)
_RUBY = re.compile(r"\.(?:gemspec|podspec)$|(?:^|/)(?:Gemfile|Podfile)$")
_HEAD = re.compile(
    r"\s*(?:\}\s*)?(?P<head>(?:if|unless|elsif|elif|elseif|else if|else|when|case|switch|install_if|platforms?"
    r")\b[^#]{0,160})"
)
_BEHIND = re.compile(r"\s(?P<condition>(?:if|unless)\s[^#]{1,160}?)\s*(?:#.*)?$")
"""A condition behind an entry, in Ruby, Perl and Elixir."""
_FOR_PLATFORM = re.compile(
    r"[\s,(:](?P<condition>(?:platforms?|install_if)(?::|\s*=>)\s*(?:\[[^\]]{1,80}\]|:?[\w.]{1,40}|->[^#]{1,80}))"
)
_CONFIGURATIONS = re.compile(
    r"(?P<condition>:?configurations?(?::|\s*=>)\s*(?:\[[^\]]{1,80}\]|['\"][^'\"]{1,40}['\"]))"
)
_DIRECTIVE = re.compile(r"\s*#(?P<word>if|elseif|else|endif)\b(?P<rest>[^/]{0,120})")
_MAX_ABOVE, _MAX_CONDITION, _MAX_DEPTH = 400, 80, 20


def with_conditions(path: str, lines: Sequence[str], requirements: Iterable[Requirement]) -> Iterator[Requirement]:
    """Yield requirements, those of programs with the condition of their line, if it has one."""
    if _PROGRAMS.search(path) is None:
        yield from requirements
        return

    directives = _directives(lines) if path.endswith(".swift") else {}
    for requirement in requirements:
        condition = requirement.condition or directives.get(requirement.line, "")
        condition = condition or condition_of_line(path, lines, requirement.line)
        yield replace(requirement, condition=condition)


def condition_of_line(path: str, lines: Sequence[str], number: int) -> str:
    """Return the condition behind an entry, or of the nearest branch around it; empty for none."""
    if not 0 < number <= len(lines):
        return ""

    text = lines[number - 1][:MAX_LINE]
    if _RUBY.search(path) is not None or path.endswith(("cpanfile", ".PL")):
        for pattern in (_BEHIND, _FOR_PLATFORM, _CONFIGURATIONS):
            match = pattern.search(text)
            if match is not None:
                return _shorten(match["condition"])

    indent = _indent(text)
    for line in reversed(lines[max(0, number - 1 - _MAX_ABOVE) : number - 1]):
        if not indent:
            break
        if not line.strip() or _indent(line) >= indent:
            continue
        indent = _indent(line)
        head = _HEAD.match(line[:MAX_LINE])
        if head is not None:
            return _shorten(head["head"])

    return ""


def _directives(lines: Sequence[str]) -> dict[int, str]:
    """Return the directive of Swift around each line that is in one."""
    around: list[str] = []
    conditions = {}
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.match(line[:MAX_LINE])
        if match is not None:
            word = match["word"]
            if word != "if" and around:
                around.pop()
            if word != "endif" and len(around) < _MAX_DEPTH:
                around.append(_shorten(f"#{word}{match['rest']}"))
        elif around:
            conditions[number] = around[-1]

    return conditions


def _shorten(text: str) -> str:
    """Return a condition without what opens its block, and without its end if it is long."""
    bare = re.sub(r"\s*(?:\bdo\b(?:\s*\|[^|]*\|)?|\bthen\b|[{:])\s*$", "", " ".join(text.split())).strip()
    return bare if len(bare) <= _MAX_CONDITION else f"{bare[:_MAX_CONDITION]}…"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""Commands by which documents say that a project is tested, built or installed.

A document has them below a heading about the action: in a block of code, or within a sentence. They begin with a known
program, and one of them has a word of the action. Without such a section, a script of a manifest or a target of a
Makefile is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement, join_evidence
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.fields import find_field
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.source.documents import DocumentSection, sections_of

_DOCUMENTS = (
    r"^(?:docs?/|\.github/)?(?:README|CONTRIBUTING|DEVELOPMENT|DEVELOPING|HACKING|INSTALL|INSTALLING|BUILDING|TESTING"
    r"|BUILD)(?:\.(?:md|markdown|rst|adoc|txt|rdoc|org))?$"
)
_HEADINGS: Mapping[str, re.Pattern[str]] = {
    "test": re.compile(r"\btest(?:s|ing)?\b", re.IGNORECASE),
    "build": re.compile(r"\b(?:build(?:s|ing)?|compil(?:e|ing|ation)|(?:from|the) source)\b", re.IGNORECASE),
    "install": re.compile(r"\b(?:install(?:s|ing|ation)?|getting|set-?up)\b", re.IGNORECASE),
}
_PROGRAM = (
    r"(?:sudo\s+)?(?:[A-Z_]+=\S+\s+)*(?:\./[\w./-]+|make|cmake|ctest|meson|ninja|bazel|cargo|go|npm|npx|yarn|pnpm|bun|deno|node|pip[3x]?"
    r"|pipx|uv|uvx|poetry|hatch|pdm|python[23]?|pytest|tox|nox|rake|bundle|gem|rspec|ruby|composer|phpunit|php|mvn|mvnw|gradle"
    r"|gradlew|sbt|lein|clojure|clj|mix|rebar3|dotnet|nuget|msbuild|swift|xcodebuild|pod|carthage|cabal|stack|dune|opam|dart"
    r"|flutter|julia|R|Rscript|perl|prove|cpanm?|dzil|zig|nimble|just|task|tsc|jest|vitest|mocha|bats|sh|bash|brew|apt|apt-get|dnf"
    r"|yum|pacman|conda|docker|git|helm|terraform|shards|crystal|luarocks|lake|vcpkg|conan|port|choco|scoop|Install-Package)(?=\s|$)"
)
_COMMAND = re.compile(_PROGRAM)
_FITS: Mapping[str, re.Pattern[str]] = {
    "test": re.compile(r"\b(?:test\w*|check|spec|rspec|tox|nox|pytest|phpunit|prove|jest|vitest|mocha|bats|rake)\b"),
    "build": re.compile(
        r"\b(?:build\w*|make|cmake|meson|ninja|bazel|compile|package|assemble|cargo|mvnw?|gradlew?|msbuild|tsc|configure)\b"
    ),
    "install": re.compile(r"\b(?:install\w*|add|get|require|pull|Install-Package)\b"),
}
"""Words that a command for each action has: other commands of its section are no answer."""
_MAX_DOCUMENTS, _MAX_LINES, _MAX_LINE, _MAX_COMMANDS, _MAX_SHOWN = 12, 3_000, 400, 4, 160


@dataclass(frozen=True, slots=True)
class _DocumentCommand:
    text: str
    line: int


def find_command(work: Work, action: str) -> Finding | None:
    """Return the commands that a document has for an action below a heading about it; else the script or target.

    Parameters
    ----------
    action
        ``test``, ``build`` or ``install``.
    """
    if len(work.inquiry.pins) > 1:
        return None

    queries = make_queries(work, f"case:no type:path file:{quote_value(_DOCUMENTS)}")
    rows = [row for row in run_searches(work, queries) if row["path"]]

    # What contributors read is about work on the project; what users install is in the first document.
    of_work = action != "install"
    rows.sort(key=lambda row: (("CONTRIB" not in row["path"].upper()) is of_work, row["path"].count("/"), row["path"]))
    for row in rows[:_MAX_DOCUMENTS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue

        lines = [line[:_MAX_LINE] for line in work.texts.lines(target, row["path"])[:_MAX_LINES]]
        for section in _sections(row["path"], lines):
            if _HEADINGS[action].search(section.title) is None:
                continue

            commands = _commands(lines, section, action)
            if commands:
                numbers = sorted({section.begin_line, *(command.line for command in commands)})
                evidence = join_evidence([work.texts.read_line(target, row["path"], number) for number in numbers])
                noun = "command" if len(commands) == 1 else "commands"
                names = join_words([code(command.text[:_MAX_SHOWN]) for command in commands])
                text = f"{code(row['path'])} has the {noun} {names} below the heading “{inline(section.title)}”"
                return Finding(Statement(text, evidence), "field", queries=[join_queries(queries)], notes=work.notes)

    if action == "install":
        return None

    script = find_field(work, "script", action, "", "")
    return script or find_field(work, "target", action, "", "")


def _sections(path: str, lines: Sequence[str]) -> Iterator[DocumentSection]:
    """Yield the sections of a document, each up to the next heading of any level."""
    sections = sections_of(path, lines)
    for index, section in enumerate(sections):
        end = sections[index + 1].begin_line - 1 if index + 1 < len(sections) else len(lines)
        yield replace(section, end_line=end)


def _commands(lines: Sequence[str], section: DocumentSection, action: str) -> list[_DocumentCommand]:
    """Return the commands of the first block of a section that has one for the action, or one within its sentences."""
    for block in _blocks(lines, section):
        commands = list(_of_block(block))
        if any(_FITS[action].search(command.text) is not None for command in commands):
            return commands if len(commands) <= _MAX_COMMANDS else []

    for number in range(section.begin_line + 1, section.end_line + 1):
        for match in re.finditer(r"(`{1,2})([^`\n]{2,120})\1", lines[number - 1]):
            if _COMMAND.match(match[2]) is not None and _FITS[action].search(match[2]) is not None:
                return [_DocumentCommand(match[2], number)]

    return []


def _blocks(lines: Sequence[str], section: DocumentSection) -> Iterator[list[tuple[int, str]]]:
    """Yield the blocks of code of a section: fenced ones, and ones of indented lines."""
    block: list[tuple[int, str]] = []
    fence = ""
    for number in range(section.begin_line + 1, section.end_line + 1):
        line = lines[number - 1]
        mark = re.match(r"\s*(```|~~~)", line)
        if mark is not None:
            if block:
                yield block
            block, fence = [], "" if fence else mark[1]
        elif fence or re.match(r"(?: {2,}|\t)\S", line) is not None:
            block.append((number, line))
        elif block and line.strip():
            yield block
            block = []

    if block:
        yield block


def _of_block(block: Sequence[tuple[int, str]]) -> Iterator[_DocumentCommand]:
    """Yield the commands of a block: after a prompt if any line has one, else each line that begins with a program."""
    has_prompt = any(re.match(r"\s*\$\s", line) is not None for _, line in block)
    for number, line in block:
        if has_prompt and re.match(r"\s*\$\s", line) is None:
            continue
        # A comment behind the command is none of it.
        text = re.sub(r"^[$>%]\s+", "", line.strip()).partition(" # ")[0].strip()
        if _COMMAND.match(text) is not None:
            yield _DocumentCommand(text, number)

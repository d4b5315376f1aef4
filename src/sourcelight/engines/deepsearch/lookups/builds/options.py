"""Defaults of options that build files declare: CMake, Meson, Cabal, Terraform, charts, Dockerfiles, Makefiles.

Each format has a reader that yields the defaults of a name with their lines. If the files of a project give several
defaults, nothing tells which is meant, and none is stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import is_repository
from sourcelight.engines.deepsearch.lookups.manifests import normalize, without_comments

_FILES = (
    r"(^|/)(CMakeLists\.txt|[\w.-]+\.cmake|meson_options\.txt|meson\.options|[\w.-]+\.tf|[\w.-]+\.cabal|values\.ya?ml"
    r"|(?:[\w-]+\.)?(?:Dockerfile|Containerfile)|Dockerfile\.[\w-]+|(?:GNU)?[Mm]akefile|[\w.-]+\.mk)$"
)
_MAX_FILES, _MAX_CALL, _MAX_BLOCK, _MAX_VALUE = 40, 12, 60, 120
_ARGUMENT = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|([^\s()\"]+)")


def find_option(work: Work, name: str, owner: str, queries: list[str]) -> Finding | None:
    """Return the default of an option that build files declare; None if they declare none, or several defaults."""
    if re.fullmatch(r"[A-Za-z][\w.-]*", name) is None:
        return None

    key = name.rpartition(".")[2]
    searches = make_queries(work, f"case:yes type:file file:{quote_value(_FILES)} /\\b{escape_regexp(key)}\\b/")
    queries += searches
    paths = {(row["repository"], row["path"]): None for row in run_searches(work, searches)}
    defaults: list[tuple[str, FileEvidence]] = []
    for repository, path in sorted(paths, key=lambda item: (item[1].count("/"), item[1]))[:_MAX_FILES]:
        target = work.inquiry.pins.of(repository)
        if target is None or not rank_of(path).is_of_project or not _is_of(work, path, owner):
            continue
        for value, start, end in _defaults_in(path, without_comments(path, work.texts.lines(target, path)), name):
            defaults.append((value, work.texts.evidence(target, path, start, end, "definition", 1.0, (name,))))

    if not defaults or len({value for value, _ in defaults}) > 1 or len(work.inquiry.pins) > 1:
        return None

    value, evidence = defaults[0]
    location = f"{code(evidence.path)}, line {evidence.begin_line:,}"
    text = f"The default of {code(name)} is {code(value[:_MAX_VALUE])}, in {location}"
    return Finding(
        Statement(text, (evidence,)), "value", quotes=[evidence], queries=[join_queries(queries)], notes=work.notes
    )


def _is_of(work: Work, path: str, owner: str) -> bool:
    """Return whether a file is of what a question calls the owner of an option: a directory, or the repository."""
    if not owner or is_repository(work, owner):
        return True
    return normalize(owner) in {normalize(part) for part in path.split("/")}


def _defaults_in(path: str, lines: Sequence[str], name: str) -> Iterator[tuple[str, int, int]]:
    """Yield the defaults of an option in a file, each with its first and last line (from 1)."""
    base = path.rpartition("/")[2]
    if base.endswith((".cmake", "CMakeLists.txt")):
        yield from _of_cmake(lines, name)
    elif base.startswith("meson"):
        yield from _of_meson(lines, name)
    elif base.endswith(".tf"):
        yield from _of_terraform(lines, name)
    elif base.endswith(".cabal"):
        yield from _of_cabal(lines, name)
    elif name.isalpha() and name.islower() and base.endswith((".mk", "akefile", "ockerfile", "ontainerfile")):
        return  # a plain word, such as `timeout`, may be a parameter of the code
    elif "ockerfile" in base or "ontainerfile" in base:
        yield from _of_form(lines, rf"\s*ARG\s+{re.escape(name)}=(?P<value>\"[^\"]*\"|'[^']*'|\S+)")
    elif base.endswith((".mk", "akefile")):
        yield from _of_form(lines, rf"\s*(?:(?:export|override)\s+)*{re.escape(name)}\s*\?=\s*(?P<value>[^#]*[^#\s])")
    else:
        yield from _of_chart(lines, name)


def _of_form(lines: Sequence[str], pattern: str) -> Iterator[tuple[str, int, int]]:
    """Yield the values of lines that give an option one unless a user gives another."""
    form = re.compile(pattern)
    for number, line in enumerate(lines, 1):
        match = form.match(line[:1_000])
        if match is not None and not line.rstrip().endswith("\\"):
            yield match["value"], number, number


def _of_cmake(lines: Sequence[str], name: str) -> Iterator[tuple[str, int, int]]:
    head = re.compile(rf"\s*(option|cmake_dependent_option|set)\s*\(\s*{re.escape(name)}(?![\w-])(.*)$", re.IGNORECASE)
    for number, line in enumerate(lines, 1):
        match = head.match(line[:1_000])
        if match is None:
            opening = re.match(r"\s*(?:option|cmake_dependent_option)\s*\(\s*$", line, re.IGNORECASE)
            following = lines[number].strip() if number < len(lines) else ""
            if opening is None or re.match(rf"{re.escape(name)}(?![\w-])", following) is None:
                continue
            match = head.match(f"option({following}"[:1_000])

        if match is None:
            continue

        text, end = match[2], number
        while ")" not in re.sub(r"\"[^\"]*\"", "", text) and end < min(len(lines), number + _MAX_CALL):
            text, end = f"{text} {lines[end].split(' #')[0].strip()}", end + 1

        arguments = [quoted or bare for quoted, bare in _ARGUMENT.findall(_until_bracket(text))]
        if match[1].lower() == "set":
            # Only a cached variable is an option: another one is set whatever a user gives.
            if "CACHE" in arguments and arguments.index("CACHE") == 1 and "FORCE" not in arguments:
                yield arguments[0], number, end
        elif arguments:
            yield arguments[1] if len(arguments) > 1 else "OFF", number, end


def _until_bracket(text: str) -> str:
    """Return the text before the bracket that ends a call: outside of quotation marks and generator expressions."""
    is_quoted = False
    for index, letter in enumerate(text):
        if letter == '"':
            is_quoted = not is_quoted
        elif letter == ")" and not is_quoted:
            return text[:index]
    return text


def _of_meson(lines: Sequence[str], name: str) -> Iterator[tuple[str, int, int]]:
    for number, line in enumerate(lines, 1):
        if re.match(rf"\s*option\s*\(\s*'{re.escape(name)}'", line[:1_000]) is None:
            continue
        text, end = line, number
        while text.count("(") > text.count(")") and end < min(len(lines), number + _MAX_CALL):
            text, end = f"{text} {lines[end].strip()}", end + 1
        match = re.search(r"\bvalue\s*:\s*('[^']*'|\[[^\]]*\]|[\w.-]+)", text)
        if match is not None:
            yield match[1], number, end


def _of_terraform(lines: Sequence[str], name: str) -> Iterator[tuple[str, int, int]]:
    for number, line in enumerate(lines, 1):
        if re.match(rf"variable\s+\"{re.escape(name)}\"\s*\{{", line) is None:
            continue
        for index, text in enumerate(lines[number : number + _MAX_BLOCK], number + 1):
            if text.startswith("}"):
                break
            match = re.match(r"  default\s*=\s*(.+?)\s*(?:#.*)?$", text[:1_000])
            # A default of several lines has no value that one line shows.
            if match is not None and match[1] not in {"{", "[", "("} and not match[1].startswith("<<"):
                yield match[1], number, index


def _of_cabal(lines: Sequence[str], name: str) -> Iterator[tuple[str, int, int]]:
    for number, line in enumerate(lines, 1):
        if re.match(rf"flag\s+{re.escape(name)}\s*$", line, re.IGNORECASE) is None:
            continue
        for index, text in enumerate(lines[number : number + _MAX_CALL], number + 1):
            if re.match(r"\S", text) is not None:
                break
            match = re.match(r"\s+default\s*:\s*(\w+)", text, re.IGNORECASE)
            if match is not None:
                yield match[1], number, index


def _of_chart(lines: Sequence[str], name: str) -> Iterator[tuple[str, int, int]]:
    """Yield the value of a dotted key of a YAML file: its parts stand below each other, each further indented."""
    parts = name.split(".")
    indents: list[int] = []
    for number, line in enumerate(lines, 1):
        text = line[:1_000]
        if not text.strip() or text.lstrip().startswith(("#", "-")):
            continue

        indent = len(text) - len(text.lstrip())
        while indents and indent <= indents[-1]:
            indents.pop()

        match = re.match(r"\s*([\w./-]+)\s*:\s*(.*?)\s*(?:\s#.*)?$", text)
        if match is None or match[1] != parts[len(indents)] or (not indents and indent):
            continue

        if len(indents) + 1 < len(parts):
            indents.append(indent)
        elif match[2] and not match[2].startswith(("|", ">", "&", "{{")):
            yield match[2], number, number

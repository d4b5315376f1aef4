"""Lines of build files, manifests and configuration: versions, settings, features, the matrix of a workflow.

A line is read with its context: the header of its table, the lines that open its block, and the comment above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.terms.tokenizer import stem

FILES = (
    r"\.(?:toml|jsonc?|json5|ya?ml|props|targets|[cfv][sb]proj|gradle|kts|sbt|mill|sc|cmake|mk|gemspec|podspec|tf"
    r"|tfvars|hcl"
    r"|ini|cfg|conf|properties|cabal|nimble|zon|opam|rockspec|bazel|bzl|nuspec|pom|xcconfig)$"
    r"|(?:^|/)(?:CMakeLists\.txt|configure\.ac|Makefile|GNUmakefile|mix\.exs|rebar\.config|Gemfile|Rakefile"
    r"|Podfile|Dockerfile[\w.-]*"
    r"|Containerfile|go\.mod|go\.work|setup\.py|pom\.xml|build\.xml|Package\.swift|project\.clj|deps\.edn"
    r"|build\.zig|meson\.build"
    r"|WORKSPACE|MODULE\.bazel|Jenkinsfile|DESCRIPTION|Vagrantfile|Procfile|requirements[\w.-]*\.txt|tox\.ini"
    r"|Makefile\.PL|cpanfile"
    r"|\.tool-versions|\.(?:nvmrc|node-version|ruby-version|python-version|java-version|sdkmanrc|editorconfig"
    r"|clang-format"
    r"|clang-tidy|golangci\.ya?ml|\w+rc))$"
)
_MAX_JSON = 1_500
_LOCKS = re.compile(
    r"(?:^|/)(?:[\w.-]*lock[\w.-]*|go\.sum|npm-shrinkwrap\.json|\.all-contributorsrc|CHANGELOG[^/]*)$", re.IGNORECASE
)
_MAX_FILES, _MAX_LINES, _MAX_CHARACTERS = 300, 6_000, 400
_VERSION = re.compile(
    r"(?<![\w.])v?\d+(?:\.(?:\d+|x|\*))+[\w.+-]*|[\"'=\s@^~<>]v?\d{1,4}[\"'\s,;)\]]|\bnet\d|\bC\+\+\d"
    r"|STANDARD\s+\d|[><~^]=?\s*\d|-\d+(?:\.\d+)*$"
    r"|[:=]\s*[\"']?v?\d+[\"']?\s*$|>\d+(?:\.\d+)*<"
)
_KEY_OF_VERSION = re.compile(
    r"^\s*(?:[-*]\s+)?(?:\w+\.|@|<|def\s+|val\s+)?[\"'_]*(?:project_?)?version(?:_?string"
    r"|prefix)?[\"'_]*\s*(?:in\s+\w+\s*)?(?::=|=>|[:=>(\s])+\s*[\"']?v?\d+\.\d"
    r"|\bproject\s*\(.*\bVERSION\s+\d|\bVERSION\s*=\s*[\"']\d|^#\s*define\s+\w*VERSION\w*\s+\"?\d"
    r"|\bAC_INIT\(.*\d+\.\d",
    re.IGNORECASE,
)
_OWN_WORDS_TEXT = """
what which what's whats s current latest the is of this version package gem library lib project crate module plugin app
release released are we at on it now currently number repo in does have has declared here its repository code tool
"""
_OWN_WORDS = frozenset(_OWN_WORDS_TEXT.split())
_VERSION_FILES = (
    r"(?:^|/)_?_?(?:version|about|package_?info|info|meta|constants?)_?_?\.\w+$|\.(?:ex|el|rb|go|h"
    r"|hpp|hh|clj|nim|lua|pl|pm|py|rs)$"
)
_OPENS = re.compile(r"[{(\[:]\s*(?:\|\w+\|)?\s*$|\bdo\s*(?:\|\w+\|)?\s*$|^\s*<[A-Za-z][^/>]*>\s*$|^\s*\w+\s*\($")
_TABLE = re.compile(r"\s*\[{1,2}[^\]]+\]{1,2}\s*(?:#.*)?$")
_NAMED_FILE = re.compile(
    r"(?<![\w/])[\w./-]*\w\.\w{1,10}\b|\b(?:Dockerfile|Makefile|Gemfile|Rakefile|CMakeLists\.txt)\b"
)
_DEFAULT = re.compile(r"[\"']?default[\"']?\s*[=:]")
_KEY = re.compile(r"(?:(?:val|var|def|set|let|const|lazy|export|ARG|ENV|FROM|-)\s*\(?\s*)*<?[\"']?(?P<key>[\w@/.-]+)")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_IMPRECISE, _OF_DEFAULT = 0.3, 0.3
_IN_CONTEXT, _IN_COMMENT, _IN_PATH = 0.7, 0.35, 0.5
_WITH_VALUE = re.compile(r"[\w\"'\])]\s*(?::=|[:=]|=>|\s)\s*[\"'\[{(]?[\w.<>=~^*$-]|>[^<\s]+<")
_MARKS = re.compile(
    r"\b(?:versions?|build|compiles?|cmake|cargo|gradle|maven|sbt|npm|yarn|pnpm|packages?|features?|workflows?|ci"
    r"|actions?|lint(?:er|ing)?"
    r"|formatter|frameworks?|toolchain|sdk|targets?|licen[cs]e|docker|image|config\w*|settings?|engines?|matrix"
    r"|minimum|require[sd]?|supports?"
    r"|supported|coverage|threshold|publish(?:ed)?|registry|scripts?|variables?|outputs?|provider|depend\w*"
    r"|compiler|standard|flags?"
    r"|runs?|os|platforms?|defaults?|gems?|jobs?|cron|schedule|timeout|line[- ]length|warnings?|plugins?|command"
    r"|set|pin(?:s|ned)?|port"
    r"|memory|edition|msrv|runtime)\b",
    re.IGNORECASE,
)
_GENERIC_TEXT = """
version versions current need build built required requires use tool sdk minimum support supported supports run pin
target project cross compile oldest lowest install works
"""
_GENERIC = frozenset(map(stem, _GENERIC_TEXT.split()))
"""Words of questions for a version beside what has it."""
_REQUIRES = re.compile(r"engines|requires?\b|environment\b.*sdk", re.IGNORECASE)
_OF_BLOCK, _OF_OPENING = 0.2, 0.2
_SAYS_VERSION = re.compile(r"minimum|requir|version|engines|target|toolchain|min_|(?:^|[\"'_-])ver\b", re.IGNORECASE)


_NUMBERED_NAME = re.compile(r"(?<!\w)(?=\w*_)(?=\w*\d)[A-Za-z]\w{2,99}")
"""A name such as ``test6_1``. Its terms lack the numbers, so the words of a line can't tell it from others."""

_NO_SETTING = re.compile(r"\s*(?:#|//|<!--|[~*;]|--\s)")
"""The beginning of a comment, such as that of a license."""


@dataclass(frozen=True, slots=True)
class BuildLine:
    """A line of a build file, how well it answers, 0 to about 1.5, and the line that opens its block or table.

    `is_whole` says that the line, which is no comment, has all words of the question that tell its subject apart.
    """

    target: Target
    path: str
    line: int
    score: float
    is_version: bool
    block: str = ""
    is_whole: bool = False


def may_be_built(subject: Subject) -> bool:
    """Return whether a question may be about build files."""
    return _MARKS.search(subject.text) is not None or _NAMED_FILE.search(subject.text) is not None


def find_settings(work: Work, subject: Subject) -> list[BuildLine]:
    """Return the lines of build files that have the words of a question, best first."""
    if subject.asks_version:
        weights = {term: weight for term, weight in subject.weights.items() if term not in _GENERIC}
        subject = replace(subject, weights=weights or subject.weights)

    result = find_rows(work, make_queries(work, f"type:path file:{quote_value(FILES)}"))
    rows = [row for row in result.rows if row["path"]]
    file_names = {name.rpartition("/")[2].lower() for name in _NAMED_FILE.findall(subject.text)}
    rows = [row for row in rows if not is_hidden_file(row["path"])]
    rows.sort(key=lambda row: (_base(row["path"]) not in file_names, row["path"].count("/"), row["path"]))
    lines: list[BuildLine] = []
    for row in rows[:_MAX_FILES]:
        work.inquiry.context.cancellation.check()
        target = work.inquiry.pins.of(row["repository"])
        is_named = _base(row["path"]) in file_names
        if target is None or (_LOCKS.search(row["path"]) and not is_named):
            continue
        lines += _lines_of(work.texts, target, row["path"], subject, is_named=is_named)

    lines.sort(key=lambda line: (-line.score, line.path.count("/"), line.path, line.line))
    return lines


def _base(path: str) -> str:
    return path.rpartition("/")[2].lower()


def _lines_of(texts: FileTexts, target: Target, path: str, subject: Subject, *, is_named: bool) -> Iterator[BuildLine]:
    """Score the lines of one file, each with its context."""
    lines = texts.lines(target, path)
    if (len(lines) > _MAX_LINES or (path.endswith(".json") and len(lines) > _MAX_JSON)) and not is_named:
        return

    malus = 0.06 * min(path.count("/"), 4) + (0.0 if rank_of(path).is_of_project else 0.35)
    bonus = 0.5 if is_named else 0.0
    has_tables = path.endswith((".toml", ".ini", ".cfg", ".conf", ".editorconfig"))
    context = _Context(subject.terms_in(path))
    numbered_names = _NUMBERED_NAME.findall(subject.text[:_MAX_CHARACTERS])
    terms_by_text: dict[str, set[str]] = {}  # lines such as `},` repeat
    for number, line in enumerate(lines[:_MAX_LINES], 1):
        text = line.strip()[:_MAX_CHARACTERS]
        if not text:
            context.comment = set()
            continue

        if text not in terms_by_text:
            terms_by_text[text] = subject.terms_in(text)

        terms = terms_by_text[text]
        if text.startswith(("#", "//", ";", "<!--", "*")) and not text.startswith("#define"):
            context.comment |= terms
            continue
        if has_tables and _TABLE.fullmatch(text):
            context.begin_table(text, terms)
            continue

        indent = len(line) - len(line.lstrip())
        context.end_blocks(indent)
        following = lines[number].strip()[:_MAX_CHARACTERS] if number < len(lines) else ""

        # A list of versions has them on the lines below.
        is_version = _VERSION.search(text) is not None or (
            bool(terms) and text.endswith(("(", "[")) and _VERSION.search(following) is not None
        )
        opens_block = _OPENS.search(text) is not None
        score = _score(subject, text, terms, context, is_version=is_version)
        if score > 0.0 and all(name in text for name in numbered_names):
            if is_version and subject.asks_version and context.blocks and _REQUIRES.search(context.opening):
                score += _OF_BLOCK
            opening_malus = _OF_OPENING if opens_block and not is_version else 0.0
            score = score - malus - opening_malus + bonus
            is_whole = set(subject.weights) - _GENERIC <= terms and _NO_SETTING.match(text) is None
            yield BuildLine(target, path, number, score, is_version, context.opening, is_whole)

        if opens_block:
            # A description beside a value says what the value is for.
            block_terms = terms | context.comment | _describe_block(lines, number, indent, subject)
            context.blocks.append(_Block(indent, block_terms, text))

        context.comment = set()


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of a file that is open: the indentation of its first line, its terms, and that line."""

    indent: int
    terms: set[str]
    opening: str


@dataclass(slots=True)
class _Context:
    """The terms of a question around a line: in its path, the header of its table, open blocks, the comment above."""

    path: set[str]
    table: set[str] = field(default_factory=set)
    header: str = ""
    blocks: list[_Block] = field(default_factory=list)
    comment: set[str] = field(default_factory=set)

    @property
    def enclosing(self) -> set[str]:
        """The terms of the table and of all open blocks."""
        return self.table.union(*(block.terms for block in self.blocks))

    @property
    def opening(self) -> str:
        """The line that opens the innermost block, or the table."""
        return self.blocks[-1].opening if self.blocks else self.header

    def begin_table(self, header: str, terms: set[str]) -> None:
        """Begin a table: blocks and comments above it end."""
        self.table, self.header, self.blocks, self.comment = terms, header, [], set()

    def end_blocks(self, indent: int) -> None:
        """End the blocks whose first line isn't to the left of a line."""
        while self.blocks and self.blocks[-1].indent >= indent:
            self.blocks.pop()


def _describe_block(lines: Sequence[str], number: int, indent: int, subject: Subject) -> set[str]:
    """Return the terms of the description at the beginning of a block."""
    terms: set[str] = set()
    for line in lines[number : number + 4]:
        if len(line) - len(line.lstrip()) <= indent:
            break
        if line.lstrip().startswith(("description", '"description"', "help", "desc")):
            terms |= subject.terms_in(line[:_MAX_CHARACTERS])
    return terms


def _score(subject: Subject, text: str, terms: set[str], context: _Context, *, is_version: bool) -> float:
    """Score a line by the terms on it, in its context, in the comment above, and in its path."""
    enclosing = context.enclosing
    is_default = subject.asks_default and _DEFAULT.match(text) is not None
    if not terms and not (enclosing and (is_version or is_default)):
        return 0.0

    # The subject itself must be there: "version" alone is in every manifest.
    if not ((terms | enclosing) - _GENERIC):
        return 0.0

    share = (
        subject.share_of(terms)
        + (1.0 if is_default else _IN_CONTEXT) * subject.share_of(enclosing - terms)
        + _IN_COMMENT * subject.share_of(context.comment - terms - enclosing)
        + _IN_PATH * subject.share_of(context.path - terms - enclosing - context.comment)
    )
    if subject.asks_version and not is_version:
        share *= 0.6

    key = _KEY.match(text)
    parts = _PARTS.findall(key["key"]) if key is not None else []
    if parts:
        share *= 1.0 - _IMPRECISE + _IMPRECISE * sum(bool(subject.terms_in(part)) for part in parts) / len(parts)

    if subject.asks_version and is_version and _SAYS_VERSION.search(text) is not None:
        share += 0.2

    return share + (0.1 if _WITH_VALUE.search(text) else 0.0) + (_OF_DEFAULT if is_default else 0.0)


def asks_own_version(subject: Subject, names: Sequence[str]) -> bool:
    """Return whether a question asks for the version of the repository's own package."""
    if not subject.asks_version:
        return False
    text = subject.text
    for name in names:
        text = re.sub(rf"\b{re.escape(name.rpartition('/')[2])}\b", "project", text, flags=re.IGNORECASE)
    words = [word for word in re.findall(r"[\w.-]+", text.lower()) if word]
    return all(word in _OWN_WORDS for word in words)


def find_own_version(work: Work) -> list[BuildLine]:
    """Return the lines with the version of the repository's package: manifests first, then code."""
    pattern = (
        r"(?:version|VERSION|Version)\w*[\"']?\s*(?:\(\w+\))?[^\w\n]{1,6}(?:VERSION\s+)?[\"']?v?\d+\.\d"
        r"|project\s*\(.*VERSION\s+\d"
    )
    files = quote_value(r"[.](?:md|rst|txt|lock|html|svg|sum)$")
    lines = []
    for row in find_rows(work, make_queries(work, f"case:no type:file -file:{files} /{pattern}/")).rows:
        target, text = work.inquiry.pins.of(row["repository"]), row["line"] or ""
        if (
            row["type"] != "content"
            or target is None
            or _LOCKS.search(row["path"])
            or _KEY_OF_VERSION.search(text[:_MAX_CHARACTERS]) is None
        ):
            continue

        is_manifest = re.search(FILES, row["path"]) is not None
        if not is_manifest and re.search(_VERSION_FILES, row["path"]) is None:
            continue

        score = (
            1.2
            - 0.15 * row["path"].count("/")
            - (0.0 if rank_of(row["path"]).is_of_project else 0.5)
            - (0.0 if is_manifest else 0.1)
        )
        score -= 0.2 if "/.github/" in f"/{row['path']}" or row["path"].startswith(".") else 0.0
        lines.append(BuildLine(target, row["path"], row["line_number"], score, is_version=True))

    lines.sort(key=lambda line: (-line.score, line.path, line.line))
    return lines

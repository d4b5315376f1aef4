"""Queries as data, how they are written in each pattern type, and how they are drawn.

A question is made from its meaning, so that nobody has to parse its text to know what must be found.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias

from oracles import expressions


@dataclass(frozen=True, slots=True)
class Atom:
    """A pattern: literal text, or an expression; `content` where only contents are looked at."""

    text: str
    regexp: bool = False
    content: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Without:
    part: Atom


Tree: TypeAlias = Atom | Both | Either | Without


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter whose value is an expression (`repo`, `file`, `author`, …) or a word (`lang`), maybe negated."""

    field: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, apart from how it is written."""

    tree: Tree | None = None
    filters: tuple[Filter, ...] = ()
    types: tuple[str, ...] = ()
    case_sensitive: bool = False
    revision: str = ""
    select: str = ""
    count: int | None = None
    pattern_type: str = "keyword"
    style: int = 0
    options: tuple[str, ...] = field(default=())

    @property
    def requested(self) -> str:
        """The pattern type of the request; where the text names one, that wins."""
        if self.style % 6 != 3 or any(set(atom.text) & set("()") for atom in atoms(self.tree)):
            return self.pattern_type  # an open parenthesis keeps the filter from being read beforehand
        return ("keyword", "standard", "regexp", "literal")[self.style // 6 % 4]

    def text(self) -> str:
        """The query as a user types it."""
        return _format_query(self)


def atoms(tree: Tree | None) -> list[Atom]:
    """Every pattern of a tree."""
    match tree:
        case None:
            return []
        case Atom():
            return [tree]
        case Without(part):
            return [part]
        case Both(parts) | Either(parts):
            return [atom for part in parts for atom in atoms(part)]


def positive(tree: Tree | None) -> list[Atom]:
    """The patterns of a tree whose matches are shown."""
    match tree:
        case None | Without():
            return []
        case Atom():
            return [tree]
        case Both(parts) | Either(parts):
            return [atom for part in parts for atom in positive(part)]


_PLAIN = re.compile(r"[A-Za-z0-9_.=+*?~$%&-]+")


def _format_query(question: Question) -> str:
    parts = [f"patternType:{question.pattern_type}"] if question.style % 2 else []
    if question.case_sensitive:
        parts.append("case:yes")
    parts += [f"type:{kind}" for kind in question.types]
    for index, item in enumerate(question.filters):
        dash = ("-", "NOT ")[(question.style + index) % 2] if item.negated else ""
        if ":" in item.field:
            parts.append(f"{dash}{item.field}({item.value})")
            continue
        revision = f"@{question.revision}" if question.revision and item.field == "repo" and not item.negated else ""
        parts.append(f"{dash}{item.field}:{value(item.value + revision)}")
    if question.select:
        parts.append(f"select:{question.select}")
    parts.append("count:all" if question.count is None else f"count:{question.count}")
    parts += question.options
    if question.tree is not None:
        parts.append(_tree(question.tree, question))
    return " ".join(parts)


def value(text: str) -> str:
    """The value of a filter, in quotes where white space, quotes or parentheses would end it."""
    if re.fullmatch(r"[^\s()'\"]+", text):
        return text
    return _delimited(text, '"')


def _delimited(text: str, mark: str) -> str:
    out = []
    for character in text:
        if character in ("\\", mark):
            out.append("\\" + character)
        else:
            out.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, character))
    return mark + "".join(out) + mark


def _slashed(expression: str, style: int) -> str:
    """An expression between slashes; in one style as a user types it, in the other with every backslash doubled."""
    if style % 3 == 0:
        return _delimited(expression, "/")
    return "/" + re.sub(r"\\(.)|/", _typed, expression, flags=re.DOTALL) + "/"


def _typed(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped is None or escaped == "/":
        return r"\/"
    if escaped == "\\":
        return "\\" * 4
    return match[0]


def _atom(atom: Atom, question: Question) -> str:
    mark = '"' if question.style % 5 else "'"
    if atom.content:
        if question.pattern_type == "regexp" and atom.regexp:
            return f"content:{atom.text}"
        return "content:" + _delimited(atom.text, mark)
    if atom.regexp:
        return _slashed(atom.text, question.style)
    is_plain = _PLAIN.fullmatch(atom.text) and atom.text.lower() not in {"and", "or", "not"}
    if question.pattern_type in {"standard", "literal"} or (is_plain and question.pattern_type == "keyword"):
        return atom.text
    return _delimited(atom.text, mark)


def _tree(tree: Tree, question: Question, *, inner: bool = False) -> str:
    match tree:
        case Atom():
            return _atom(tree, question)
        case Without(part):
            return f"not {_atom(part, question)}"
        case Both(parts):
            merged = " and " if question.style % 4 or question.pattern_type != "keyword" else " "
        case Either(parts):
            merged = " or "
    if question.style % 7 == 0:
        merged = merged.upper()
    text = merged.join(_tree(part, question, inner=True) for part in parts)
    return f"({text})" if inner or question.filters or isinstance(tree, Either) else text


def balanced(question: Question) -> bool:
    """Whether no parenthesis inside a pattern would be read as one around it, as all types but keyword do."""
    # One backslash hides what is behind it, and two hide nothing; a pattern has to be balanced in either reading.
    for atom, hidden in itertools.product(atoms(question.tree), (r"\\.", r"\\\\.")):
        depth = 0
        for character in re.sub(hidden, "", _atom(atom, question), flags=re.DOTALL):
            depth += (character == "(") - (character == ")")
            if depth < 0:
                return False
        if depth:
            return False
    return True


@dataclass
class Drawer:
    """Draws questions about texts.

    Parameters
    ----------
    rng
        Source of chance.
    samples
        Texts, from which patterns are derived.
    paths
        Paths, for filters.
    repositories
        Names of the repositories.
    revisions
        Revisions that every repository, or one of them, has.
    """

    rng: Random
    samples: list[str]
    paths: list[str]
    repositories: list[str]
    revisions: list[str]

    def atom(self, kinds: str = "lr", *, content: bool = False) -> Atom:
        """A pattern."""
        rng = self.rng
        source = self.paths if self.paths and rng.random() < 0.1 else self.samples
        if rng.choice(kinds) == "r":
            return Atom(expressions.expression(rng, source), regexp=True)
        return Atom(expressions.literal(rng, source), content=content)

    def tree(self, depth: int, pattern_type: str) -> Tree:
        """A tree of patterns; a negated one stands beside others."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            return self.leaf(pattern_type)
        # A deep tree is narrow, or it would have hundreds of patterns.
        parts: list[Tree] = [self.tree(depth - 1, pattern_type) for _ in range(rng.randint(2, 3 if depth < 3 else 2))]
        if rng.random() < 0.4:
            parts.insert(rng.randint(0, len(parts)), Without(self.leaf(pattern_type)))
        return Both(tuple(parts)) if rng.random() < 0.6 else Either(tuple(parts))

    def leaf(self, pattern_type: str) -> Atom:
        """A pattern that can be written in a pattern type."""
        rng = self.rng
        if pattern_type == "keyword":
            return self.atom("lllrr", content=rng.random() < 0.1)
        if pattern_type == "regexp":
            return self.atom("lrrr")
        if pattern_type == "standard" and rng.random() < 0.5:
            return self.atom("r")
        if rng.random() < 0.3:
            return replace(self.atom("l"), content=True)
        for _ in range(50):
            drawing = self.atom("l")
            if _PLAIN.fullmatch(drawing.text) and drawing.text.lower() not in {"and", "or", "not"}:
                return drawing
        return Atom("foo")

    def filters(self) -> tuple[Filter, ...]:
        """Some filters by repository, path and language."""
        rng = self.rng
        drawing = []
        if rng.random() < 0.3:
            name = rng.choice(self.repositories)
            text = rng.choice(
                (f"^{re.escape(name)}$", re.escape(name.rpartition("/")[2]), "zoo", "example.org/Z", "a$")
            )
            drawing.append(Filter("repo", text, negated=rng.random() < 0.2))
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            text = expressions.expression(rng, self.paths)
            if rng.random() < 0.5:
                text = rng.choice(
                    (r"\.py$", r"\.txt$", "^src/", "foo", r"(^|/)lib/", r"\.(go|md)$", "README", "^[^/]+$", r"\d")
                )
            if not re.match(r"[a-z.]+\(", text):
                drawing.append(Filter("file", text, negated=rng.random() < 0.35))
        if rng.random() < 0.1:
            drawing.append(
                Filter("lang", rng.choice(("python", "Go", "java", "rust", "markdown")), negated=rng.random() < 0.3)
            )
        if rng.random() < 0.1:
            drawing.append(
                Filter(rng.choice(("repo:has.path", "repo:has.content")), self.argument(), rng.random() < 0.4)
            )
        if rng.random() < 0.07:
            drawing.append(Filter("file:has.content", self.argument()))
        rng.shuffle(drawing)
        return tuple(drawing)

    def argument(self) -> str:
        """An expression that a predicate takes as it is, and that no empty text matches."""
        while True:
            drawing = expressions.expression(self.rng, self.samples if self.rng.random() < 0.6 else self.paths)
            simple = drawing == drawing.strip() and not re.search(r"[()\n\r]", re.sub(r"\\(?:\?:|\))", "", drawing))
            if simple and not expressions.is_empty_match(drawing):
                return drawing

    def question(self) -> Question:
        """A question about texts, paths and repositories."""
        while True:
            drawing = self._question()
            if drawing.pattern_type == "keyword" or isinstance(drawing.tree, Atom) or balanced(drawing):
                return drawing

    def _question(self) -> Question:
        rng = self.rng
        pattern_type = rng.choice(("keyword", "keyword", "keyword", "standard", "regexp", "literal"))
        tree: Tree | None = self.tree(rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3, 5)), pattern_type)
        if isinstance(tree, Atom) and rng.random() < 0.05:
            tree = Without(tree)
        filters = self.filters()
        if rng.random() < 0.05 and any(item.field == "file" for item in filters):
            tree = None
        revision = ""
        if rng.random() < 0.12 and self.revisions:
            revision = ":".join(rng.sample(self.revisions, min(len(self.revisions), rng.choice((1, 1, 2)))))
            filters = (*(item for item in filters if item.field != "repo"), Filter("repo", "zoo"))
        types = rng.choice(((), (), (), ("file",), ("path",), ("file", "path"), ("repo",), ("repo", "path"),
                            ("file", "repo"), ("path", "path"), ("repo", "file", "path")))  # fmt: skip
        if types and "file" not in types and any(item.field == "file:has.content" for item in filters):
            types = ("file",)
        if types and "file" not in types and any(atom.content for atom in atoms(tree)):
            types = ("file",)
        select = rng.choice(("", "", "", "", "", "", "repo", "file", "file.path", "file.directory", "content"))
        if rng.random() < 0.02:  # what nothing of this kind is converted to
            select = rng.choice(("symbol", "symbol.function", "commit", "commit.diff", "commit.diff.added"))
        return Question(
            tree, filters, types, rng.random() < 0.4, revision, select, None, pattern_type, rng.randrange(420)
        )

    def history_question(self, words: list[str], times: list[int]) -> Question:
        """A question about commits or changed lines; `words` come from messages, people and changed lines."""
        while True:
            drawing = self._history_question(words, times)
            if drawing.pattern_type == "keyword" or isinstance(drawing.tree, Atom) or balanced(drawing):
                return drawing

    def _history_question(self, words: list[str], times: list[int]) -> Question:
        rng = self.rng
        drawer = replace_samples(self, words)
        pattern_type = rng.choice(("keyword", "keyword", "regexp"))
        tree = drawer.tree(rng.choice((0, 0, 1, 1, 2, 4)), pattern_type) if rng.random() < 0.85 else None
        if isinstance(tree, Atom) and rng.random() < 0.08:
            tree = Without(tree)
        filters = [item for item in self.filters() if ":" not in item.field]
        for name in ("author", "committer"):
            if rng.random() < 0.12:
                text = rng.choice(
                    ("ada", "Ada", "bob@corp", "example.org>$", "^Ada", "K", "<", "nobody", r"\bx$", "[^a]d", "bot")
                )
                filters.append(Filter(name, text, negated=rng.random() < 0.3))
        if rng.random() < 0.12:
            filters.append(
                Filter("message", rng.choice(("foo", "fix", r"o\b", "[A-Z]{2}", r"x\s", "a.*b")), rng.random() < 0.3)
            )
        for name in ("before", "after"):
            if rng.random() < 0.08 and times:
                time = rng.choice(times) + rng.choice((0, 0, 1, -1))
                if time >= 10_000:
                    filters.append(Filter(name, str(time)))
        kind = rng.choice(("commit", "diff"))
        select = rng.choice(
            (
                "",
                "",
                "",
                "repo",
                "commit",
                "commit.diff",
                *(("commit.diff.added", "commit.diff.removed") if kind == "diff" else ()),
            )
        )
        if rng.random() < 0.03:
            select = rng.choice(("file", "file.directory", "content", "symbol"))
        revision = ""
        if rng.random() < 0.15 and self.revisions:
            revision = rng.choice(self.revisions)
            filters = [*(item for item in filters if item.field != "repo"), Filter("repo", "zoo")]
        return Question(
            tree, tuple(filters), (kind,), rng.random() < 0.4, revision, select, None, pattern_type, rng.randrange(420)
        )


def replace_samples(drawer: Drawer, samples: list[str]) -> Drawer:
    """A drawer with other texts to derive patterns from."""
    return Drawer(drawer.rng, samples, [], drawer.repositories, drawer.revisions)

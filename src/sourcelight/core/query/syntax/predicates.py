"""Read the arguments of predicates such as ``repo:has.file(path:go.mod)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core.errors import QueryError
from sourcelight.core.query.regexps import regexp_problem
from sourcelight.core.query.syntax.lexer import RawFilter, RawPattern
from sourcelight.core.query.syntax.nodes import Predicate
from sourcelight.core.query.syntax.parser import Group, Raw, parse_tree

Arguments = dict[str, Any]

NOT_NEGATABLE = {("repo", "has.description"): "repo:has.description", ("file", "has.content"): "file:contains.content"}
_META_PART = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|/((?:[^/\\]|\\.)*)/|([^:"'/][^:]*|))\s*""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class InvalidPredicate(Predicate):
    """A predicate whose arguments make no sense; validation raises `error` when its turn comes."""

    error: str = ""


def predicate(on: str, spelled_name: str, text: str, *, negated: bool) -> Predicate:
    """Return the node for ``on:spelled_name(text)``, with its canonical name and its arguments.

    Parameters
    ----------
    on
        ``repo``, ``file`` or ``rev``.
    spelled_name
        The name as written: ``contains.file``, ``has.tag`` ….
    text
        The text between the parentheses.
    negated
        Whether the filter is negated.
    """
    name, read = _READERS[on, spelled_name]

    def invalid(problem: str) -> InvalidPredicate:
        return InvalidPredicate(on=on, name=name, args={}, negated=negated, error=f"invalid predicate value: {problem}")

    if negated and (on, name) in NOT_NEGATABLE:
        return invalid(f'search predicate "{NOT_NEGATABLE[on, name]}" does not support negation')

    try:
        arguments = read(text)
    except QueryError as error:
        return invalid(error.message)

    return Predicate(on, name, arguments, negated=negated and on != "rev")


def _single(key: str, problem: str) -> Callable[[str], Arguments]:
    def read(text: str) -> Arguments:
        if not text:
            raise QueryError(problem)
        return {key: text}

    return read


def _regexp(key: str, title: str) -> Callable[[str], Arguments]:
    def read(text: str) -> Arguments:
        if not text:
            raise QueryError(f"{title} argument should not be empty")
        problem = regexp_problem(text)
        if problem:
            raise QueryError(f"{title} argument: {problem}")
        return {key: text}

    return read


def _any_text(key: str) -> Callable[[str], Arguments]:
    return lambda text: {key: text}


def _contributor(text: str) -> Arguments:
    problem = regexp_problem(text)
    if problem:
        raise QueryError(f"the file:has.contributor() predicate has invalid argument: {problem}")
    return {"regexp": text}


def _description(text: str) -> Arguments:
    tokens = text.split()
    if not tokens:
        raise QueryError("empty repo:has.description() predicate parameter")

    expression = tokens[0] if len(tokens) == 1 else ".*?".join(f"(?:{word})" for word in tokens)
    problem = regexp_problem(expression)
    if problem:
        raise QueryError(f"invalid repo:has.description() argument: {problem}")

    return {"regexp": expression}


def _at_time(text: str) -> Arguments:
    from sourcelight.core.query.dates import current_time, parse_date

    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2:
        raise QueryError("unexpected number of arguments to rev:at.time()")

    try:
        parse_date(parts[0], current_time())
    except ValueError:
        raise QueryError("invalid date format") from None

    return {"time": parts[0], "rev": parts[1] if len(parts) == 2 and parts[1] else "HEAD"}


def _file(path_name: str) -> Callable[[str], Arguments]:
    """Return a reader of the little query inside ``has.file(…)``, where the path is called `path_name`."""

    def read(text: str) -> Arguments:
        tree = parse_tree(text, "regexp")
        leaves = list(_leaves(tree)) if tree is not None else []
        args: Arguments = {}
        for leaf in leaves:
            if leaf.negated:
                raise QueryError("predicates do not currently support negated values")

            if isinstance(leaf, RawPattern):
                if len(leaves) > 1:
                    raise QueryError(
                        f"prepend 'file:' or 'content:' to \"{leaf.value}\" to search repositories containing files or "
                        "content respectively."
                    )
                key = "path"
            elif leaf.field.lower() in {path_name, "content"}:
                key = "content" if leaf.field.lower() == "content" else "path"
            else:
                raise QueryError(f'unsupported option "{leaf.field.lower()}"')

            if key in args:
                raise QueryError(f"cannot specify {path_name if key == 'path' else key} multiple times")

            if leaf.value:
                args[key] = leaf.value

        if not args:
            raise QueryError(f"one of {path_name} or content must be set")

        for key, value in args.items():
            problem = regexp_problem(value)
            if problem:
                raise QueryError(f"the {key} argument is invalid: {problem}")

        return {key: args[key] for key in ("path", "content") if key in args}

    return read


def _leaves(tree: Raw) -> Iterator[RawFilter | RawPattern]:
    if not isinstance(tree, Group):
        yield tree
        return
    if tree.kind == "or":
        raise QueryError("predicates do not currently support 'or' queries")
    for arg in tree.args:
        yield from _leaves(arg)


def _pair(text: str) -> Arguments:
    key, colon, value = text.partition(":")
    if not colon or not key:
        raise QueryError("expected params of the form key:value")
    return {"mode": "pair", "key": key, "value": value}


def _name_reader(mode: str) -> Callable[[str], Arguments]:
    def read(text: str) -> Arguments:
        if not text:
            raise QueryError(f"{mode} must be non-empty")
        return {"mode": mode, "key": text}

    return read


def _meta(text: str) -> Arguments:
    key, is_regexp, position = _meta_part(text, 0)
    if not key:
        raise QueryError("key cannot be empty")

    args: Arguments = {"mode": "key", "key": key}
    if position < len(text):
        if text[position] != ":":
            raise QueryError("unexpected extra content")

        value, value_is_regexp, position = _meta_part(text, position + 1)
        if position < len(text):
            raise QueryError("unexpected extra content")

        args["mode"] = "pair" if value else "tag"
        if value:
            args["value"] = value

        if value_is_regexp:
            args["valueRegexp"] = True

    if is_regexp:
        args["keyRegexp"] = True

    return args


def _meta_part(text: str, position: int) -> tuple[str, bool, int]:
    match = _META_PART.match(text, position)
    if match is None:
        raise QueryError("unexpected extra content")

    double, single, regexp, bare = match.groups()
    if bare is not None:
        return bare.strip(), False, match.end()

    if regexp is not None:
        problem = regexp_problem(regexp.replace("\\/", "/"))
        if problem:
            raise QueryError(problem)
        return regexp.replace("\\/", "/"), True, match.end()

    body = double if double is not None else single
    return re.sub(r"""\\(["'\\])""", r"\1", body), False, match.end()


_Reader = Callable[[str], Arguments]
_READERS: Mapping[tuple[str, str], tuple[str, _Reader]] = {
    ("repo", "has.file"): ("has.file", _file("path")),
    ("repo", "contains.file"): ("has.file", _file("path")),
    ("repo", "contains"): ("has.file", _file("file")),
    ("repo", "has.path"): ("has.path", _regexp("path", "contains.path")),
    ("repo", "contains.path"): ("has.path", _regexp("path", "contains.path")),
    ("repo", "has.content"): ("has.content", _regexp("content", "contains.content")),
    ("repo", "contains.content"): ("has.content", _regexp("content", "contains.content")),
    ("repo", "has.commit.after"): ("has.commit.after", _any_text("time")),
    ("repo", "contains.commit.after"): ("has.commit.after", _any_text("time")),
    ("repo", "has.description"): ("has.description", _description),
    ("repo", "has.topic"): ("has.topic", _single("topic", "topic must be non-empty")),
    ("repo", "has.meta"): ("has.meta", _meta),
    ("repo", "has"): ("has.meta", _pair),
    ("repo", "has.tag"): ("has.meta", _name_reader("tag")),
    ("repo", "has.key"): ("has.meta", _name_reader("key")),
    ("file", "has.content"): ("has.content", _regexp("content", "file:contains.content")),
    ("file", "contains.content"): ("has.content", _regexp("content", "file:contains.content")),
    ("file", "has.owner"): ("has.owner", _any_text("owner")),
    ("file", "has.contributor"): ("has.contributor", _contributor),
    ("rev", "at.time"): ("at.time", _at_time),
}

PREDICATES: frozenset[str] = frozenset(f"{on}:{name}" for (on, _), (name, _) in _READERS.items())
"""All predicates under their canonical names, such as ``repo:has.path``."""

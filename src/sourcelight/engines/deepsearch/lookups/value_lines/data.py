"""Values of keys in files of configuration and data, each with its keys above, its comment and its description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

MAX_LINES, _MAX_LINE, _MAX_VALUE, _MAX_COMMENT = 30_000, 400, 160, 14
_YAML = re.compile(r"\.(?:ya?ml)$|(?:^|/)\.(?:clang-format|clang-tidy)$", re.IGNORECASE)
_JSON = re.compile(r"\.(?:json|jsonc|json5)$", re.IGNORECASE)
_FLAT = re.compile(
    r"\.(?:toml|ini|cfg|conf|cnf|properties|env|desktop|service|hcl|tfvars|editorconfig)$|(?:^|/)\.env[.\w-]*$"
    r"|\.(?:conf|ini|cfg|toml|env)\.(?:example|sample|dist|default|template|in)$|(?:^|/)[\w-]*(?:\.default"
    r"|defaults?)$",
    re.IGNORECASE,
)
_DOCKER = re.compile(r"(?:^|/)(?:Dockerfile|Containerfile)(?:\.[\w-]+)?$")
_SKIPPED = re.compile(
    r"(?:^|/)(?:[\w.-]*lock[\w.-]*|npm-shrinkwrap\.json|\.github|\.gitlab\S*|\.circleci|\.travis\.yml"
    r"|CITATION\.cff|node_modules"
    r"|Cargo\.toml|pyproject\.toml|pubspec\.yaml|Pipfile|\.pre-commit-config\.yaml|\.editorconfig|\.(?:rubocop"
    r"|golangci|swiftlint)"
    r"\S*|locales?|lang|i18n|translations?|l10n|testdata|crds?)(?:/|$)|(?:^|/)(?:crd|messages?)[-_.][\w.-]+$",
    re.IGNORECASE,
)
"""Data that has no settings of a program: locks, workflows, translations, schemas of resources."""
_MANIFEST = re.compile(
    r"(?:^|/)(?:package|package-[\w-]+|composer|bower|deno|jsr|lerna|tsconfig[\w.-]*|jsconfig)\.jsonc?$"
)
"""Manifests and settings of tools, which say nothing of the program, but for what an editor's extension "
"contributes."""
_YAML_KEY = re.compile(
    r"(?P<indent>\s*)(?P<item>-\s+)?(?P<quote>[\"']?)(?P<key>[\w$@./-]{1,80})(?P=quote)\s*:(?:\s+(?P<value>\S.*))?$"
)
_JSON_KEY = re.compile(r"\s*\"(?P<key>[^\"\\]{1,100})\"\s*:\s*(?P<value>\S.*?)?\s*$")
_FLAT_KEY = re.compile(
    r"\s*(?:export\s+)?(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w.$/-]{0,80})(?P=quote)\s*(?:=|:(?!//))\s*(?P<value>\S.*)$"
)
_SECTION = re.compile(r"\s*\[\[?\s*(?P<name>[^\[\]]{1,100}?)\s*\]\]?\s*(?:[#;].*)?$")
_BLOCK = re.compile(r"\s*(?:\w[\w-]*\s+)?[\"']?(?P<name>[\w-]{1,60})[\"']?\s*(?:=\s*)?\{\s*$")
_COMMENT = re.compile(r"\s*(?:#|//|;|!)\s?(?P<text>.*)$")
_TRAILING = re.compile(r"\s(?:#|//|;)\s?(?P<text>.*)$")
_DESCRIBING = frozenset(["description", "markdowndescription", "title", "help", "summary", "comment", "doc", "label"])
_STRUCTURAL = frozenset(
    [
        "properties",
        "items",
        "configuration",
        "contributes",
        "default",
        "inputs",
        "definitions",
        "options",
        "settings",
        "schema",
    ]
)
_DEFAULT_FILE = re.compile(
    r"(?:^|[/._-])(?:values|defaults?|settings?|config\w*|conf|application|action|options|preferences|prefs"
    r"|env)(?=[/._-]|$)"
    r"|\.(?:conf|ini|cfg|properties)(?:\.|$)",
    re.IGNORECASE,
)
"""Files whose keys have what a program uses if nothing else is set."""


@dataclass(slots=True)
class DataLine:
    """A key of a file of data and its value.

    Attributes
    ----------
    name
        The key; of a schema, the key that has the ``default``.
    value
        As written, in one line, without comment.
    line, begin_line
        The line of the value and the first line of what names it, from 1.
    keys
        The keys above it, outermost first.
    texts
        Comments and descriptions, each with its line.
    is_default
        Whether a program uses it if nothing else is set.
    """

    name: str
    value: str
    line: int
    begin_line: int
    keys: tuple[str, ...]
    texts: list[tuple[int, str]]
    is_default: bool


@dataclass(slots=True)
class _Level:
    """A key with an object or a mapping below it."""

    indent: int
    key: str
    line: int
    texts: list[tuple[int, str]] = field(default_factory=list)


def data_reader(path: str) -> Callable[[Sequence[str], str], Iterator[DataLine]] | None:
    """Return the reader of a file of data; None for code, documents, locks and translations."""
    if _SKIPPED.search(path) is not None:
        return None
    for pattern, reader in ((_YAML, _read_yaml), (_JSON, _read_json), (_DOCKER, _read_docker), (_FLAT, _read_flat)):
        if pattern.search(path) is not None:
            return reader
    return None


def _read_yaml(lines: Sequence[str], path: str) -> Iterator[DataLine]:
    stack: list[_Level] = []
    is_of_defaults = _DEFAULT_FILE.search(path) is not None
    text_indent = -1
    for number, text in enumerate(lines[:MAX_LINES], 1):
        bare = text.strip()
        if not bare or bare[0] == "#" or len(text) > _MAX_LINE:
            continue
        indent = len(text) - len(text.lstrip())
        if text_indent >= 0:
            if indent > text_indent:
                if stack and len(stack[-1].texts) < _MAX_COMMENT and stack[-1].key == "":
                    stack[-1].texts.append((number, bare))
                continue
            text_indent = -1

        match = _YAML_KEY.match(text)
        if match is None:
            continue
        position = indent + len(match["item"] or "")
        while stack and stack[-1].indent >= position:
            stack.pop()
        key, value = match["key"], _without_comment(match["value"] or "")
        if value in {"|", ">", "|-", ">-", "|+", ">+"}:
            text_indent = indent
            continue
        if key.lower() in _DESCRIBING and stack and value:
            stack[-1].texts.append((number, value.strip("\"'")))
        if not value or (value.startswith(("&", "<<")) and len(value.split()) < 2):
            stack.append(_Level(position, key, number, _comments_above(lines, number)))
            continue
        if "{{" in value or "${{" in value:
            continue
        yield from _make(lines, number, key, value, stack, is_of_defaults=is_of_defaults)


def _make(
    lines: Sequence[str], number: int, key: str, value: str, stack: Sequence[_Level], *, is_of_defaults: bool
) -> Iterator[DataLine]:
    if len(value) > _MAX_VALUE:
        return
    keys = tuple(level.key for level in stack)
    if key.lower() in {"default", "defaultvalue"} and stack:
        index = max(
            (i for i, level in enumerate(stack) if level.key.lower() not in _STRUCTURAL), default=len(stack) - 1
        )
        holder = stack[index]
        outer = tuple(level.key for level in stack[:index] if level.key.lower() not in _STRUCTURAL)
        yield DataLine(holder.key, value, number, holder.line, outer, holder.texts, is_default=True)
        return
    texts = _comments_at(lines, number)
    yield DataLine(key, value, number, number, keys, texts, is_default=is_of_defaults)


def _read_json(lines: Sequence[str], path: str) -> Iterator[DataLine]:
    stack: list[_Level] = []
    is_of_defaults = _DEFAULT_FILE.search(path) is not None
    for number, text in enumerate(lines[:MAX_LINES], 1):
        if len(text) > _MAX_LINE:
            continue
        bare = text.strip()
        if bare[:1] in {"}", "]"}:
            if stack:
                stack.pop()
            if bare.rstrip(",")[-1:] in {"{", "["}:
                stack.append(_Level(0, "", number))
            continue
        match = _JSON_KEY.match(text)
        value = (match["value"] or "").rstrip(",").rstrip() if match is not None else bare.rstrip(",")
        if value in {"{", "["}:
            stack.append(_Level(0, match["key"] if match is not None else "", number))
            continue
        if match is None or not value or (value[0] in "{[" and value[-1] not in "}]"):
            continue
        if _MANIFEST.search(path) is not None and not any(level.key == "contributes" for level in stack):
            continue
        if match["key"].lower() in _DESCRIBING and stack and value.startswith('"'):
            stack[-1].texts.append((number, value.strip('"')))
        yield from _make(lines, number, match["key"], value, stack, is_of_defaults=is_of_defaults)


def _read_flat(lines: Sequence[str], path: str) -> Iterator[DataLine]:
    stack: list[_Level] = []
    for number, text in enumerate(lines[:MAX_LINES], 1):
        if len(text) > _MAX_LINE or _COMMENT.match(text) is not None:
            continue
        section = _SECTION.match(text)
        if section is not None:
            stack = [_Level(0, section["name"], number, _comments_above(lines, number))]
            continue
        if text.strip() == "}" and stack:
            stack.pop()
        match = _FLAT_KEY.match(text)
        if match is None or match["value"] == "{":
            block = _BLOCK.match(text)
            if block is not None:
                stack.append(_Level(0, block["name"], number))
            continue
        value = _without_comment(match["value"])
        if value and len(value) <= _MAX_VALUE and value[-1] not in "{[(\\":
            keys = tuple(level.key for level in stack)
            yield DataLine(
                match["key"],
                value,
                number,
                number,
                keys,
                _comments_at(lines, number),
                is_default=_DEFAULT_FILE.search(path) is not None,
            )


_INSTRUCTIONS = {
    "EXPOSE": "port exposed by the container image", "USER": "user of the container image",
    "WORKDIR": "working directory folder of the container image",
}  # fmt: skip


def _read_docker(lines: Sequence[str], path: str) -> Iterator[DataLine]:  # noqa: ARG001 - the form of a reader
    for number, text in enumerate(lines[:MAX_LINES], 1):
        match = re.match(r"\s*(ENV|ARG|EXPOSE|USER|WORKDIR)\s+(.*)$", text[:_MAX_LINE], re.IGNORECASE)
        if match is None:
            continue
        instruction = match[1].upper()
        if instruction in _INSTRUCTIONS:
            if "$" not in match[2]:
                yield DataLine(instruction, match[2].strip(), number, number, (), [], is_default=True)
            continue
        for pair in re.finditer(r"([A-Za-z_]\w*)(?:=|\s+)(\"[^\"]*\"|\S+)", match[2]):
            if "$" not in pair[2]:
                yield DataLine(pair[1], pair[2], number, number, (), _comments_above(lines, number), is_default=True)


def docker_words(name: str) -> str:
    """Return the words that an instruction of a Dockerfile stands for; empty for a variable."""
    return _INSTRUCTIONS.get(name, "")


def _without_comment(value: str) -> str:
    """Return a value without the comment behind it, unless that is in a quoted text."""
    if value and value[0] in "\"'":
        end = value.find(value[0], 1)
        return value[: end + 1] if end > 0 and re.match(r"\s*(?:[#;,]|//|$)", value[end + 1 :]) else value.strip()
    trailing = _TRAILING.search(value)
    return (value[: trailing.start()] if trailing is not None else "" if value.startswith("#") else value).strip()


def _comments_at(lines: Sequence[str], number: int) -> list[tuple[int, str]]:
    """Return the comments of a line (from 1): above it, behind it, or below it in a file that has them there."""
    texts = _comments_above(lines, number)
    trailing = _TRAILING.search(lines[number - 1])
    if trailing is not None and trailing["text"].strip():
        texts.append((number, trailing["text"].strip()))
    if texts:
        return texts

    # In a file whose comments are below its keys, an empty line is above the key and below the comment.
    below: list[tuple[int, str]] = []
    is_apart = number < 2 or not lines[number - 2].strip()
    for index in range(number, min(number + _MAX_COMMENT, len(lines)) if is_apart else number):
        comment = _COMMENT.match(lines[index])
        if comment is None:
            return below if not lines[index].strip() else []
        below.append((index + 1, comment["text"].strip()))
    return below


def _comments_above(lines: Sequence[str], number: int) -> list[tuple[int, str]]:
    texts: list[tuple[int, str]] = []
    for index in range(number - 2, max(-1, number - 2 - _MAX_COMMENT), -1):
        comment = _COMMENT.match(lines[index])
        if comment is None or len(lines[index]) > _MAX_LINE:
            break
        texts.append((index + 1, comment["text"].strip(" #-*/!")))
    return texts[::-1]

"""Requests by chance to every endpoint, tool, analysis, GraphQL field and page: the lists come from the code.

Half of the values that a request has are hidden from somebody, or nobody's: names and paths of other repositories,
commits, cursors of other readers' answers, other accounts' conversations and links to them.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from graphql import (
    GraphQLEnumType,
    GraphQLInputType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLUnionType,
    get_named_type,
)

from sourcelight.core.query.fields import FIELDS
from sourcelight.core.tools.catalog import TOOLS, analysis_tools, mcp_tools
from sourcelight.core.tools.tool import with_page_arguments
from sourcelight.server.http.graphql.schema import executable_schema
from sourcelight.server.mcp.addresses import ENDPOINTS
from sourcelight.testing import RepositoryBuilder, make_repo

HOST = "git.example.org/acme/"
WORDS = ("billing", "billing-core", "billings", "web", "web-app", "payments", "pay", "vault", "ledger", "ledgers",
         "search", "searcher", "auth", "authz", "mail", "mailer", "cron", "metrics", "metric", "docs")  # fmt: skip
"""Names of repositories: similar ones, so that an error that suggests a name has some to choose from."""

OTHERS = "OTHERS"
"""Where a request has the number of another account's conversation: each service has its own."""

_SIMPLE: Mapping[str, tuple[Any, ...]] = {
    "boolean": (True, False), "integer": (1, 2, 3, 5, 20), "number": (1, 2, 3, 5, 20),
}  # fmt: skip

MAX_CURSORS = 200
MAX_DEPTH = 4
"""Levels of fields of a GraphQL query."""

Case = tuple[str, str, dict[str, Any]]
"""How to ask, an address, a tool or a question, and the body."""

QUESTIONS = ("Where is {word} defined?", "Who wrote most of {name}?", "Which repositories use {name}?",
             "What is {name}?", "How many repositories are there?", "How many files contain {word}?",
             "Where is only_{package} called?", "Which projects depend on {name}?", "Who changed {word} last?",
             "Is {name} used anywhere?", "How does {name} retry?", "What is MAX_{PACKAGE}?",
             "What changed in {commit}?", "Which repositories have the same files?", "Who is Ann?",
             "What is the difference between {name} and {other}?", "How do I use {other} from {name}?",
             "What does shared_name do?", "What happened in {full}?", "What depends on only_{package}?")  # fmt: skip
FILTERS = ("repo:^{expression}$", "-repo:{name}", "type:repo", "type:symbol", "type:commit", "type:diff", "type:path",
           "select:repo", "select:symbol", "select:commit.diff.added", "count:all", "count:2", "author:ann",
           "file:README", "repo:has.file(path:{package})", "fork:yes", "visibility:private", "visibility:public",
           "repo:{name}@v1.3.0", "repo:{name}@{commit}", "rev:{commit}", "OR helper", "AND NOT needle",
           "repo:has.content(unique{package}word)", "repo:has.commit.after(2020)", "repo:has.description({name})",
           "context:{name}", "context:@ann", "lang:python", "-file:main", "case:yes", "timeout:9s", "archived:yes",
           "file:has.owner({name})", "repo:has.path({package})", "file:has.content({package})",
           "before:2030", "message:{name}", "committer:bob", "stable:yes", "patternType:regexp")  # fmt: skip
PAGES = ("", "/-/blob/{path}", "/-/blob/{path}?blame", "/-/blob/{path}?history", "/-/blob/{path}?part=outline",
         "/-/blob/{path}?notebook", "/-/tree/{package}", "/-/tree/{package}?part=history", "/-/tree/?part=commits",
         "/-/tree/?part=contributors", "/-/commit/{commit}", "/-/commit/HEAD", "/-/compare/HEAD~1...HEAD",
         "/-/compare/{commit}...HEAD?part=commits", "@{commit}/-/blob/{path}", "@v1.3.0", "@main/-/tree/",
         "/-/symbol/{path}?name=helper", "/-/symbol/{path}?name=only_{package}&line=6", "/-/blob/{path}?part=calls",
         "/-/tree/?from={other}", "@{commit}")  # fmt: skip
OTHER_ADDRESSES = (
    "/", "/metrics", "/search/saved", "/readyz", "/healthz", "/.api/deepsearch/v1", "/deepsearch", "/search",
    "/.api/sourcelight", "/.api/src-cli/version", "/search/saved/{text}", "/-/debug/trace/{text}", "/robots.txt",
    "/.api/deepsearch/v1?filter_user_id=1", "/.api/deepsearch/v1?filter_user_id=2&page_first=100",
    "/.api/deepsearch/v1?filter_read_token={uuid}", "/.api/deepsearch/v1?filter_id=OTHERS",
    "/.api/deepsearch/v1/OTHERS", "/.api/deepsearch/v1/OTHERS/questions/OTHERS", "/deepsearch/OTHERS",
    "/.api/deepsearch/v1/OTHERS/questions/OTHERS/events", "/deepsearch/OTHERS/live", "/deepsearch/shared/{uuid}",
    "/deepsearch/shared/OTHERS", "/deepsearch?text={name}", "/deepsearch?question={name}",
)  # fmt: skip


@dataclass
class NamedRepository:
    """A repository as requests name it."""

    name: str
    paths: tuple[str, ...]
    commits: list[str]

    @property
    def package(self) -> str:
        return self.name.replace("-", "_")

    def marks(self, known_commits: Container[str]) -> list[str]:
        """Expressions for what only this repository has; forks share commits with `known_commits`."""
        commits = [rf"\b{commit[:7]}" for commit in self.commits if commit not in known_commits]
        return [rf"{re.escape(HOST + self.name)}(?![\w-])", f"unique{self.package}word", *commits]


@dataclass
class World:
    """What requests can name: repositories of all viewers, and cursors that answers had."""

    repositories: list[NamedRepository]
    cursors: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_CURSORS))

    def note(self, answer: str) -> None:
        """Remember the cursors of an answer, so that another reader sends them."""
        self.cursors.extend(re.findall(r'(?:[cC]ursor|after|next)\\*"?: *\\*"([\w=+/:.-]{2,200})', answer))


def make_fleet(folder: Path, count: int, rng: Random) -> World:
    """Make repositories that name each other, share people, files and commits, and have words of their own."""
    repositories: list[NamedRepository] = []
    names = WORDS[:count]
    for number, name in enumerate(names):
        first, second, third = rng.sample(names, 3)
        package = name.replace("-", "_")
        files: dict[str, str] = {
            f"{package}/main.py": f'"""Main of {name}."""\nimport {first.replace("-", "_")}.main\n\n'
            f"MAX_{package.upper()} = {number}\n\n\nclass Needle:\n    def run(self, value={number}):\n"
            f"        return helper(value)\n\n\ndef shared_name(x):\n    return Needle().run(x)\n",
            f"{package}/util.py": f'def helper(value):\n    """Help {name} with a retry."""\n    return {number}\n\n\n'
            f"def only_{package}():\n    return helper(1)\n",
            f"tests/test_{package}.py": f"from {package}.main import shared_name\n\n\ndef test_it():\n    pass\n",
            "README.md": f"# {name}\n\nIt uses {first} and {second}. The limit is {number}.\nunique{package}word\n",
            "pyproject.toml": f'[project]\nname = "{name}"\nversion = "1.{number}"\ndependencies = ["{first}"]\n',
            "package.json": json.dumps({"name": name, "dependencies": {second: "^1.0.0"}}),
            "go.mod": f"module {HOST}{name}\n\nrequire {HOST}{third} v1.0.0\n",
            "common.txt": "the very same content\n" * 20,
            "CODEOWNERS": f"* @{name}-team {name}@example.org\n",
            ".mailmap": f"Person of {name} <ann@example.org> <ann@home.example>\nBob {name} <bob@example.org>\n",
            ".gitmodules": f'[submodule "part"]\n\tpath = part\n\turl = https://{HOST}{third}.git\n',
        }
        if number % 4 == 3:
            # A fork: it has the commits of the repository before it, of which another reader may see one alone.
            repo = RepositoryBuilder(folder / name, origin=f"https://{HOST}{name}.git")
            repo.git("pull", "-q", str(folder / names[number - 1]), "main")
            repo.commit(files, f"fork {names[number - 1]} as {name}")
        else:
            repo = make_repo(folder / name, files, origin=f"https://{HOST}{name}.git", message=f"begin {name}")
        person = rng.choice(["Ann A <ann@example.org>", "Ann A <ann@home.example>", "Bob <bob@example.org>"])
        repo.commit({f"{package}/util.py": files[f"{package}/util.py"] + f"# {number}\n"}, f"Fix {name}", author=person)
        repo.commit(
            {f"{package}/late.py": f"LATE = {number}\n"},
            f"Add late, as {second} has",
            author=f"{name} <{name}@example.org>",
        )
        repo.tag(f"v1.{number}.0", message=f"release {name}")
        repositories.append(NamedRepository(name, tuple(files), repo.git("rev-list", "HEAD").split()))
    return World(repositories)


class Requests:
    """Draws requests.

    Parameters
    ----------
    rng
        Chooses.
    world
        What requests can name.
    """

    def __init__(self, rng: Random, world: World) -> None:
        self._rng, self._world = rng, world

    def draw(self) -> Case:
        """Draw a request."""
        kinds: Mapping[Callable[[], Case], int] = {
            self._stream: 18, self._page: 10, self._suggestion: 5, self._code: 14, self._graphql: 14, self._tool: 26,
            self._analysis: 20, self._question: 4, self._other: 8,
        }  # fmt: skip
        return self._rng.choices(list(kinds), list(kinds.values()))[0]()

    def _values(self) -> dict[str, str]:
        """Words of one repository, and of another."""
        repository, other = self._rng.choices(self._world.repositories, k=2)
        name, package, full_name = repository.name, repository.package, HOST + repository.name
        spellings = [full_name, full_name[:-1], name, full_name.upper(), f"{full_name}-gone"]
        full = self._rng.choices(spellings, [20, 1, 2, 1, 1])[0]
        words = ["needle", "helper", "shared_name", "retry", "the very same", "zzz", "LATE", f"unique{package}word",
                 f"only_{package}", name]  # fmt: skip
        commit = self._rng.choice(self._rng.choice([repository, other]).commits)
        return {
            "name": name, "package": package, "PACKAGE": package.upper(), "other": HOST + other.name,
            "full": full, "expression": re.escape(full), "word": self._rng.choice(words),
            "path": self._rng.choice([*repository.paths, *other.paths, "nope"]),
            "commit": commit[: self._rng.choice([40, 12, 7])], "text": "a" * 32,
            "uuid": "00000000-0000-4000-8000-000000000000",
        }  # fmt: skip

    def _query(self, values: Mapping[str, str]) -> str:
        filters = self._rng.sample(FILTERS, self._rng.randrange(4))
        if self._rng.random() < 0.15:
            sample = self._rng.choice(list(FIELDS.values()))
            filters.append(f"{sample.name}:{self._rng.choice([*sample.values, *sample.examples, '{name}', 'a'])}")
        words = [values["word"]] if self._rng.random() < 0.9 else []
        # An example of a filter may have a brace of its own.
        return " ".join(
            [*words, *(re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), f) for f in filters)]
        )

    def _argument(self, name: str, schema: Mapping[str, Any], values: Mapping[str, str]) -> Any:
        """A value for an argument, by its name, or else by its type."""
        rng = self._rng
        simple = schema.get("enum") or _SIMPLE.get(schema.get("type", ""))
        if simple:
            return rng.choice(simple)
        if schema.get("type") == "array":
            item = {"repos": "repo", "authors": "author", "revisions": "revision", "paths": "path"}.get(name, name)
            first = self._argument(item, schema.get("items", {}), values)
            return [first, self._argument(item, schema.get("items", {}), self._values())][: rng.randrange(1, 3)]
        if name in {"after", "before", "cursor"} and self._world.cursors and rng.random() < 0.6:
            return rng.choice(self._world.cursors)
        texts: Mapping[str, tuple[str, ...]] = {
            "repo": ("full",), "path": ("path",), "otherPath": ("path",), "revision": ("commit",), "base": ("commit",),
            "head": ("commit",), "query": ("word", "name"), "symbol": ("word",),
        }  # fmt: skip
        fixed: Mapping[str, tuple[str, ...]] = {
            "revision": ("HEAD", "main", "v1.3.0", "HEAD~1"), "base": ("HEAD~1",), "head": ("HEAD",),
            "symbol": ("Needle", "helper", "shared_name", f"only_{values['package']}"),
            "author": ("ann", "bob", values["name"]), "after": ("2020-01-01",), "before": ("2030-01-01", "yesterday"),
            "identifier": (OTHERS, values["uuid"], f"/deepsearch/{OTHERS}"), "text": ("needle", values["name"]),
            "markdown": (f"`{values['full']}`, {values['path']}:3, [x](/{values['full']}/-/blob/{values['path']}).",),
            "by": ("repository", "repo", "author", "path", "month", "language"), "kind": ("function", "class"),
            "files": ("main", r"\.py$"), "fileKinds": ("code", "test"), "fileKind": ("code",),
        }  # fmt: skip
        choices = [values[key] for key in texts.get(name, ())] * 2 + list(fixed.get(name, ()))
        if name == "query" and rng.random() < 0.7:
            return self._query(values)
        return rng.choice(choices or [values["word"], values["name"]])

    def _arguments(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        values, required = self._values(), schema.get("required", ())
        likely = 0.9 if self._rng.random() < 0.1 else 0.2
        return {
            name: self._argument(name, property_schema, values)
            for name, property_schema in schema["properties"].items()
            if name in required or self._rng.random() < likely
        }

    def _tool(self) -> Case:
        endpoint = self._rng.choices(list(ENDPOINTS), [2, 1, 8, 1])[0]
        suite = mcp_tools("all") if self._rng.random() < 0.97 else TOOLS
        # A question is asked for its own kind of request.
        name = self._rng.choice([name for name in suite if name != "deepsearch"])
        body = {"name": name, "arguments": self._arguments(with_page_arguments(suite[name].input_schema))}
        return "tool", endpoint, body

    def _analysis(self) -> Case:
        name, tool = self._rng.choice(list(analysis_tools().items()))
        return "post", f"/.api/analyses/{name}", self._arguments(tool.input_schema)

    def _question(self) -> Case:
        values = self._values()
        scope = {"repos": [values["full"]]} if self._rng.random() < 0.2 else {}
        return "question", self._rng.choice(QUESTIONS).format(**values), scope

    def _stream(self) -> Case:
        kind = self._rng.choice(["standard", "keyword", "regexp", "nls", "literal", "ast-grep", "structural"])
        options = "".join(self._rng.sample(["&cm=t", "&cl=2", "&sm=1", "&feat=search-debug", "&max-line-len=9"], 2))
        query, display = quote(self._query(self._values())), self._rng.choice([-1, -1, 1, 5])
        return "get", f"/.api/search/stream?q={query}&v=V3&display={display}&t={kind}{options}", {}

    def _page(self) -> Case:
        path = self._rng.choice(["/search?wait=1&", "/search/export?format=csv&", "/search/notebook?", "/search/live?",
                                 "/search/export?format=jsonl&", "/search?wait=1&"])  # fmt: skip
        kind = self._rng.choice(["standard", "keyword", "nls", "regexp"])
        return "get", f"{path}q={quote(self._query(self._values()))}&patternType={kind}", {}

    def _suggestion(self) -> Case:
        values = self._values()
        field = self._rng.choice(["repo", "-repo", "r", "context", "author", "rev", "file", "repo:has.file"])
        beginning = f"{field}:{self._rng.choice(['', '^']) + values['name'][: self._rng.randrange(6)]}"
        return "get", f"/search/suggestions?q={quote(beginning)}", {}

    def _code(self) -> Case:
        values = self._values()
        return "get", "/" + values["full"] + self._rng.choice(PAGES).format(**values), {}

    def _other(self) -> Case:
        address = self._rng.choice(OTHER_ADDRESSES).format(**self._values())
        if "OTHERS" in address and "live" not in address and self._rng.random() < 0.4:
            acts: list[tuple[str, dict[str, Any]]] = [
                ("post", {"question": "What is web?"}), ("patch", {"is_shared": True}), ("patch", {"title": "x"}),
                ("delete", {}), ("patch", {"reset_link": True}),
            ]  # fmt: skip
            kind, body = self._rng.choice(acts)
            return kind, address + "/questions" * (kind == "post" and address.endswith("v1/OTHERS")), body
        if self._rng.random() < 0.1:
            return (
                "rpc",
                self._rng.choice(list(ENDPOINTS)),
                {"method": self._rng.choice(["tools/list", "ping", "resources/list", "prompts/list", "initialize"])},
            )
        return "get", address, {}

    def _graphql(self) -> Case:
        values = self._values()
        query = executable_schema().query_type
        assert query is not None
        fields = self._rng.choices(["search", "repository", "repositories", "currentUser", "site"], [5, 6, 5, 1, 1])[0]
        return "post", "/.api/graphql", {"query": f"{{{self._field(query, fields, values, MAX_DEPTH)}}}"}

    def _field(
        self, parent: GraphQLObjectType | GraphQLInterfaceType, name: str, values: Mapping[str, str], depth: int
    ) -> str:
        definition = parent.fields[name]
        if parent.name == "Query" and name == "repository":
            by_name = self._rng.random() < 0.8
            arguments = [f'name:"{values["full"]}"' if by_name else f'cloneURL:"https://{values["full"]}.git"']
        else:
            arguments = [
                f"{key}:{self._literal(key, argument.type, values)}"
                for key, argument in definition.args.items()
                if isinstance(argument.type, GraphQLNonNull) or self._rng.random() < (0.8 if key == "query" else 0.25)
            ]
        argument_text = f"({','.join(arguments)})" if arguments else ""
        return f"{name}{argument_text}{self._selection(definition.type, values, depth - 1)}"

    def _selection(self, kind: GraphQLOutputType, values: Mapping[str, str], depth: int) -> str:
        leaf_type = get_named_type(kind)
        if isinstance(leaf_type, GraphQLUnionType):
            parts = [f"... on {member.name}{self._selection(member, values, depth)}" for member in leaf_type.types]
            return f"{{__typename {' '.join(parts)}}}"
        if not isinstance(leaf_type, GraphQLObjectType | GraphQLInterfaceType):
            return ""
        simple = [name for name, field in leaf_type.fields.items() if not _has_fields(field.type)]
        deep = [name for name, field in leaf_type.fields.items() if _has_fields(field.type)] if depth > 0 else []
        sample = [*self._rng.sample(simple, min(len(simple), 4)), *self._rng.sample(deep, min(len(deep), 2))]
        return f"{{{' '.join(['__typename', *(self._field(leaf_type, name, values, depth) for name in sample)])}}}"

    def _literal(self, name: str, kind: GraphQLInputType, values: Mapping[str, str]) -> str:
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            return f"[{self._literal(name, kind.of_type, values)}]"
        if isinstance(kind, GraphQLEnumType):
            return str(self._rng.choice(list(kind.values)))
        if kind.name == "Boolean":
            return self._rng.choice(["true", "false"])
        if kind.name == "Int":
            return str(self._rng.choice([1, 2, 5]))
        text = {
            "query": self._query(values), "names": values["full"], "rev": self._rng.choice(["HEAD", values["commit"]]),
            "path": values["path"], "cloneURL": f"https://{values['full']}.git",
            "after": self._rng.choice([*self._world.cursors, values["full"], "x"]), "name": values["full"],
        }.get(name, values["word"])  # fmt: skip
        return json.dumps(text)


def _has_fields(kind: GraphQLOutputType) -> bool:
    return isinstance(get_named_type(kind), GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType)

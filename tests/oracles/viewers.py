"""Two users by chance: what a service tells a viewer, against a service that holds only what that viewer may see.

    python tests/oracles/viewers.py --seed 7 --cases 1000 [--repositories 14]

Every difference that stays is a finding: a name, a number or an error that tells of a hidden repository.
Requests are also made after a grant was taken and after repositories were renamed, when caches could still know.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx2

from server.loopback_tls import TLS
from server.running_service import running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import FILE_NAME, ScryptCost, State
from sourcelight.server.http.settings import Settings
from sourcelight.testing import git_environment, make_repo

HOST = "git.example.org/acme/"
ACCOUNTS = ("ann", "bob")
VIEWERS = (*ACCOUNTS, "")
"""The last one is nobody, who searches without a credential."""

WORDS = ("billing", "billing-core", "billings", "web", "web-app", "payments", "pay", "vault", "ledger", "ledgers",
         "search", "searcher", "auth", "authz", "mail", "mailer", "cron", "metrics", "metric", "docs")  # fmt: skip
"""Names of repositories: similar ones, so that an error that suggests a name has some to choose from."""

BOUND_S = 60.0
REPEATS = 3
"""Times that a request with different answers is made again: order may depend on what was ready first."""

Case = tuple[str, str, dict[str, Any]]
"""How to ask, an address, a tool or a question, and the body."""

_VARYING = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(https?://)?(127\.0\.0\.1|localhost):\d+", "HOST"),
        (r'"(durationMs|elapsedMilliseconds|time_millis|at_ms|id|conversation_id|question_id)":\s*\d+', r'"\1":0'),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
        (r"/deepsearch/(shared/)?\d+", "/deepsearch/N"),
        (r"\b\d+(\.\d+)? ?(ms|s)\b", "TIME"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "DATE"),
        (r'value="[\w-]{40,}"', "SECRET"),
        # What an analysis does before it answers depends on what other requests have made already.
        (r'event: progress\ndata: \{"stage".*\n\n', ""),
    )
)
_HEADERS = frozenset({"date", "content-length", "etag", "x-request-id", "x-trace", "x-trace-url", "last-modified"})


def make_fleet(folder: Path, count: int, rng: Random) -> list[str]:
    """Make repositories that name each other, share people and texts, and have a word of their own."""
    names = list(WORDS[:count])
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
        }
        repo = make_repo(folder / name, files, origin=f"https://{HOST}{name}.git", message=f"begin {name}")
        person = rng.choice(["Ann A <ann@example.org>", "Ann A <ann@home.example>", "Bob <bob@example.org>"])
        repo.commit({f"{package}/util.py": files[f"{package}/util.py"] + f"# {number}\n"}, f"Fix {name}", author=person)
        repo.tag(f"v1.{number}.0", message=f"release {name}")
    return names


@dataclass
class Side:
    """A service over some repositories, and how each viewer asks it."""

    root: Path
    engine: Any
    state: State
    clients: dict[str, httpx2.Client] = field(default_factory=dict)

    def ask(self, viewer: str, case: Case) -> str:
        """The answer to a request, without what differs from run to run."""
        kind, target, body = case
        client = self.clients[viewer]
        if kind == "question":
            response = client.post("/.api/deepsearch/v1", json={"question": target})
            if response.status_code != 202:
                return f"{response.status_code} {response.text}"
            conversation = response.json()
            path = f"/.api/deepsearch/v1/{conversation['id']}"
            events = client.get(f"{path}/questions/{conversation['questions'][0]['id']}/events").text
            return self.without_varying(events + client.get(path).text)
        if kind == "tool":
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": target, "arguments": body}}
            accept = {"Accept": "application/json, text/event-stream"}
            response = client.post("/.api/mcp/all", json=call, headers=accept)
        else:
            response = client.get(target) if kind == "get" else client.post(target, json=body)
        headers = {name: value for name, value in response.headers.items() if name.lower() not in _HEADERS}
        return self.without_varying(f"{response.status_code} {headers}\n{response.text}")

    def without_varying(self, text: str) -> str:
        """Leave out times, ids that depend on a directory, and the pieces in which matches arrive."""
        for repository in self.engine.catalog.repositories:
            same = str(zlib.crc32(repository.name.encode()))
            encoded = base64.b64encode(f"Repository:{repository.info.id}".encode()).decode()
            text = text.replace(str(repository.info.id), same).replace(encoded, f"ID {same}")
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)
        if "event: matches" in text:
            return in_one_event(text)
        # Matches come in the order in which repositories are ready.
        head, *articles = text.split("<article ")
        return "<article ".join([head, *sorted(articles)])

    def refresh(self) -> None:
        self.engine.catalog.refresh(thorough=True)
        self.engine.refresh()


def in_one_event(text: str) -> str:
    """Join the matches of a stream; of progress and filters, the last state counts."""
    head, _, body = text.partition("\n")
    events: dict[str, list[Any]] = {}
    for block in body.split("\n\n"):
        match = re.match(r"event: (\w+)\ndata: (.*)", block, re.DOTALL)
        if match is not None:
            data = json.loads(match[2])
            previous = events.get(match[1], [])
            events[match[1]] = (
                [data]
                if match[1] in {"progress", "filters"}
                else previous + (data if isinstance(data, list) else [data])
            )
    # Matches come in the order in which repositories are ready.
    events["matches"].sort(key=lambda match: json.dumps(match, sort_keys=True))
    return head + json.dumps(events, sort_keys=True)


@contextlib.contextmanager
def serve_side(root: Path, private: dict[str, list[str]]) -> Iterator[Side]:
    """Serve the repositories below a directory; `private` has the accounts of each private one."""
    private_here = {name: accounts for name, accounts in private.items() if (root / name).exists()}
    tables = "".join(f'[repositories."{HOST}{name}"]\nprivate = true\n' for name in sorted(private_here))
    (root / "repos.toml").write_text(f'defaultVisibility = "public"\n{tables}')
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(State(str(root.parent / FILE_NAME), cost=ScryptCost(2, 1, 1)))
        for account in ACCOUNTS:
            state.accounts.create(account)
        settings = Settings(auth_public=True)
        policy = ServicePolicy(state.repositories, settings.default_visibility, settings.trusted_paths)
        engine = stack.enter_context(
            closing(open_engine([root], index=root.parent / "index", policy=policy, workers=1))
        )
        for name, accounts in private_here.items():
            for account in accounts:
                state.grants.add(HOST + name, account=account)
        desk = stack.enter_context(closing(ConversationService(state)))
        service = stack.enter_context(running(engine, settings, state=state, conversations=desk))
        side = Side(root, engine, state)
        for viewer in VIEWERS:
            headers = {"X-Requested-With": "tests 1", "Accept-Encoding": "identity"}
            if viewer:
                headers["Authorization"] = f"token {state.tokens.create(viewer)[1]}"
            side.clients[viewer] = stack.enter_context(
                httpx2.Client(base_url=service.url, headers=headers, timeout=BOUND_S, trust_env=False, verify=TLS)
            )
        yield side


QUESTIONS = ("Where is {word} defined?", "Who wrote most of {name}?", "Which repositories use {name}?",
             "What is {name}?", "How many repositories are there?", "How many files contain {word}?",
             "Where is only_{package} called?",
             "Which projects depend on {name}?", "Who changed {word} last?", "Is {name} used anywhere?")  # fmt: skip
GRAPHQL = (
    '{{repository(name:"{name}"){{name id isPrivate commit(rev:"HEAD"){{oid subject}}}}}}',
    '{{repository(cloneURL:"https://{name}.git"){{name id}}}}',
    "{{repositories(first:50){{totalCount nodes{{name id}} pageInfo{{endCursor hasNextPage}}}}}}",
    '{{repositories(names:["{name}"]){{totalCount nodes{{name}}}}}}',
    "{{search(query:{query}){{results{{matchCount repositoriesCount repositories{{name}} alert{{title}}}}}}}}",
    "{{search(query:{query}){{results{{missing{{name}} dynamicFilters{{value count}}}}}}}}",
)
PAGES = ("", "/-/blob/README.md", "/-/tree/tests", "/-/commit/HEAD", "/-/blame/README.md", "/-/compare/HEAD~1...HEAD",
         "@v1.3.0", "/-/branches")  # fmt: skip
FILTERS = ("repo:^{expression}$", "-repo:{word}", "type:repo", "type:symbol", "type:commit", "type:diff", "select:repo",
           "count:all", "author:ann", "file:README", "repo:has.file(path:{package})", "fork:yes",
           "visibility:private", "repo:{word}@v1.3.0", "OR helper")  # fmt: skip
CALLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("read_file", ("repo", "path")), ("list_files", ("repo",)), ("list_repos", ("query",)),
    ("outline", ("repo", "path")), ("keyword_search", ("query",)), ("nls_search", ("query",)),
    ("go_to_definition", ("repo", "path", "symbol")),
    ("find_references", ("repo", "path", "symbol")), ("dependency_graph", ("repos",)), ("repo_map", ("repo",)),
    ("callers", ("repo", "path", "symbol")), ("commit_search", ("repos",)), ("diff_search", ("pattern", "repos")),
    ("compare_revisions", ("repo", "base", "head")), ("get_contributor_repos", ("author",)),
    ("blame", ("repo", "path")),
    ("contributors", ("repos",)), ("hotspots", ("repos",)), ("symbol_history", ("repo", "symbol")),
    ("complexity", ("repo",)), ("related_tests", ("repo", "path")), ("count", ("query",)), ("explain", ("query",)),
    ("list_refs", ("repo",)), ("history_of", ("repo", "text")), ("verify", ("markdown",)),
)  # fmt: skip
ANALYSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("nls_search", ("query",)), ("dependency_graph", ()), ("churn", ()), ("identities", ()), ("hotspots", ()),
    ("ownership", ("repo",)), ("bus_factor", ("repo",)), ("imports", ("repo",)), ("pickaxe", ("pattern",)),
    ("identity_suggestions", ()), ("path_history", ("repo", "path")), ("count", ("query",)), ("coupling", ()),
)  # fmt: skip


def draw_case(rng: Random, names: list[str]) -> Case:
    """Draw a request; half of the names that it has are hidden from somebody, or nobody's."""
    short_name = rng.choice(names)
    package = short_name.replace("-", "_")
    full = rng.choice(
        [
            HOST + short_name,
            HOST + short_name,
            HOST + short_name,
            (HOST + short_name)[:-1],
            short_name,
            (HOST + short_name).upper(),
        ]
    )
    word = rng.choice(["needle", "helper", "shared_name", "retry", "the very same", f"unique{package}word", "zzz"])
    values = {"name": full, "word": short_name, "package": package, "expression": re.escape(full)}
    query = " ".join([word, *(item.format(**values) for item in rng.sample(FILTERS, rng.randrange(3)))])
    path = rng.choice([f"{package}/main.py", f"{package}/util.py", "README.md", "nope.py"])
    arguments: dict[str, Any] = {
        "repo": full, "path": path, "symbol": rng.choice(["Needle", "helper", f"only_{package}"]), "query": query,
        "repos": [full, HOST + rng.choice(names)][: rng.randrange(1, 3)], "base": "HEAD~1", "head": "HEAD",
        "pattern": "needle", "author": rng.choice(["ann", "bob"]), "text": "needle",
        "markdown": f"See `{full}`, {path}:3, [x](/{full}/-/blob/{path}#L1).",
    }  # fmt: skip
    kind = rng.choices(["stream", "page", "suggestion", "code", "graphql", "tool", "analysis", "question", "other"],
                       [20, 8, 5, 12, 10, 25, 12, 5, 3])[0]  # fmt: skip
    if kind in {"tool", "analysis"}:
        name, parameters = rng.choice(CALLS if kind == "tool" else ANALYSES)
        body = {argument: arguments[argument] for argument in parameters}
        return ("tool", name, body) if kind == "tool" else ("post", f"/.api/analyses/{name}", body)
    if kind == "graphql":
        return "post", "/.api/graphql", {"query": rng.choice(GRAPHQL).format(name=full, query=json.dumps(query))}
    if kind == "question":
        return "question", rng.choice(QUESTIONS).format(word=word, name=short_name, package=package), {}
    pattern_type = rng.choice(["standard", "keyword", "regexp", "nls"])
    beginning = rng.choice(["repo:", "-repo:", "r:"]) + short_name[: rng.randrange(4)]
    address = {
        "stream": f"/.api/search/stream?q={quote(query)}&v=V3&display=-1&t={pattern_type}",
        "page": f"/search?q={quote(query)}&patternType=standard&wait=1",
        "suggestion": f"/search/suggestions?q={quote(beginning)}",
        "code": f"/{full}{rng.choice(PAGES)}",
        "other": rng.choice(["/", "/metrics", "/saved", "/readyz", "/.api/deepsearch/v1", "/deepsearch"]),
    }[kind]
    return "get", address, {}


@dataclass
class Comparison:
    """A service over everything, and one for each viewer; `findings` are what differed."""

    service: Side
    parts: dict[str, Side]
    rng: Random
    findings: list[str] = field(default_factory=list)
    cases: int = 0

    def compare(self, names: list[str], count: int, note: str) -> None:
        """Ask both services as one of the viewers, as often as `count` says."""
        for _ in range(count):
            viewer, case = self.rng.choice(VIEWERS), draw_case(self.rng, names)
            self.cases += 1
            answers = [{side.ask(viewer, case)} for side in (self.service, self.parts[viewer])]
            for _ in range(REPEATS):
                if answers[0] & answers[1]:
                    break
                for side_answers, side in zip(answers, (self.service, self.parts[viewer]), strict=True):
                    side_answers.add(side.ask(viewer, case))
            if not answers[0] & answers[1]:
                first, second = (min(side_answers) for side_answers in answers)
                start = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
                views = [text[max(0, start - 80) : start + 200] for text in (first, second)]
                self.findings.append(f"{note}, as {viewer or 'nobody'}: {case}\n  {views[0]!r}\n  {views[1]!r}")


def run(
    folder: Path, seed: int, repositories: int, cases: int, report: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Compare answers before and after a change of grants, and after renames; return the findings."""
    rng = Random(seed)
    root = folder / "whole" / "root"
    names = make_fleet(root, repositories, rng)
    private = {name: [account for account in ACCOUNTS if rng.random() < 0.4] for name in names if rng.random() < 0.6}
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(serve_side(root, private))
        parts = {}
        for viewer in VIEWERS:
            part = folder / (viewer or "nobody") / "root"
            part.mkdir(parents=True)
            for name in names:
                if name not in private or viewer in private[name]:
                    shutil.copytree(root / name, part / name, symlinks=True)
            parts[viewer] = stack.enter_context(serve_side(part, private))
        comparison = Comparison(service, parts, rng)
        comparison.compare(names, cases // 2, "before")
        report(f"{comparison.cases} requests, {len(comparison.findings)} findings")

        for account in ACCOUNTS:
            granted = [name for name in private if account in private[name]]
            if granted:
                name = rng.choice(granted)
                service.state.grants.remove(HOST + name, account=account)
                shutil.rmtree(parts[account].root / name)
                parts[account].refresh()
        comparison.compare(names, cases // 4, "after a grant was taken")
        report(f"{comparison.cases} requests, {len(comparison.findings)} findings")

        new_names = []
        for name in rng.sample(names, min(3, len(names))):
            new_names.append(f"{name}-renamed")
            for side in (service, *parts.values()):
                if (side.root / name).exists():
                    address = f"https://{HOST}{name}-renamed.git"
                    command = ["git", "-C", str(side.root / name), "remote", "set-url", "origin", address]
                    subprocess.run(command, check=True, env=git_environment(), timeout=BOUND_S)
        for side in (service, *parts.values()):
            side.refresh()
        comparison.compare([*names, *new_names], cases - comparison.cases, "after renames")
        report(f"{comparison.cases} requests, {len(comparison.findings)} findings")
    return comparison.findings


def main() -> int:
    """Run with the options of the command line; return 1 if there was a finding."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--repositories", type=int, default=14)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SOURCELIGHT_HOME"] = str(Path(folder) / "home")
        findings = run(Path(folder), options.seed, options.repositories, options.cases, print)
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())

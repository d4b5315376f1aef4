"""Two users by chance: what a service tells a viewer, against a service that holds only what that viewer may see.

    python tests/oracles/viewers.py --seed 7 --cases 1000 [--repositories 14]

Every difference that stays is a finding: a name, a number or an error that tells of a hidden repository.
Requests run at once, and are also made after a grant was taken, after hidden repositories changed and went, and after
repositories were renamed, when caches could still know. At the end, accounts read each other's shared answers.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx2

from oracles.viewer_requests import HOST, OTHERS, Case, Requests, World, make_fleet
from server.loopback_tls import TLS
from server.running_service import running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import FILE_NAME, ScryptCost, State
from sourcelight.server.http.settings import Settings
from sourcelight.testing import RepositoryBuilder, git_environment

ACCOUNTS = ("ann", "bob")
VIEWERS = (*ACCOUNTS, "")
"""The last one is nobody, who searches without a credential."""

ABSENT = 987_654_321
"""The number of a conversation that no service has."""

AT_ONCE = 4
"""Requests that run at the same time."""

BOUND_S = 60.0
SHARED_QUESTIONS = (
    "How many repositories are there?", "Where is helper defined?", "What does shared_name do?",
    "Who wrote most of the code?", "Which repositories use helper?",
)  # fmt: skip

REPEATS = 3
"""Times that a request with different answers is made again: order may depend on what was ready first."""

_VARYING = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(https?://)?(127\.0\.0\.1|localhost):\d+", "HOST"),
        (r'"(durationMs|elapsedMilliseconds|time_millis|at_ms|id|conversation_id|question_id)":\s*\d+', r'"\1":0'),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
        (r"/deepsearch/(shared/)?\d+", "/deepsearch/N"),
        (r"\b\d+(\.\d+)? ?(ms|s)\b", "TIME"),
        # Commits of the fleet have older dates, which must agree.
        (r"20(2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "DATE"),
        (r'value="[\w-]{40,}"', "SECRET"),
        # Parts of a page that come only if they are ready.
        (r'<section data-part="(contributors|owners|languages|commits)".*?</section>', ""),
        # Numbers of the page's elements follow the order in which matches came.
        (r"\bpython-\d+", "python-N"),
        # What an analysis does before it answers depends on what other requests have made already.
        (r'event: progress\ndata: \{"stage".*\n\n', ""),
    )
)
_IDS = re.compile(r"\b(?:R2l0|UmVwb3NpdG9ye)[\w+/]+=*")
"""Ids of GraphQL: they have the id of a repository, which depends on its directory."""

_ERROR = re.compile(r"^500|internal error", re.IGNORECASE)
_HEADERS = frozenset({"date", "content-length", "etag", "x-request-id", "x-trace", "x-trace-url", "last-modified"})


@dataclass
class Side:
    """A service over some repositories, and how each viewer asks it."""

    root: Path
    engine: Any
    state: State
    clients: dict[str, httpx2.Client] = field(default_factory=dict)
    foreign_numbers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VIEWERS, ABSENT))
    """For each viewer the number of a conversation of another account, where there is one."""

    def ask(self, viewer: str, case: Case) -> str:
        """The answer to a request, without what differs from run to run."""
        number = self.foreign_numbers[viewer]
        kind, target, body = json.loads(json.dumps(case).replace(OTHERS, str(number)))
        client = self.clients[viewer]
        if kind == "question":
            return self._without_varying(self._answer_to(viewer, target, body)[1])
        if kind in {"tool", "rpc"}:
            call = body if kind == "rpc" else {"method": "tools/call", "params": body}
            accept = {"Accept": "application/json, text/event-stream"}
            response = client.post(target, json={"jsonrpc": "2.0", "id": 1, **call}, headers=accept)
        elif kind == "get":
            response = client.get(target)
        else:
            response = client.request(kind.upper(), target, json=body)
        headers = {name: value for name, value in response.headers.items() if name.lower() not in _HEADERS}
        text = self._without_varying(f"{response.status_code} {headers}\n{response.text}")
        return re.sub(rf"(?<=[/\"'`F]){number}(?=[/\"'`?%])", OTHERS, text) if OTHERS in json.dumps(case) else text

    def _answer_to(self, viewer: str, question: str, scope: dict[str, Any]) -> tuple[int, str]:
        """The number of a new conversation, and the events and the record of its question."""
        client = self.clients[viewer]
        response = client.post("/.api/deepsearch/v1", json={"question": question, **scope})
        if response.status_code != 202:
            return 0, f"{response.status_code} {response.text}"
        conversation = response.json()
        path = f"/.api/deepsearch/v1/{conversation['id']}"
        events = client.get(f"{path}/questions/{conversation['questions'][0]['id']}/events").text
        return conversation["id"], events + client.get(path).text

    def share(self, viewer: str, question: str) -> tuple[int, str]:
        """Ask a question and share its answer; return the number of the conversation and its link's path."""
        number, _ = self._answer_to(viewer, question, {})
        response = self.clients[viewer].patch(f"/.api/deepsearch/v1/{number}", json={"is_shared": True})
        return number, urlsplit(response.json()["share_url"]).path

    def _without_varying(self, text: str) -> str:
        """Leave out times, ids that depend on a directory, and the pieces in which matches arrive."""
        text = _IDS.sub(_decoded, text)
        for repository in self.engine.catalog.repositories:
            text = text.replace(str(repository.info.id), str(zlib.crc32(repository.name.encode())))
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


def _decoded(match: re.Match[str]) -> str:
    """Decode an id of GraphQL, and those in it."""
    try:
        return _IDS.sub(_decoded, base64.b64decode(match[0]).decode())
    except ValueError:
        return match[0]


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


@dataclass
class Comparison:
    """A service over everything, and one for each viewer; `findings` are what differed."""

    service: Side
    parts: dict[str, Side]
    world: World
    requests: Requests
    rng: Random
    findings: list[str] = field(default_factory=list)
    cases: int = 0

    def compare(self, count: int, note: str) -> None:
        """Ask both services as the viewers, as often as `count` says."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            while count > 0:
                cases = [(self.rng.choice(VIEWERS), self.requests.draw()) for _ in range(min(count, AT_ONCE))]
                count -= len(cases)
                self.cases += len(cases)
                # Conversations are listed by the times of their answers, so questions come one after another.
                apply = map if any(case[0] == "question" for _, case in cases) else threads.map
                answers = list(apply(lambda case: self.service.ask(*case), cases))
                parts = list(apply(lambda case: self.parts[case[0]].ask(*case), cases))
                for (viewer, case), answer, expected in zip(cases, answers, parts, strict=True):
                    self.world.note(answer)
                    if _ERROR.search(answer):
                        self.findings.append(f"{note}, as {viewer or 'nobody'}: {case}\n  {answer[:400]}")
                    elif answer != expected:
                        self._ask_again(viewer, case, {answer}, {expected}, note)

    def _ask_again(self, viewer: str, case: Case, answers: set[str], expected: set[str], note: str) -> None:
        for _ in range(REPEATS):
            if answers & expected:
                return
            answers.add(self.service.ask(viewer, case))
            expected.add(self.parts[viewer].ask(viewer, case))
        if not answers & expected:
            first, second = min(answers), min(expected)
            start = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
            views = [text[max(0, start - 80) : start + 200] for text in (first, second)]
            self.findings.append(f"{note}, as {viewer or 'nobody'}: {case}\n  {views[0]!r}\n  {views[1]!r}")

    def read_shared(self, private: dict[str, list[str]]) -> None:
        """Read answers that one account shared as the other: nothing in them is of a hidden repository."""
        repositories = self.world.repositories
        for owner, reader in (ACCOUNTS, ACCOUNTS[::-1]):
            hidden = [repository for repository in repositories if reader not in private.get(repository.name, ACCOUNTS)]
            commits = {
                commit for repository in repositories if repository not in hidden for commit in repository.commits
            }
            marks = re.compile("|".join(mark for repository in hidden for mark in repository.marks(commits)) or "(?!)")
            for question in SHARED_QUESTIONS:
                for address, answer in self._shared_answers(owner, reader, question).items():
                    self.cases += 1
                    if (match := marks.search(answer)) is not None:
                        around = answer[max(0, match.start() - 120) : match.end() + 80]
                        self.findings.append(f"shared by {owner}, as {reader}: {question} {address}: {around!r}")

    def _shared_answers(self, owner: str, reader: str, question: str) -> dict[str, str]:
        number, link = self.service.share(owner, question)
        token = link.rsplit("/", 1)[-1]
        addresses = (link, f"{link}/live", f"/.api/deepsearch/v1?filter_read_token={token}",
                     f"/.api/deepsearch/v1/{number}", f"/deepsearch/{number}")  # fmt: skip
        answers = {address: self.service.clients[reader].get(address).text for address in addresses}
        for name, arguments in (("deepsearch_read", {}), ("deepsearch_follow_up", {"question": "And who changed it?"})):
            body = {"name": name, "arguments": {"identifier": token, **arguments}}
            answers[name] = self.service.ask(reader, ("tool", "/.api/mcp/all", body))
        return answers


@dataclass
class Changes:
    """What happens to repositories and grants between requests."""

    service: Side
    parts: dict[str, Side]
    world: World
    private: dict[str, list[str]]
    rng: Random

    def take_grants(self) -> None:
        """Take a grant of each account, and the repository from the service that holds only its repositories."""
        for account in ACCOUNTS:
            granted = [name for name in self.private if account in self.private[name]]
            if granted:
                name = self.rng.choice(granted)
                self.service.state.grants.remove(HOST + name, account=account)
                self.private[name].remove(account)
                shutil.rmtree(self.parts[account].root / name)
                self.parts[account].refresh()

    def change_hidden(self) -> None:
        """Commit to two repositories that nobody sees, and remove a third."""
        hidden = [name for name, accounts in self.private.items() if not accounts]
        for name in hidden[:2]:
            repo = RepositoryBuilder(self.service.root / name)
            repo.commit({"more.py": "def helper(value):\n    return needle\n" * 50}, f"More needle of {name}")
            repo.git("tag", "-f", "v1.3.0")
        for name in hidden[2:3]:
            shutil.rmtree(self.service.root / name)
        self.service.refresh()

    def remove_public(self) -> None:
        """Remove a repository that everybody sees; one stays, because a directory without any is served as files."""
        name = self.rng.choice(
            [repository.name for repository in self.world.repositories if repository.name not in self.private][1:]
        )
        for side in (self.service, *self.parts.values()):
            shutil.rmtree(side.root / name)
            side.refresh()

    def rename(self) -> None:
        """Rename three repositories."""
        repositories = [
            repository for repository in self.world.repositories if (self.service.root / repository.name).exists()
        ]
        for repository in self.rng.sample(repositories, min(3, len(repositories))):
            for side in (self.service, *self.parts.values()):
                if (side.root / repository.name).exists():
                    address = f"https://{HOST}{repository.name}-renamed.git"
                    command = ["git", "-C", str(side.root / repository.name), "remote", "set-url", "origin", address]
                    subprocess.run(command, check=True, env=git_environment(), timeout=BOUND_S)
            self.world.repositories.append(replace(repository, name=f"{repository.name}-renamed"))
        for side in (self.service, *self.parts.values()):
            side.refresh()


def serve_all(
    stack: contextlib.ExitStack, folder: Path, world: World, private: dict[str, list[str]]
) -> tuple[Side, dict[str, Side]]:
    """Serve all repositories of `folder`, and for each viewer those that they see; each account has a conversation."""
    root = folder / "whole" / "root"
    service = stack.enter_context(serve_side(root, private))
    parts = {}
    for viewer in VIEWERS:
        part = folder / (viewer or "nobody") / "root"
        part.mkdir(parents=True)
        for name in (repository.name for repository in world.repositories):
            if name not in private or viewer in private[name]:
                shutil.copytree(root / name, part / name, symlinks=True)
        parts[viewer] = stack.enter_context(serve_side(part, private))
    for side in (service, *parts.values()):
        # Histories that were read already raise files in the ranking of an answer.
        side.ask("ann", ("get", "/.api/search/stream?q=helper+type:diff+count:all", {}))
        side.ask("bob", ("get", "/.api/search/stream?q=helper+type:diff+count:all", {}))
    numbers = {}
    for account in ACCOUNTS:
        for side in (parts[account], service):
            numbers[account] = side.share(account, "What is web?")[0]
            side.clients[account].patch(f"/.api/deepsearch/v1/{numbers[account]}", json={"is_shared": False})
    service.foreign_numbers = {"ann": numbers["bob"], "bob": numbers["ann"], "": numbers["ann"]}
    return service, parts


def run(
    folder: Path, seed: int, repositories: int, cases: int, report: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Compare answers before and after changes of grants, contents and names; return the findings."""
    rng = Random(seed)
    world = make_fleet(folder / "whole" / "root", repositories, rng)
    names = [repository.name for repository in world.repositories]
    private = {name: [account for account in ACCOUNTS if rng.random() < 0.4] for name in names if rng.random() < 0.6}
    with contextlib.ExitStack() as stack:
        service, parts = serve_all(stack, folder, world, private)
        comparison = Comparison(service, parts, world, Requests(rng, world), rng)
        changes = Changes(service, parts, world, private, rng)
        for change, note, share in (
            (None, "before", 0.4),
            (changes.take_grants, "after a grant was taken", 0.15),
            (changes.change_hidden, "after hidden repositories changed and went", 0.15),
            (changes.remove_public, "after a repository went", 0.1),
            (changes.rename, "after renames", 0.2),
        ):
            if change is not None:
                change()
            comparison.compare(round(cases * share), note)
            report(f"{comparison.cases} requests, {len(comparison.findings)} findings {note}")
        comparison.read_shared(private)
        report(f"{comparison.cases} requests, {len(comparison.findings)} findings at the end")
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

"""Commits that name coding assistants: every frame against git, and alike on all backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from equal_frames import assert_frame_equal
from server.served import serving
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

BO = "Bo Boson <bo@example.org>"
AIDER = "Bo Boson (aider) <bo@example.org>"
DEVIN = "devin-ai-integration[bot] <158243242+devin-ai-integration[bot]@users.noreply.github.com>"
CLAUDE = "Co-authored-by: Claude <noreply@anthropic.com>"
CURSOR = "Co-authored-by: Cursor <cursoragent@cursor.com>"
TOKEN = "slo_the-owner-of-these-agents"


def build(folder: Path) -> dict[str, RepositoryBuilder]:
    """Two repositories; the mailmap of one credits a person with the commits of an assistant."""
    builder = RepositoryBuilder(folder / "one")
    builder.commit({"a.py": "def f():\n    return 1\n", "b.py": "x = 1\n"}, "Begin")
    builder.commit({"a.py": "def f():\n    return 2\n"}, f"Fix f\n\nText.\n\nReviewed-by: {BO}\n{CLAUDE}", author=BO)
    builder.commit({"a.py": "def f():\n    return 3\n\n\ndef g():\n    return f()\n"}, "Add g", author=AIDER)
    builder.commit({"b.py": "x = 2\n"}, f"Set x\n\n{CURSOR}\n{CLAUDE}")
    builder.branch("side")
    builder.commit({"c.py": "y = 1\n"}, "Add y", author=DEVIN)
    builder.switch("main")
    builder.commit({"b.py": "x = 3\n"}, "Cursor and Claude are only mentioned\n\nCo-authored-by: Bo <bo@example.org>")
    builder.merge("side", f"Merge side\n\n{CURSOR}")
    two = RepositoryBuilder(folder / "two")
    devin = "158243242+devin-ai-integration[bot]@users.noreply.github.com"
    two.commit({".mailmap": f"Ada Example <ada@example.org> <{devin}>\n", "t.txt": "one\n"}, "Start")
    two.commit({"t.txt": "one\ntwo\n"}, "Go on", author=DEVIN)
    return {"one": builder, "two": two}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def repositories(folder: Path) -> dict[str, RepositoryBuilder]:
    return build(folder)


@pytest.fixture(scope="module")
def backends(
    folder: Path,
    repositories: dict[str, RepositoryBuilder],
    shut_environment: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, sl.Client]]:
    """The same repositories in this process, by URL, of a cluster, and of two services searched as one."""
    del repositories  # they are in the folder
    shards = tmp_path_factory.mktemp("agent-shards")
    assert not build_generation(Catalog.open(folder), ShardStorage(str(shards))).failures
    with ExitStack() as stack:
        parts = {name: stack.enter_context(sl.open(folder / name)) for name in ("one", "two")}
        _, address = stack.enter_context(
            serving(str(folder), home=shut_environment / "agents", token=TOKEN, is_forked=True)
        )
        cell = Cell(str(shards), tmp_path_factory.mktemp("agent-caches"), ("w1",))
        stack.callback(cell.close)
        clustered = stack.enter_context(sl.open_cluster(cell.address, str(shards)))
        wait_until(lambda: len(clustered.cluster.workers) == 1, "the worker joins")
        yield {
            "embedded": stack.enter_context(sl.open(folder)),
            "remote": stack.enter_context(sl.connect(address, TOKEN)),
            "clustered": clustered,
            "federated": stack.enter_context(sl.federate(parts)),
        }


def agent_of(record: str) -> str:
    """What the message and the author of a commit name, by the few texts that these repositories have."""
    _, author, email, trailers = record.split("\0")
    agents = ["Aider"] if author.endswith(" (aider)") else ["Devin"] if "+devin-ai-integration[bot]@" in email else []
    texts = {CLAUDE: "Claude Code", CURSOR: "Cursor"}
    agents += [texts[line] for line in trailers.splitlines() if line in texts]
    return ", ".join(agents)


def of_git(repository: RepositoryBuilder, *arguments: str) -> dict[str, str]:
    """The assistants of commits as git's own reading of trailers has them."""
    form = "--format=%H%x00%an%x00%ae%x00%(trailers:only,unfold)%x01"
    records = repository.git("log", form, *arguments).split("\x01")
    return {record.strip()[:40]: agent_of(record.strip("\n")) for record in records if record.strip()}


@pytest.fixture(scope="module")
def agents(repositories: dict[str, RepositoryBuilder]) -> dict[str, str]:
    """The assistants of every commit."""
    results = {commit: agent for builder in repositories.values() for commit, agent in of_git(builder).items()}
    assert Counter(results.values()) == {
        "": 3, "Claude Code": 1, "Aider": 1, "Cursor, Claude Code": 1, "Devin": 2, "Cursor": 1,
    }  # fmt: skip
    return results


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("commit_search", {"repos": []}),
    ("diff_search", {"pattern": "return", "repos": ["one"]}),
    ("get_contributor_repos", {"authors": "example"}),
    ("blame", {"repo": "one", "path": "a.py"}),
    ("last_changes", {"repo": "one", "paths": ["a.py", "b.py", "c.py"]}),
    ("history_of", {"repo": "one", "text": "return"}),
    ("history_of", {"repo": "one", "path": "a.py", "start_line": 1, "end_line": 2}),
    ("contributors", {}),
    ("churn", {"by": ["path", "repository"]}),
    ("hotspots", {}),
    ("pickaxe", {"pattern": "return", "by": ["author"]}),
    ("ownership", {"repo": "one", "by": "file"}),
    ("survival", {"repo": "one"}),
    ("identities", {}),
]
QUERIES = ("type:commit count:all", "type:diff return count:all", "type:commit cursor count:all")


@pytest.mark.parametrize("backend", ["remote", "clustered", "federated"])
def test_all_backends_say_the_same(backends: dict[str, sl.Client], backend: str) -> None:
    for name, arguments in CALLS:
        ours, theirs = (getattr(backends[of], name)(**arguments) for of in ("embedded", backend))
        columns = [column for column in ours.columns if column.startswith("agent") or column == "reviewers"]
        assert columns, name
        keys = [column for column in ("repository", "commit", "path", "author_email", "email", "name", "side",
                                      "line_number") if column in ours.columns]  # fmt: skip
        local, remote = (
            frame[[*keys, *columns]].astype(dict.fromkeys(keys, "str")).sort_values(keys).reset_index(drop=True)
            for frame in (ours, theirs)
        )
        assert_frame_equal(local, remote, check_categorical=False, check_dtype=False, obj=name)


@pytest.mark.parametrize("backend", ["embedded", "remote", "clustered", "federated"])
def test_results_of_searches_name_the_assistants_that_git_reads(
    backends: dict[str, sl.Client], agents: dict[str, str], backend: str
) -> None:
    for query in QUERIES:
        matches = backends[backend].search(query, progress=False).matches
        assert (matches["agent"] != "").any(), query
        assert [agents[commit] for commit in matches["commit"]] == matches["agent"].tolist()
    assert backends[backend].search("return", progress=False).matches["agent"].isna().all()


def test_commits_and_lines_name_the_assistants_that_git_reads(
    backends: dict[str, sl.Client], agents: dict[str, str]
) -> None:
    code = backends["embedded"]
    commits = code.commit_search([])
    assert dict(zip(commits["commit"], commits["agent"], strict=True)) == agents
    for frame in (
        code.diff_search("return", ["one"]),
        code.blame("one", "a.py"),
        code.last_changes("one", ["a.py", "b.py", "c.py"]),
        code.history_of("one", text="return"),
        code.history_of("one", path="a.py", start_line=1, end_line=2),
    ):
        assert (frame["agent"] != "").any()
        assert [agents[commit] for commit in frame["commit"]] == frame["agent"].tolist()
    by_subject: dict[str, dict[str, Any]] = {row["subject"]: dict(row) for _, row in commits.iterrows()}
    assert list(by_subject["Fix f"]["agent_traces"]) == [f"trailer: {CLAUDE}"]
    assert list(by_subject["Fix f"]["reviewers"]) == [BO]
    # The mailmap makes a person of the account; the trace is what was written.
    assert by_subject["Go on"]["author"] == "Ada Example"
    assert list(by_subject["Go on"]["agent_traces"]) == [f"author: {DEVIN}"]


def test_counts_are_those_of_their_commits(
    backends: dict[str, sl.Client], agents: dict[str, str], repositories: dict[str, RepositoryBuilder]
) -> None:
    code = backends["embedded"]
    # The mailmap of `two` credits a person, whose commits would stand behind the account's row, too.
    for frame in (
        code.contributors(["one"]),
        code.churn(by=["path", "repository"]),
        code.hotspots(),
        code.pickaxe("return", by=["author"]),
        code.get_contributor_repos("example"),
    ):
        assert frame["agent_commits"].sum() > 0
        for row in range(len(frame)):
            behind = code.drill_down(frame, row)
            agent_count = sum(agents[commit] != "" for commit in behind["commit"])
            assert frame["agent_commits"][row] == agent_count
    people = code.contributors()
    assert people["agent_commits"].sum() == sum(agent != "" for agent in agents.values())
    assert any("lower bound" in notice for notice in people.attrs["notices"])
    git_files = repositories["one"].git("ls-files").split()
    lines = sum(
        agents[line[:40]] != ""
        for name in git_files
        for line in repositories["one"].git("blame", "-l", "-s", "--root", "HEAD", "--", name).splitlines()
    )
    assert code.ownership("one")["agent_lines"].sum() == code.survival("one")["agent_lines"].sum() == lines
    # The first row is the whole repository, the others are its parts; lines of bots are left out.
    factor, owners = code.bus_factor("one"), code.ownership("one")
    of_people = owners.loc[~owners["bot"].astype("bool"), "agent_lines"].sum()
    assert factor["agent_lines"].iloc[0] == factor["agent_lines"].iloc[1:].sum() == of_people > 0
    assert any("lower bound" in notice for notice in factor.attrs["notices"])


def test_identities_say_which_belong_to_assistants(backends: dict[str, sl.Client]) -> None:
    people = backends["embedded"].identities()
    messages = {f"{row['name']} <{row['email']}>": row["agent"] for _, row in people.iterrows() if row["agent"]}
    assert messages == {
        AIDER: "Aider",
        DEVIN: "Devin",
        CLAUDE.partition(": ")[2]: "Claude Code",
        CURSOR.partition(": ")[2]: "Cursor",
    }

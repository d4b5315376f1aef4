"""Trailers and mailmaps against git, bots by their rule, and suggestions that change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.batches.commit_messages import co_authors, trailers_of
from sourcelight.core.batches.persons import is_bot
from sourcelight.engines.history.people import IdentityUsage, check_mailmap, parse_mailmap, suggest_identities
from sourcelight.testing import RepositoryBuilder

_LINES = st.sampled_from(
    ["", " ", "title", "some text", "Signed-off-by: Ada <ada@x>", "Co-authored-by: Bo <bo@x>", "co-authored-by:Bo <b>",
     "  continued", "\tgoes on", "(cherry picked from commit abc)", "Key : value", "no key", "http://address", "a b: c",
     "# comment", "-: dash", "Empty:", "Fixes: #1", "ü: no"]
)  # fmt: skip


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path_factory.mktemp("identity") / "repo")
    builder.commit({".mailmap": "Ada Lovelace <ada@new> <ada@old>\nBo Boson <bo@x> bobo <BO@shared>\n"})
    return builder


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(_LINES, min_size=1, max_size=12), min_size=30, max_size=30))
def test_trailers_are_those_that_git_reads(repo: RepositoryBuilder, messages: list[list[str]]) -> None:
    texts = [f"number {n}\n\n" + "\n".join(lines) + "\n" for n, lines in enumerate(messages)]
    result = [
        f"commit refs/heads/t{n}\ncommitter x <x> 1700000000 +0000\ndata {len(text.encode())}\n{text}\n"
        for n, text in enumerate(texts)
    ]
    repo.git("fast-import", "--quiet", "--force", stdin="".join(result).encode())
    names = [f"t{n}" for n in range(len(texts))]
    read = repo.git("log", "--no-walk=unsorted", "--format=%x01%(trailers:only,unfold)", *names).split("\x01")[1:]
    for text, trailers in zip(texts, read, strict=True):
        ours = [f"{trailer.token}: {trailer.value}".strip() for trailer in trailers_of(text)]
        assert ours == [line.strip() for line in trailers.splitlines() if line.strip()], text


def test_co_authors_are_read_once_each() -> None:
    message = "Add\n\nText.\n\nCo-authored-by: Bo <bo@x>\nCO-AUTHORED-BY: Cy Q <cy@x>\nCo-authored-by: Bo <bo@x>\n"
    assert co_authors(message) == [("Bo", "bo@x"), ("Cy Q", "cy@x")]
    assert co_authors("Co-authored-by: Bo <bo@x>") == []
    assert co_authors("Add\n\nCo-authored-by: nobody in particular\n") == []


def test_the_mailmap_of_head_is_applied_as_git_does(repo: RepositoryBuilder) -> None:
    people = [("ada", "ADA@OLD"), ("bobo", "bo@shared"), ("cy", "bo@shared"), ("odd <x>", "y"), ("", "e@x")]
    mapped = check_mailmap(str(repo.path / ".git"), people)
    assert mapped == [
        ("Ada Lovelace", "ada@new"),
        ("Bo Boson", "bo@x"),
        ("cy", "bo@shared"),
        ("odd <x>", "y"),
        ("", "e@x"),
    ]
    assert check_mailmap(str(repo.path / ".git"), []) == []


def test_lines_that_a_reader_accepted_mean_what_they_mean_to_git(repo: RepositoryBuilder) -> None:
    lines = "# who is who\nAda Lovelace <ada@new> <ada@old>\nBo Boson <bo@x> bobo <BO@shared>\n\nCy <cy@x> # remark\n"
    mailmap = parse_mailmap(lines)
    people = [("ada", "ADA@OLD"), ("bobo", "bo@shared"), ("cy", "bo@shared"), ("c", "CY@x"), ("d", "d@x")]
    repo.write({".mailmap": lines})
    repo.commit(None, "mailmap")
    assert [mailmap.map(*person) for person in people] == check_mailmap(str(repo.path / ".git"), people)
    with pytest.raises(ValueError, match="invalid mailmap line"):
        parse_mailmap("who?")


@pytest.mark.parametrize(
    ("name", "email", "expected"),
    [
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com", True),
        ("renovate-bot", "bot@renovateapp.com", True),
        ("k8s-ci-robot", "k8s@x", True),
        ("Miss Islington (bot)", "31488909+miss-islington@users.noreply.github.com", True),
        ("pre-commit-ci", "x@x", True),
        ("GitHub Actions", "x@x", False),
        ("github-actions", "x@x", True),
        ("prow", "ci-bot@x", True),
        ("asottileBot", "x@x", True),
        ("Jane Abbot", "abbot@x", False),
        ("Jane Talbot", "jane.talbot@x", False),
        ("Robotics Team", "robotics@x", False),
        ("Travis Jones", "travis.jones@x", False),
        ("Marvin Jones", "clumsyRobot@users.noreply.github.com", False),
        ("clumsyRobot", "1+clumsyRobot@users.noreply.github.com", True),
        ("Publisher of Builds", "build-bot@users.noreply.github.com", True),
        ("Copilot", "198982749+Copilot@users.noreply.github.com", True),
        ("Copilot", "7+copilot@users.noreply.github.com", False),
        ("Claude", "noreply@anthropic.com", True),
        ("Claude Monet", "claude@x", False),
        # A person commits with aider's help under the person's own address.
        ("Ada Lovelace (aider)", "ada@x", False),
    ],
)
def test_bots_are_told_by_the_rule(name: str, email: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert is_bot(name, email) is expected


def test_suggestions_group_what_may_be_one_person() -> None:
    usages = [
        IdentityUsage("Ada Lovelace", "ada@new", 50),
        IdentityUsage("Lovelace, Adá", "countess@x", 5),
        IdentityUsage("ada", "ADA@new", 3),
        IdentityUsage("adal", "123+countess@users.noreply.github.com", 2),
        IdentityUsage("Bo Boson", "info@x", 9),
        IdentityUsage("Cy Cobol", "info@x", 9),
        IdentityUsage("Michael A", "michael@x", 4),
        IdentityUsage("Michael B", "michael@y", 4),
        IdentityUsage("ci[bot]", "ada@new", 7),
    ]
    result = suggest_identities(usages)
    groups: dict[int, set[str]] = {}
    for suggestion in result:
        groups.setdefault(suggestion.group, set()).add(suggestion.usage.email)
        assert suggestion.reason
    assert groups == {
        0: {"ada@new", "countess@x", "ADA@new", "123+countess@users.noreply.github.com"},
        1: {"michael@x", "michael@y"},
    }
    accepted = parse_mailmap(suggestion.mailmap_line for suggestion in result if suggestion.group == 0)
    assert accepted.map("ada", "ada@new") == ("Ada Lovelace", "ada@new")
    assert accepted.map("Lovelace, Adá", "countess@x") == ("Ada Lovelace", "ada@new")


def test_a_mailmap_of_head_is_needed_for_nothing(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({"a": "1\n"})
    assert check_mailmap(str(repo.path / ".git"), [("Zoë", "zoe@x")]) == [("Zoë", "zoe@x")]

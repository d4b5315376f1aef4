"""Who counts as one person: identities with one address, unless the reader tells them apart as git shortlog does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from git_output import git
from sourcelight.testing import RepositoryBuilder

MAPPED = "Cy Old <cy@old.example.org>"
SPELLINGS = ("Bo Boson <bo@example.org>", "bo <Bo@Example.org>")
NAMELESS = ("Root <>", "Admin <>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repositories: one person under several names, one that the mailmap joins, two without an address."""
    root = tmp_path_factory.mktemp("people")
    builder = RepositoryBuilder(root / "one")
    builder.commit(
        {"a.py": "1\n", "b.py": "1\n", ".mailmap": "Cy New <cy@example.org> <cy@old.example.org>\n"}, "begin"
    )
    builder.commit({"a.py": "1\n2\n"}, "two", author=SPELLINGS[1])
    builder.commit({"a.py": "1\n2\n3\n"}, f"three\n\nCo-authored-by: {SPELLINGS[1]}", author=SPELLINGS[0])
    builder.commit({"a.py": "1\n2\n3\n4\n"}, "four", author=SPELLINGS[0])
    builder.commit({"b.py": "2\n"}, "map", author=MAPPED)
    for person in NAMELESS:
        builder.commit({"c.py": person}, f"by {person}\n\nCo-authored-by: Di Helper <di@example.org>", author=person)
    two = RepositoryBuilder(root / "two")
    for number in range(5):
        two.commit({"a.py": f"{number}\n"}, f"change {number}", author="Bob Boson <BO@example.org>")
    return root


def people(frame: Any) -> dict[str, int]:
    wrote = frame[frame["commits"] > 0]
    return dict(
        zip(wrote["author"].astype(str) + " <" + wrote["author_email"].astype(str) + ">", wrote["commits"], strict=True)
    )


def test_addresses_are_people_whatever_their_case_and_the_names_beside_them(code: sl.Client, folder: Path) -> None:
    counts = people(code.contributors("one"))
    addresses = Counter(line.casefold() for line in git(folder / "one", "log", "--format=%aE").splitlines())
    assert addresses.pop("") == 2
    assert counts.pop("Root <>") == counts.pop("Admin <>") == 1
    assert {person.rpartition("<")[2].strip(">").casefold(): count for person, count in counts.items()} == addresses
    assert counts["Bo Boson <bo@example.org>"] == 3


def test_without_joining_people_are_those_of_shortlog(code: sl.Client, folder: Path) -> None:
    frame = code.contributors("one", join_addresses=False)
    rows = (line.split("\t") for line in git(folder / "one", "shortlog", "-sne", "HEAD").splitlines())
    assert people(frame) == {person: int(count) for count, person in rows}
    assert any("join_addresses is False" in notice for notice in frame.attrs["notices"])


def test_the_answer_says_who_was_joined_and_each_leads_to_all_commits(code: sl.Client) -> None:
    frame = code.contributors("one")
    assert any(notice.startswith("1 person writes under several names") for notice in frame.attrs["notices"])
    assert frame.attrs["aliases"]["Bo Boson <bo@example.org>"] == list(SPELLINGS)
    row = frame.index[frame["author"] == "Bo Boson"][0]
    assert len(code.drill_down(frame, row)) == 3


def test_a_joined_person_counts_a_file_and_a_commit_once(code: sl.Client) -> None:
    row = code.contributors("one").set_index("author").loc["Bo Boson"]
    assert (row["files"], row["co_authored"]) == (1, 0)
    by_address = code.contributors("one", join_addresses=False).set_index("author")
    assert (by_address.loc["bo", "files"], by_address.loc["bo", "co_authored"]) == (1, 1)


def test_a_person_bears_the_name_with_the_most_commits_of_all_repositories(code: sl.Client) -> None:
    count = people(code.contributors())
    assert count["Bob Boson <BO@example.org>"] == 8
    by_year = code.contributors(by=["repository", "month"])
    assert set(by_year.loc[by_year["author_email"].str.casefold() == "bo@example.org", "author"]) == {"Bob Boson"}


def test_every_analysis_of_people_joins_them_alike(code: sl.Client) -> None:
    merged = {"author": "Bo Boson", "author_email": "bo@example.org"}
    for frame in (code.ownership("one"), code.churn("one", by="author"), code.pickaxe("2", "one", by="author")):
        rows = frame[frame["author_email"].str.casefold() == "bo@example.org"]
        assert rows[["author", "author_email"]].to_dict("records") == [merged]
    owners = code.ownership("one", join_addresses=False)
    assert {"bo", "Bo Boson"} <= set(owners["author"])
    assert code.hotspots("one").set_index("path").loc["a.py", "authors"] == 2
    assert code.hotspots("one", join_addresses=False).set_index("path").loc["a.py", "authors"] == 3
    assert code.churn("one", by="path").set_index("path").loc["a.py", "authors"] == 2


def test_accepted_lines_of_a_mailmap_come_before_joining(code: sl.Client) -> None:
    count = people(code.contributors("one", mailmap="Ada Example <ada@example.org> bo <bo@example.org>"))
    assert count["Ada Example <ada@example.org>"] == 2
    assert count["Bo Boson <bo@example.org>"] == 2


def test_nothing_is_suggested_that_is_joined_anyway(code: sl.Client) -> None:
    assert "bo" not in set(code.identity_suggestions("one")["name"])
    assert "bo" in set(code.identity_suggestions("one", join_addresses=False)["name"])


def test_services_of_a_federation_count_a_person_once_under_one_name(folder: Path, tmp_path: Path) -> None:
    with (
        sl.open(folder / "one", index_dir=tmp_path / "one", index_workers=1, background_index=False) as first,
        sl.open(folder / "two", index_dir=tmp_path / "two", index_workers=1, background_index=False) as second,
        sl.federate({"one": first, "two": second}) as code,
    ):
        frame = code.contributors()
        rows = frame[frame["author_email"].str.casefold() == "bo@example.org"]
        assert rows[["author", "commits"]].to_numpy().tolist() == [["Bob Boson", 8]]
        assert len(code.drill_down(frame, int(rows.index[0]))) == 8
        by_address = code.contributors(join_addresses=False)
        assert (by_address["author_email"].str.casefold() == "bo@example.org").sum() == 3
        by_author = code.churn(by="author")
        assert (by_author["author_email"].str.casefold() == "bo@example.org").sum() == 1

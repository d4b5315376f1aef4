"""Organizations by the domains of addresses: public providers and hidden addresses are none."""

from __future__ import annotations

import pandas as pd
import pytest

from sourcelight.lab.reports.sections.organizations import (
    HIDDEN,
    NONE,
    PERSONAL,
    PUBLIC,
    organization_of,
    organizations_section,
    with_organizations,
)


@pytest.mark.parametrize(
    ("address", "organization"),
    [
        ("ada@corp.example.com", "corp.example.com"),
        ("ada@CORP.example.com.", "corp.example.com"),
        ("ada@us.ibm.com", "ibm.com"),
        ("ada@gmail.com", PUBLIC),
        ("ada@yahoo.co.uk", PUBLIC),
        ("ada@vip.qq.com", PUBLIC),
        ("1+ada@users.noreply.github.com", HIDDEN),
        ("noreply@github.com", HIDDEN),
        ("ada@github.com", "github.com"),
        ("ada@noreply.codeberg.org", HIDDEN),
        ("ada", NONE),
        ("", NONE),
        ("ada@localhost", NONE),
        ("ada@laptop.(none)", NONE),
        ("ada@<script>.com", NONE),
        ("ada@" + "a." * 200 + "com", NONE),
    ],
)
def test_an_address_has_an_organization(address: str, organization: str) -> None:
    assert organization_of(address, {"ibm.com"}) == organization


def test_each_commit_of_a_person_is_in_one_row() -> None:
    commits = pd.DataFrame(
        {
            "commit": list("abcdef"),
            "author": list("AABCDX"),
            "person": ["A", "A", "B", "C", "D", "bot"],
            "author_email": ["a@x.org", "a@lab.x.org", "b@x.org", "c@gmail.com", "d", "bot@x.org"],
            "bot": [False] * 5 + [True],
            "additions": pd.array([1, 2, 3, 4, 5, 6], "Int64"),
            "deletions": pd.array([0] * 6, "Int64"),
        }
    )
    section = organizations_section(with_organizations(commits))
    rows = section.tables[0].frame[["organization", "people", "commits", "additions"]].to_numpy().tolist()
    assert rows == [["x.org", 2, 3, 6], [NONE, 1, 1, 5], [PUBLIC, 1, 1, 4]]
    assert section.tables[0].frame["share"].sum() == pytest.approx(1)
    assert section.text.startswith("1 domain of organizations has 60% of the commits")
    assert section.text.endswith(f"The last 2 rows are for addresses of no organization: {NONE} and {PUBLIC}.")


def test_the_sentence_and_the_rows_of_the_table_count_the_same_domains() -> None:
    addresses = [f"a@{name}.example" for name in ("one", "two", "three")] + ["b@gmail.com"]
    for count in range(1, len(addresses) + 1):
        some_addresses = addresses[:count]
        commits = pd.DataFrame(
            {
                "commit": some_addresses,
                "author": "A",
                "person": some_addresses,
                "author_email": some_addresses,
                "bot": [False] * count,
            }
        )
        section = organizations_section(with_organizations(commits.assign(additions=1, deletions=0)))
        domain_count = int(section.text.split()[0])
        extra_rows = 1 if "The last row of the table is" in section.text else 0
        assert domain_count == len({address.partition("@")[2] for address in some_addresses} - {"gmail.com"})
        assert len(section.tables[0].frame) == domain_count + extra_rows


@pytest.mark.parametrize(
    ("author", "address", "organization"),
    [
        ("Ada Lovelace", "ada@lovelace.dev", PERSONAL),
        ("Ada Lovelace", "x@ada-lovelace.example.org", PERSONAL),
        ("Ada Lovelace", "al@adal.org", PERSONAL),
        ("Ada Lovelace", "me@engine.example", PERSONAL),
        ("Ada Lovelace", "al@engine.example", "engine.example"),
        ("Al", "al@alphabet.example", "alphabet.example"),
    ],
)
def test_a_domain_of_one_person_may_be_personal(author: str, address: str, organization: str) -> None:
    def domains(persons: list[str]) -> list[str]:
        count = len(persons)
        frame = pd.DataFrame({"author": [author] * count, "author_email": [address] * count, "person": persons})
        return list(with_organizations(frame)["organization"])

    assert domains(["one", "one"]) == [organization] * 2
    # A domain of two people is no person's own, whatever it is called.
    assert PERSONAL not in domains(["one", "two"])

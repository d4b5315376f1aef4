"""The pages on administration and security say what is tested and what is there."""

from __future__ import annotations

import re
from pathlib import Path

from server.oauth.test_credentials import TABLE
from sourcelight.cli.admin_commands import admin_app
from sourcelight.repos.state import PERMISSIONS, SCOPES

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_the_table_of_credentials_is_the_tested_one() -> None:
    page = (DOCS / "security.md").read_text(encoding="utf-8")
    section = page.split("## Every credential at every endpoint")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|`]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", section, re.MULTILINE)
    assert {name: tuple(int(item) for item in row) for name, *row in rows} == {
        name: tuple(answer if isinstance(answer, int) else answer[0] for answer in answers)
        for name, answers in TABLE.items()
    }


def test_every_admin_command_is_documented() -> None:
    page = (DOCS / "administration.md").read_text(encoding="utf-8")
    for group in admin_app.registered_groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            assert f"sourcelight admin {group.name} {command.name}" in page


def test_permissions_and_scopes_are_documented() -> None:
    page = (DOCS / "administration.md").read_text(encoding="utf-8")
    for name in (*PERMISSIONS, *SCOPES):
        assert name in page

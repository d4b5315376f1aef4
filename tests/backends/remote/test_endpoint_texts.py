"""What is hidden of credentials in texts of a service."""

from __future__ import annotations

import pytest

from sourcelight.backends.remote.endpoint import Secret, hide


@pytest.mark.parametrize(
    ("token", "text", "hidden"),
    [
        ("slp_0123456789", "bad slp_0123456789, xslp_0123456789x", "bad ***, x***x"),
        ("t", "2 late: token t of the test", "2 late: token *** of the test"),
    ],
)
def test_a_short_token_is_hidden_where_it_stands_alone(token: str, text: str, hidden: str) -> None:
    """Within words, a token of one letter made every message unreadable."""
    assert hide(text, Secret(token)) == hidden

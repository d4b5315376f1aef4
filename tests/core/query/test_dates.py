"""Every form of date, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.query.dates import ACCEPTED, parse_date

NOW = datetime(2024, 3, 31, 14, 30, 15, tzinfo=UTC)  # a Sunday

ROWS = {
    "1632782809": "2021-09-27T22:46:49",
    "1632782809 +0100": "2021-09-27T21:46:49",
    "1632782809 -0230": "2021-09-28T01:16:49",
    "2024-01-02": "2024-01-02T00:00:00",
    "2005-04-07T22:13:13": "2005-04-07T22:13:13",
    "2005-04-07 22:13:13": "2005-04-07T22:13:13",
    "2005-04-07T22:13:13Z": "2005-04-07T22:13:13",
    "2005-04-07T22:13:13+07:00": "2005-04-07T15:13:13",
    "Thu, 07 Apr 2005 22:13:13 +0200": "2005-04-07T20:13:13",
    "Fri, 08 Apr 2005 22:13:13 +0200": "2005-04-08T20:13:13",
    "2020.06.28": "2020-06-28T00:00:00",
    "6/28/2020": "2020-06-28T00:00:00",
    "28.06.2020": "2020-06-28T00:00:00",
    "1.2.2020": "2020-02-01T00:00:00",
    "june 25 2017": "2017-06-25T00:00:00",
    "Jun 25, 2017": "2017-06-25T00:00:00",
    "1 november 2019": "2019-11-01T00:00:00",
    "since 1 NOV 2019 or so": "2019-11-01T00:00:00",
    "november 1st 2019": "2019-11-01T00:00:00",
    "today": "2024-03-31T00:00:00",
    "Yesterday": "2024-03-30T00:00:00",
    "yesterday at 10am": "2024-03-30T10:00:00",
    "yesterday 22:45": "2024-03-30T22:45:00",
    "5 days ago": "2024-03-26T00:00:00",
    "one day ago": "2024-03-30T00:00:00",
    "2 weeks ago": "2024-03-17T00:00:00",
    "a week ago": "2024-03-24T00:00:00",
    "1 month ago": "2024-02-29T00:00:00",
    "13 months ago": "2023-02-28T00:00:00",
    "2 years ago": "2022-03-31T00:00:00",
    "20 minutes ago": "2024-03-31T14:10:15",
    "20 hours ago": "2024-03-30T18:30:15",
    "last thursday": "2024-03-28T00:00:00",
    "thursday": "2024-03-28T00:00:00",
    "past sunday": "2024-03-24T00:00:00",
    "last month": "2024-02-29T00:00:00",
    "previous year": "2023-03-31T00:00:00",
    "last week": "2024-03-24T00:00:00",
    "january": "2024-01-01T00:00:00",
    "last march": "2023-03-01T00:00:00",
    "december": "2023-12-01T00:00:00",
    "last friday at 10:05pm": "2024-03-29T22:05:00",
    "3pm": "2024-03-30T15:00:00",
    "12am": "2024-03-31T00:00:00",
    "12pm": "2024-03-31T12:00:00",
    "3:00": "2024-03-31T03:00:00",
    "10:05:22pm": "2024-03-30T22:05:22",
}
REFUSED = [
    "", " ", "now", "nonsense", "2019.11.1", "2024-13-01", "2024-02-30", "13/13/2020", "31.02.2020", "week", "1234",
    "25:00", "13pm", "99999999999999999999", "9999 years ago", "999999 days ago", "0 days", "3", "yesterday nonsense",
    "Thu, 99 Apr 2005 22:13:13 +0200", "february 30 2020", "5 days", "x" * 10_000, "1" * 5000,
    "\u0662\u0660\u0662\u0664-01-01",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ROWS.items())
def test_a_date_is_an_instant_in_utc(text: str, expected: str) -> None:
    result = parse_date(text, NOW)
    assert result == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert result.tzinfo is UTC
    assert parse_date(f"  {text.upper()} ", NOW.astimezone(timezone(timedelta(hours=9)))) == result


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_what_is_no_date_names_the_accepted_forms(text: str) -> None:
    with pytest.raises(ValueError, match="invalid date format") as caught:
        parse_date(text, NOW)
    assert ACCEPTED in str(caught.value)


@settings(deadline=None)
@given(st.text(st.sampled_from("0123456789 :./-+TZagopmdyshourlntwek"), max_size=25))
def test_any_text_is_a_date_or_refused(text: str) -> None:
    message = "invalid date format"
    try:
        assert parse_date(text, NOW).tzinfo is UTC
    except ValueError as error:
        message = str(error)
    assert "invalid date format" in message

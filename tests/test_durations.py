"""Durations in options and configuration, and as text in tables."""

from datetime import datetime, timedelta

import pytest

from lineage_merge.model.times import (
    FORM,
    duration_text,
    epoch_ms,
    parse_duration,
    parse_time,
    utc_moment,
    utc_time,
)
from lineage_merge.orchestration.configuration import CONFIGURATION

MINUTE = 60_000
HOUR = 60 * MINUTE
NOW = 1795394954855


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("1d", 24),
        ("36h", 36),
        ("90m", 1.5),
        ("1.5d", 36),
        ("2w", 336),
        ("1y", 8760),
        (" 2 d ", 48),
        ("36500d", 876_000),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, hours: float) -> None:
    assert parse_duration(text) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "d",
        "1",
        "-1d",
        "1s",
        "1d12h",
        "0h",
        "36501d",
        "999999999d",
        "999999999y",
        "9" * 400 + "d",
        "1e3d",
        "nan",
        "\u0661d",
    ],
)
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("now", NOW),
        ("0d", NOW),
        ("1.5h", NOW - 90 * MINUTE),
        ("2w", NOW - 336 * HOUR),
        ("2026-11-23T00:49:14.855", 1795394954855),
        ("2026-11-23", 1795392000000),
    ],
)
def test_a_time_is_now_an_age_or_a_date(text: str, milliseconds: int) -> None:
    assert parse_time(text, NOW) == milliseconds


@pytest.mark.parametrize("text", ["", "yesterday", "-1d", "999999999y", "2026-11-31"])
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_time(text, NOW)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, ""),
        (-5, "0 min"),
        (59_999, "0 min"),
        (12 * MINUTE, "12 min"),
        (HOUR, "1 h"),
        (3 * HOUR + 5 * MINUTE + 59_000, "3 h 5 min"),
        (48 * HOUR + 59 * MINUTE, "2 d"),
        (66 * HOUR, "2 d 18 h"),
        (24_000 * HOUR + HOUR, "1,000 d 1 h"),
    ],
)
def test_durations_as_text_have_two_units(milliseconds: int | None, text: str) -> None:
    assert duration_text(milliseconds) == text


def test_times_are_in_utc() -> None:
    assert utc_time(1795394954855) == "2026-11-23 00:49 UTC"
    assert utc_time(1795394954855, seconds=True) == "2026-11-23 00:49:14 UTC"
    assert utc_time(None) == ""


def test_a_number_that_is_no_date_is_shown_as_it_is() -> None:
    # Nanoseconds, taken for milliseconds.
    assert utc_time(1795394954855000000, seconds=True) == "1795394954855000000 ms"
    assert utc_time(-(10**15)) == "-1000000000000000 ms"
    assert utc_moment(9 * 10**18) is None


@pytest.mark.parametrize("text", ["2026-11-23T00:49:14.855", "2026-11-23T02:49:14.855999+02:00"])
def test_times_without_a_zone_are_utc_and_milliseconds_are_cut(text: str) -> None:
    assert epoch_ms(datetime.fromisoformat(text)) == 1795394954855


def test_the_schema_of_the_configuration_names_every_unit_of_a_maximum_age() -> None:
    (policies,) = (key.schema for key in CONFIGURATION.settable if key.dotted == "policies")
    description = policies["items"]["properties"]["must_be_updated_within"]["description"]

    assert description.startswith(f"maximum age of each dataset, in {FORM}; ")

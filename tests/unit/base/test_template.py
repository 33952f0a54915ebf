"""Templates: keys in braces, and formats that are the same wherever a file is made."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from tapveil.base.template import Part, Template, day_in, day_text, moment_text, time_text


@pytest.mark.parametrize("text", ["{", "{Date}", "{date", "{date}}", "{}", "{date:%H{x}}"])
def test_braces_that_hold_no_key_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="braces that hold no key"):
        Template(text)


def test_a_letter_that_is_no_format_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a format of days or times"):
        Template("{date:%Z}")


def test_a_template_is_filled_part_by_part() -> None:
    template = Template("{place.title} ({time:%-H} h, 100 %)")
    assert template.keys == ("place", "time")
    assert template.filled(lambda part: {"place": "Quay", "time": "7"}[part.key]) == "Quay (7 h, 100 %)"
    assert template.parts == (Part("place", "title"), Part("time", "", "%-H"))


def test_noon_and_midnight_are_twelve() -> None:
    assert [time_text(60 * hour, "%I %p") for hour in (0, 11, 12, 13, 24)] == [
        *("12 AM", "11 AM", "12 PM", "01 PM"),
        "12 AM",
    ]
    assert moment_text(datetime(2016, 2, 29, 12, 5), "%d.%m.%y %-I:%M %p") == "29.02.16 12:05 PM"


def test_a_format_of_times_has_no_meaning_for_a_day() -> None:
    with pytest.raises(ValueError, match="`%H` has no meaning here"):
        day_text(date(2016, 8, 8), "%H")
    assert day_text(date(2016, 8, 8), "%% %j %u %a %-d") == "% 221 1 Mon 8"


@pytest.mark.parametrize("label", ["weekday", "2016-JJA", "2016-13", "08:00"])
def test_a_label_that_is_no_period_is_no_day(label: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        day_in(label)

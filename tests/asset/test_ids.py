"""Ids are sorted by time, repeatable, and named by a part."""

from __future__ import annotations

import pytest

from ctxrepo.asset import ids


def fixed(count: int) -> bytes:
    return bytes(range(count))


def test_an_id_is_made_of_the_clock_and_the_randomness_it_is_given() -> None:
    """The same moment and bytes give the same id, which holds that moment."""
    made = ids.new_id(1_796_032_800.25, fixed)

    assert made == ids.new_id(1_796_032_800.25, fixed)
    assert ids.is_id(made)
    assert ids.time_of(made) == 1_796_032_800.25
    assert ids.new_id(1_796_032_800.5, fixed) > made


def test_a_thousand_ids_differ() -> None:
    """Without arguments clock and randomness are the system's."""
    assert len({ids.new_id() for _ in range(1000)}) == 1000


@pytest.mark.parametrize("text", ["", "01KB", "8" + "0" * 25, "01KB7Q2M3N4P5Q6R7S8T9V0W1U", "０" * 26, 7, None])
def test_what_is_no_ulid_is_none(text: object) -> None:
    """Too short, too late, a letter that ULIDs do not have, other digits, other types."""
    assert not ids.is_id(text)


def test_time_of_refuses_what_is_no_id() -> None:
    """There is no time in a file name."""
    with pytest.raises(ValueError, match="no ULID"):
        ids.time_of("note")


def test_an_id_is_named_whole_by_its_beginning_or_its_end() -> None:
    """Four characters or more, in any case."""
    whole = "01KB7Q2M3N4P5Q6R7S8T9V0W1X"

    assert ids.tail(whole) == "9v0w1x"
    assert all(ids.matches(whole, name) for name in (whole, whole.lower(), "01kb", "9v0w1x", "0W1X"))
    assert not any(ids.matches(whole, name) for name in ("", "w1x", "7q2m", "01KC"))


def test_a_whole_id_means_only_itself() -> None:
    """A part may mean several, the whole never does."""
    one, two = "01KB7Q2M3N4P5Q6R7S8T9V0W1X", "01KB7Q2M3N4P5Q6R7S8T9V0W2Z"

    assert ids.matching([one, two], "01kb") == [one, two]
    assert ids.matching([one, two], one.lower()) == [one]
    assert ids.matching([one, two], "0w2z") == [two]
    assert not ids.may_name_id("不是id")

"""When a turn was said, from the time that an agent noted with it: any ISO text, or nothing, or nonsense.

A clock that was never set counts as none, and one that runs ahead never dates a fact into the future.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from ctxrepo.asset import fields


def seconds(time: str) -> float | None:
    """Unix seconds; None when nobody noted it."""
    found = _moment(time)
    return found.timestamp() if found else None


def day(time: str) -> date | None:
    """The day on the clock of whoever noted it; None when nobody did."""
    found = _moment(time)
    return found.date() if found else None


def stamp(time: str, now: str) -> str:
    """The time as assets write it; now when nobody noted it or the clock was ahead."""
    found = _moment(time)
    return min(fields.stamp(found) if found else now, now)


def _moment(time: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(time.replace("Z", "+00:00"))
    except ValueError:
        return None
    if not 1970 <= found.year < 9000:  # a clock that was never set; the ends of the calendar overflow
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found

"""Ids of assets: ULIDs, sorted by time, made without asking anybody.

`ulid-transform` does the arithmetic (5 ms to import; python-ulid takes 55, with importlib.metadata and uuid).  Time
and randomness are arguments, so a test or a replayed import gives the same ids each run.

People see an id by its tail: the first characters are the time and look alike for everything of one day, the last are
random.  File names carry six of them, and a name that someone types may be the whole id, its beginning or its end.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable

from ulid_transform import bytes_to_ulid, ulid_to_timestamp

TAIL = 6  # characters of an id in file names and lists
SHORTEST_NAME = 4  # characters that may stand for an id

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.IGNORECASE | re.ASCII)
_PART = re.compile(r"[0-9A-HJKMNP-TV-Z]{4,26}", re.IGNORECASE | re.ASCII)


def new_id(now: float | None = None, random: Callable[[int], bytes] = os.urandom) -> str:
    """Makes an id.

    Args:
        now: seconds since 1970, UTC; None asks the clock.
        random: gives as many random bytes as it is asked for.
    """
    milliseconds = round((time.time() if now is None else now) * 1000)
    return bytes_to_ulid(milliseconds.to_bytes(6, "big") + random(10))


def is_id(text: object) -> bool:
    """Tells whether it is a ULID, in upper or lower case."""
    return isinstance(text, str) and _ULID.fullmatch(text) is not None


def time_of(asset_id: str) -> float:
    """Gives the time at which an id was made, in seconds since 1970.

    Raises:
        ValueError: not an id.
    """
    if not is_id(asset_id):
        raise ValueError(f"{asset_id!r} is no ULID.")
    return ulid_to_timestamp(asset_id.upper()) / 1000


def tail(asset_id: str) -> str:
    """Gives the end of an id as file names and lists show it."""
    return asset_id[-TAIL:].lower()


def may_name_id(name: str) -> bool:
    """Tells whether a name could be an id or a part of one, so that looking for it makes sense."""
    return _PART.fullmatch(name) is not None


def matches(asset_id: str, name: str) -> bool:
    """Tells whether a name means this id: the whole, its beginning or its end (four characters or more)."""
    if len(name) < SHORTEST_NAME:
        return False
    whole, part = asset_id.upper(), name.upper()
    return whole.startswith(part) or whole.endswith(part)


def matching(ids: Iterable[str], name: str) -> list[str]:
    """Gives the ids that a name may mean; one that is spelled out whole means only itself."""
    found = [asset_id for asset_id in ids if matches(asset_id, name)]
    exact = [asset_id for asset_id in found if asset_id.upper() == name.upper()]
    return exact or found

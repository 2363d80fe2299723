"""Time and chance of one call: the machine's, unless `CTXREPO_NOW` fixes the moment.

With `CTXREPO_NOW=2026-11-29T10:00:00Z` a command writes and weighs as if it ran at that moment, and the ids that it
makes follow from the moment and its own words.  So a transcript gives the same text in every run, down to ids and
commits; it is also how one asks what a prompt would recall next month.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random

from ctxrepo.asset.fields import Unfit, instant
from ctxrepo.errors import UsageFault

VARIABLE = "CTXREPO_NOW"


def clock() -> Callable[[], float]:
    """Gives Unix seconds.

    Raises:
        UsageFault: `CTXREPO_NOW` is no time.
    """
    fixed = os.environ.get(VARIABLE)
    if not fixed:
        return time.time
    try:
        moment = instant(fixed)
    except Unfit as fault:
        raise UsageFault(f"{VARIABLE} {fault}.", hint=f"unset {VARIABLE}") from None
    return lambda: moment


def calendar() -> Callable[[], datetime]:
    """Gives the same moment as a date-time, UTC. Raises as `clock` does."""
    seconds = clock()
    return lambda: datetime.fromtimestamp(seconds(), UTC)


def chance(arguments: Sequence[str]) -> Callable[[int], bytes]:
    """Gives random bytes; with a fixed moment those that follow from it and from the words of the call."""
    fixed = os.environ.get(VARIABLE)
    return Random("\0".join([fixed, *arguments])).randbytes if fixed else os.urandom  # noqa: S311 - ids, no secrets

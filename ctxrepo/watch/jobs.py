"""What is to be done for one store, and when: the watcher's patience, without clock, thread or file.

Few changes are reported almost at once, because somebody waits for the edit to be found. Many at a time are a
checkout, a pull or a folder that moved; they are worth waiting for, and then it is cheaper to look at everything.
Moments are seconds of a monotonic clock and come in as arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

SETTLE = 0.03  # seconds without an event after which a few changes are reported
SETTLE_MOST = 0.2  # seconds after the first event, whatever else happens
MANY = 500  # paths from which on a store is looked through as a whole
SETTLE_MANY = 0.3
SETTLE_MANY_MOST = 2.0
RETRY_FIRST, RETRY_LAST = 2.0, 300.0  # seconds until a failed job is tried again


@dataclass(slots=True)
class Job:
    """The state of one store: what was seen and is not yet worked off."""

    paths: set[str] = field(default_factory=set)
    everything: bool = True
    first: float = 0.0  # moment of the first event not yet worked off
    last: float = 0.0  # of the last one
    due: float = 0.0  # of the next full look that nothing calls for
    changed: float = 0.0  # of the last change after which the store has not been at rest, 0 = none
    caught_up: bool = False  # looked through once
    delay: float = 0.0  # seconds by which the last failure put off the next attempt
    not_before: float = 0.0  # the moment that gives

    def note(self, path: str | None, now: float) -> None:
        """Take an event: a path in the store, or None for "anything may have changed"."""
        if not self.paths and not self.everything:
            self.first = now
        self.last = now
        if path is None:
            self.everything = True
        elif len(self.paths) <= MANY:
            self.paths.add(path)

    def settled(self) -> float:
        """When its changes may be reported; infinite without any."""
        if not self.everything and not self.paths:
            return math.inf
        if self.everything or len(self.paths) > MANY:
            return min(self.last + SETTLE_MANY, self.first + SETTLE_MANY_MOST)
        return min(self.last + SETTLE, self.first + SETTLE_MOST)

    def rested(self, quiet: float) -> float:
        """When `quiet` seconds have passed without a change; infinite if there was none since the last rest."""
        return max(self.changed, self.last) + quiet if self.changed else math.inf

    def ready(self, quiet: float) -> float:
        """When there is something to do."""
        return max(self.not_before, min(self.due, self.settled(), self.rested(quiet)))

    def take(self, now: float) -> list[str] | None:
        """What to look at now, None = everything; it counts as worked off."""
        full = self.everything or len(self.paths) > MANY or now >= self.due
        paths = None if full else sorted(self.paths)
        self.paths.clear()
        self.everything = False
        return paths

    def failed(self, now: float) -> None:
        """Put off the next attempt, each time longer, and make it a full look."""
        self.delay = min(max(RETRY_FIRST, self.delay * 2), RETRY_LAST)
        self.not_before = now + self.delay
        self.everything = True

    def succeeded(self) -> None:
        """Nothing to put off."""
        self.delay = self.not_before = 0.0

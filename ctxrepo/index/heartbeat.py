"""Is a watcher keeping the indexes fresh? Every reader asks, the recall hook included, so it costs next to nothing.

A watcher holds `watch.lock` (flock) as long as it lives and touches `watch.json` every few seconds. Its word counts
only while both hold: the lock alone would trust a watcher that hangs or sleeps with the laptop, the file alone one
that was killed. The system drops the lock with the process, so there is nothing stale to clean up.

The module stands beside the reader and not in `watch`, which brings watchdog along.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

LOCK = "watch.lock"
BEAT = "watch.json"
BEAT_EVERY = 2.0  # seconds
BEAT_LIMIT = 15.0  # seconds after which a watcher that did not move is not trusted


def is_watching(folder: str) -> bool:
    """Whether a live watcher keeps the indexes of the workspace fresh whose machine-local state is `folder`."""
    try:
        if not -BEAT_LIMIT < time.time() - os.stat(os.path.join(folder, BEAT)).st_mtime < BEAT_LIMIT:
            return False
        handle = os.open(os.path.join(folder, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(handle)


def watcher(folder: str) -> dict[str, object] | None:
    """What the live watcher says of itself (`pid`, `since`, `mode`, `stores`), None if there is none."""
    if not is_watching(folder):
        return None
    try:
        with open(os.path.join(folder, BEAT), encoding="utf-8") as handle:
            found = json.load(handle)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None

"""What this machine knows of an agent's sessions: which turns are done with, and which uploaded a document.

A transcript grows and is handed over again and again.  A turn that was captured is not looked at twice: what it
said may have been corrected since, and would come back to life.  And a turn that put a document into a knowledge base
is left out, so that the document's text does not become private memory beside the shared original.

One small JSON file a session, `<local>/sessions/<session>.json`; files that nobody touched for `KEPT_DAYS` go.
Several processes may write at once, hence the short lock.  Losing a file costs a second look, no memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ctxrepo import disk
from ctxrepo.asset.fields import DAY

FOLDER = "sessions"
KEPT_DAYS = 60
MOST_TURNS = 5000
_LOCK = "lock"
_PATIENCE = 5.0  # seconds; then it is written all the same, since the worst is a second look


def mark_upload(local: str, session: str, *, at: float | None = None) -> None:
    """Notes that the turn which is under way in a session uploads a document.

    Args:
        local: `layout.local` of the workspace.
        session: the agent's session.
        at: Unix seconds; now when not given.
    """
    moment = time.time() if at is None else at
    _change(local, session, lambda known: known["uploads"].append(moment))


def has_upload(local: str, session: str, start: float | None = None, end: float | None = None) -> bool:
    """Whether a turn of the session uploaded a document.

    Args:
        start, end: Unix seconds between which the turn ran; without them any upload counts that no turn answered for.
    """
    uploads = _read(local, session)["uploads"]
    if start is None:
        return bool(uploads)
    return any(start <= at and (end is None or at < end) for at in uploads)


def take_upload(local: str, session: str) -> bool:
    """Whether the turn that just ended uploaded a document; the marks are used up.

    For a hook that hands a turn over for later: the next turn may upload before this one is captured.
    """
    if not has_upload(local, session):
        return False
    _change(local, session, lambda known: known.update(uploads=[]))
    return True


def done_turns(local: str, session: str) -> frozenset[str]:
    """Keys of the turns that were looked at."""
    return frozenset(_read(local, session)["turns"])


def mark_done(local: str, session: str, keys: Iterable[str], *, answered_until: float | None = None) -> None:
    """Notes turns that were looked at, and drops upload marks up to a time, for which they have answered."""

    def change(known: dict[str, Any]) -> None:
        known["turns"] = list(dict.fromkeys([*known["turns"], *keys]))[-MOST_TURNS:]
        if answered_until is not None:
            known["uploads"] = [at for at in known["uploads"] if at > answered_until]

    _change(local, session, change)


def key_of(number: int, words: str) -> str:
    """What a turn is known by: its place and a checksum of its words."""
    return f"{number}-{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def sweep(local: str, now: float, kept_days: float = KEPT_DAYS) -> int:
    """Deletes the files of sessions that nobody touched for so long; returns how many."""
    folder = os.path.join(local, FOLDER)
    gone = 0
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if entry.name != _LOCK and now - entry.stat().st_mtime > kept_days * DAY:
                    os.unlink(entry.path)
                    gone += 1
    return gone


def _path(local: str, session: str) -> str:
    """The file of a session; a name that is no file name everywhere is replaced by its checksum."""
    plain = re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,99}", session) is not None
    name = session if plain else hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(local, FOLDER, f"{name}.json")


def _read(local: str, session: str) -> dict[str, Any]:
    known: Any = None
    with suppress(OSError, ValueError), open(_path(local, session), encoding="utf-8") as handle:
        known = json.load(handle)
    if not isinstance(known, dict):
        known = {}
    return {"turns": _texts(known.get("turns")), "uploads": _numbers(known.get("uploads"))}


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _numbers(value: object) -> list[float]:
    return [float(each) for each in value if isinstance(each, int | float)] if isinstance(value, list) else []


def _change(local: str, session: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Reads, changes and writes a session's file, one process at a time."""
    path = _path(local, session)
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    with disk.Lock(os.path.join(folder, _LOCK), _PATIENCE):
        known = _read(local, session)
        change(known)
        data = json.dumps({"session": session, **known}, ensure_ascii=False)
        disk.replace(path, data.encode(), shared=True)

"""Turns that wait to be captured, on this machine.

A hook may not wait for extraction, a commit or a language model, so it writes what was said into the spool,
in one atomic step, and is done.  A worker takes the entries in the order of their time: the watcher starts
one when something waits, and without a watcher every `sync` does.

An entry leaves the spool when its capture has been committed.  It counts its tries before each one, so that
an entry that kills its worker counts too; after three it moves to `failed/` with the reason, and
`ctxrepo status` says so.  Captured twice (a worker killed between commit and removal) changes nothing: capture
knows the turns of a session that it has done.

`put` is on the path of hooks and imports nothing that is not loaded anyway.
"""

from __future__ import annotations

import json
import os
import time

from ctxrepo import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

TRIES = 3
_FAILED = "failed"
_LOCK = "lock"


def folder_of(local: str, user: str) -> str:
    """Where the entries of a user wait; `local` is the workspace's machine-local folder."""
    return os.path.join(local, "spool", user)


def put(local: str, user: str, turn: Mapping[str, Any], *, agent: str, project: str) -> str:
    """Adds an entry and returns its path.

    Args:
        local: the workspace's machine-local folder.
        user: whose memory.
        turn: what `memory capture` understands: a turn or a transcript.
        agent: the agent that heard it.
        project: identity of the project it was said in.

    Raises:
        OSError: it could not be written; nothing was added.
    """
    folder = folder_of(local, user)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    entry = {"agent": agent, "project": project, "tries": 0, "turn": turn}
    path = os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(3).hex()}.json")
    _write(path, entry)
    return path


def waiting(local: str, user: str) -> list[str]:
    """Paths of the entries that wait, oldest first."""
    return _entries(folder_of(local, user))


def failed(local: str, user: str) -> list[tuple[str, str]]:
    """(path, reason) of the entries that were given up."""
    return [(path, str((_read(path) or {}).get("reason", ""))) for path in _entries(_failed_folder(local, user))]


def retry(local: str, user: str) -> int:
    """Puts every entry that was given up back into the spool; returns how many."""
    given_up = failed(local, user)
    for path, _ in given_up:
        entry = _read(path) or {}
        _write(path, {**entry, "tries": 0, "reason": ""})
        os.replace(path, os.path.join(folder_of(local, user), os.path.basename(path)))
    return len(given_up)


def work_off(local: str, user: str, capture: Callable[[Mapping[str, Any]], object]) -> tuple[int, int]:
    """Captures what waits, unless another worker is at it.

    Args:
        local: the workspace's machine-local folder.
        user: whose entries.
        capture: takes an entry (`agent`, `project`, `turn`) and returns once it is committed.

    Returns:
        How many entries were captured and how many were given up.
    """
    done = given_up = 0
    if not os.path.isdir(folder_of(local, user)):
        return 0, 0
    with claim(local, user) as is_ours:
        while is_ours and (paths := waiting(local, user)):
            for path in paths:
                outcome = _take(path, _failed_folder(local, user), capture)
                done += outcome is True
                given_up += outcome is False
    return done, given_up


def claim(local: str, user: str) -> disk.Lock:
    """The right to work a spool off, as a context: True, or False while somebody else has it; the spool is there."""
    return disk.Lock(os.path.join(folder_of(local, user), _LOCK))


def _take(path: str, failed_folder: str, capture: Callable[[Mapping[str, Any]], object]) -> bool | None:
    """One try: True when captured, False when given up, None when it will be tried again."""
    entry = _read(path)
    if entry is None:
        _give_up(path, failed_folder, {"reason": "the entry cannot be read"})
        return False
    tries = int(entry.get("tries", 0)) + 1
    if tries > TRIES:
        _give_up(path, failed_folder, {**entry, "reason": entry.get("reason") or "its worker died three times"})
        return False
    _write(path, {**entry, "tries": tries})
    try:
        capture(entry)
    except Exception as fault:
        told = {**entry, "tries": tries, "reason": f"{type(fault).__name__}: {fault}"}
        if tries == TRIES:
            _give_up(path, failed_folder, told)
            return False
        _write(path, told)
        return None
    os.unlink(path)
    return True


def _give_up(path: str, failed_folder: str, entry: Mapping[str, Any]) -> None:
    os.makedirs(failed_folder, mode=0o700, exist_ok=True)
    if entry.get("turn") is not None:
        _write(path, entry)
    os.replace(path, os.path.join(failed_folder, os.path.basename(path)))


def _failed_folder(local: str, user: str) -> str:
    return os.path.join(folder_of(local, user), _FAILED)


def _entries(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".json")]


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as handle:
            entry = json.load(handle)
    except (OSError, ValueError):
        return None
    return entry if isinstance(entry, dict) and "turn" in entry else None


def _write(path: str, entry: Mapping[str, Any]) -> None:
    """Writes an entry whole or not at all."""
    data = json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass")
    disk.replace(path, data, shared=True, sync=True)

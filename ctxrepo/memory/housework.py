"""What memory needs done on the side: the spool worked off, and the nightly consolidation.

Both may take minutes (a language model, ten thousand facts), so they run in a process of their own, started
by whoever notices that there is work: the watcher, which looks every second, or a `sync` where no watcher runs.
A worker that finds another one at it leaves it alone; the locks of spool and consolidation see to that.

A night is missed when the machine sleeps, so what counts is not the moment but whether a run has been made
since the last time it was due.  A first start waits for the next night.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ctxrepo import disk
from ctxrepo.errors import Invalid
from ctxrepo.memory import sessions, spool
from ctxrepo.memory.memory import Memory
from ctxrepo.workspace.layout import Layout, memory_of
from ctxrepo.workspace.workspace import Workspace

OFF = "off"
_RECORD = "nightly.json"
_NIGHT = "the night's run"
_PAUSE = 60.0  # seconds until a worker is started again for what the last one has left


def is_due(now: datetime, last: float | None, at: str) -> bool:
    """Whether the nightly run has been due since `last`.

    Args:
        now: with the zone in which `at` is meant.
        last: Unix seconds of the last run; None = never, then the next night is the first.
        at: `03:30`, or `off`.

    Raises:
        Invalid: `at` is neither.
    """
    if at == OFF or last is None:
        return False
    try:
        clock = datetime.strptime(at, "%H:%M")
    except ValueError:
        raise Invalid(f"memory.nightly is {at!r}, which is no time such as 03:30, nor `off`.") from None
    moment = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
    if moment > now:
        moment -= timedelta(days=1)
    return last < moment.timestamp()


def work(workspace: Workspace) -> dict[str, Any]:
    """Works off the spool of the workspace's user, then consolidates if the night's run is due."""
    local = workspace.layout.local
    captured, given_up = spool.work_off(local, workspace.user, lambda entry: _capture(workspace, entry))
    record = _record_path(workspace.layout, workspace.user)
    now = workspace.clock()
    last = _last_run(record)
    result: dict[str, Any] = {"captured": captured, "given_up": given_up, "consolidated": None}
    if last is None:
        _note(record, now)
    elif is_due(datetime.fromtimestamp(now).astimezone(), last, str(workspace.settings["memory.nightly"])):
        _note(record, now)
        sessions.sweep(local, now)
        result["consolidated"] = Memory(workspace).consolidate()
    return result


def _capture(workspace: Workspace, entry: Mapping[str, Any]) -> None:
    """Captures one entry as the agent and in the project that it was heard in."""
    with Workspace(
        workspace.layout,
        user=workspace.user,
        agent=str(entry["agent"]),
        project=str(entry["project"]),
        clock=workspace.clock,
        random=workspace.random,
    ) as own:
        Memory(own).capture(entry["turn"])


class Steward:
    """Starts workers when there is work; kept by a watcher for as long as it runs.

    Work that a worker has left undone, because it cannot start or another one is at it, is no reason to start
    one every second.

    Args:
        workspace: as opened by whoever started the watcher; every user of this machine is served.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, tuple[str, float]] = {}

    def tick(self) -> None:
        """Looks for work of every user; returns at once."""
        for user in self._workspace.layout.users():
            worker = self._workers.get(user)
            if worker is not None and worker.poll() is None:
                continue
            work, now = self._work_of(user), time.monotonic()
            before, at = self._started.get(user, ("", now))
            if work and (work != before or now - at > _PAUSE):
                self._started[user] = work, now
                self._workers[user] = start_worker(self._workspace.layout, user)

    def _work_of(self, user: str) -> str:
        """The next thing that is to be done for a user, empty for none."""
        workspace = self._workspace
        waiting = spool.waiting(workspace.layout.local, user)
        if waiting:
            return waiting[0]
        now = datetime.fromtimestamp(workspace.clock()).astimezone()
        last = _last_run(_record_path(workspace.layout, user))
        at = str(workspace.settings["memory.nightly"])
        try:
            return _NIGHT if at != OFF and (last is None or is_due(now, last, at)) else ""
        except Invalid:
            return ""


def start_worker(layout: Layout, user: str) -> subprocess.Popen[bytes]:
    """Starts `ctxrepo memory work` for a user, in a session of its own and with nothing to say."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ctxrepo", "memory", "work", "--workspace", layout.root, "--user", user],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _record_path(layout: Layout, user: str) -> str:
    return os.path.join(layout.state_dir(memory_of(user)), _RECORD)


def _last_run(path: str) -> float | None:
    try:
        with open(path, encoding="utf-8") as handle:
            return float(json.load(handle)["ran"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note(path: str, now: float) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    disk.replace(path, json.dumps({"ran": now}).encode("ascii"), shared=True)

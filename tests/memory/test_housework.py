"""What memory has done on the side: turns that wait become facts, nights are not missed, workers do not pile up."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.errors import Invalid, Refused
from ctxrepo.memory import housework, spool
from ctxrepo.memory.consolidation.restraint import alone
from ctxrepo.memory.housework import Steward, is_due, start_worker, work
from tests.conftest import Clock
from tests.memory.conftest import PROJECT
from tests.support.live import COMMAND, Live, eventually

TURN = {"user": "We decided to use Postgres because the team knows it.", "assistant": "OK."}
DAY = 86_400


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("now", "last", "due"),
    [
        ("2026-11-29T03:29", "2026-11-28T03:30", False),
        ("2026-11-29T03:30", "2026-11-28T03:30", True),
        ("2026-11-29T03:31", "2026-11-29T03:30", False),
        ("2026-11-29T23:59", "2026-11-29T03:30", False),
        ("2026-11-29T09:00", "2026-11-28T03:31", True),  # slept through the night
        ("2026-11-29T01:00", "2026-11-25T03:31", True),  # slept for days: once, before the next night
        ("2026-11-29T01:00", "2026-11-28T09:00", False),  # caught up yesterday morning
        ("2026-11-29T03:31", "2026-11-30T03:31", False),  # the clock was put back
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/St_Johns"])
def test_a_night_is_due_once_and_caught_up(now: str, last: str, due: bool, zone: str) -> None:
    """The time is meant where the person lives; what counts is whether a run came after it."""
    assert is_due(at(now, zone), at(last, zone).timestamp(), "03:30") is due


def test_the_same_moment_is_night_in_one_zone_only() -> None:
    """03:30 in Shanghai is 19:30 the evening before in Greenwich."""
    moment = at("2026-11-29T04:00", "Asia/Shanghai")
    last = (moment - timedelta(hours=2)).timestamp()
    assert is_due(moment, last, "03:30")
    assert not is_due(moment.astimezone(ZoneInfo("UTC")), last, "03:30")


def test_off_and_never_and_nonsense() -> None:
    """`off` is never due, a first start waits for its night, and no time is an error that names the setting."""
    now = at("2026-11-29T12:00")
    assert not is_due(now, 0.0, "off")
    assert not is_due(now, None, "03:30")
    for wrong in ("3.30", "25:00", "night", ""):
        with pytest.raises(Invalid, match=r"memory\.nightly"):
            is_due(now, 0.0, wrong)


def put(repo: ContextRepository, turn: object = TURN, *, agent: str = "codex", project: str = PROJECT) -> str:
    return spool.put(repo.layout.local, "me", turn, agent=agent, project=project)  # type: ignore[arg-type]


def test_a_turn_is_captured_where_and_by_whom_it_was_heard(repo: ContextRepository) -> None:
    """Not as the worker's own agent, nor in its project."""
    put(repo, project="github.com/acme/shop")
    assert work(repo) == {"captured": 1, "given_up": 0, "consolidated": None}
    (row,) = repo.memory.list(project="github.com/acme/shop")["results"]
    shown = repo.memory.show(row["id"])
    assert (shown["agent"], shown["project"], shown["source"]) == ("codex", "github.com/acme/shop", "codex")
    assert shown["text"] == "We decided to use Postgres because the team knows it"
    assert spool.waiting(repo.layout.local, "me") == []
    assert work(repo)["captured"] == 0


def consolidations(repo: ContextRepository) -> int:
    return sum(row["op"] == "memory.consolidate" for row in repo.log(limit=500)["results"])


def same_twice(repo: ContextRepository) -> None:
    repo.memory.add("I prefer pnpm", session="a")
    repo.memory.add("The user prefers pnpm.", session="b")


def test_the_night_comes_once_a_day(repo: ContextRepository, clock: Clock) -> None:
    """The first start only notes the day; the day after it runs, and only once."""
    same_twice(repo)
    assert work(repo)["consolidated"] is None
    clock.time += 600
    assert work(repo)["consolidated"] is None
    clock.time += DAY
    assert work(repo)["consolidated"]["counts"] == {"merged": 1}
    assert work(repo)["consolidated"] is None
    assert consolidations(repo) == 1
    clock.time += 10 * DAY
    assert work(repo)["consolidated"]["counts"] == {}
    assert consolidations(repo) == 1


def test_a_night_that_is_off_or_wrong_still_captures(
    opened: Callable[..., ContextRepository], home: Path, clock: Clock
) -> None:
    """Turns do not wait for a setting; a wrong one is named by `status`."""
    settings = home / ".config" / "ctxrepo" / "settings.yaml"
    settings.parent.mkdir(parents=True)
    work(opened())
    clock.time += DAY
    settings.write_text("memory.nightly: 'off'\n", encoding="utf-8")
    assert work(opened())["consolidated"] is None
    settings.write_text("memory.nightly: midnight\n", encoding="utf-8")
    repo = opened()
    put(repo)
    with pytest.raises(Invalid, match="midnight"):
        work(repo)
    assert repo.memory.list()["total"] == 1
    assert any("memory.nightly is 'midnight'" in line for line in repo.status()["attention"])
    assert not Starts(repo).after_a_tick()


def test_two_at_once_do_not_overlap(opened: Callable[..., ContextRepository], clock: Clock) -> None:
    """A second worker leaves the spool to the first; a second consolidation is turned away."""
    one = opened()
    for number in range(3):
        put(one, {"user": f"We decided to use server number {number}0 for builds.", "session": "s", "turn": number})
    held, go, results = threading.Event(), threading.Event(), []

    def slow(entry: object) -> None:
        held.set()
        assert go.wait(10)

    first = threading.Thread(target=lambda: results.append(spool.work_off(one.layout.local, "me", slow)))
    first.start()
    assert held.wait(10)
    assert work(opened())["captured"] == 0
    go.set()
    first.join(10)
    assert results == [(3, 0)]

    clock.time += 2 * DAY
    told: list[str] = []

    def second() -> None:
        try:
            work(opened())
        except Refused as fault:
            told.append(fault.message)

    with alone(one):
        other = threading.Thread(target=second)
        other.start()
        other.join(10)
    assert told == ["A consolidation of memory/me is running already."]
    assert consolidations(one) == 0


def test_an_entry_that_cannot_be_captured_is_reported_and_holds_up_nothing(repo: ContextRepository, team: Path) -> None:
    """Three tries, then it lies in `failed/` with the reason and `ctxrepo status` says so."""
    put(repo, "no turn")
    put(repo)
    assert work(repo) == {"captured": 1, "given_up": 1, "consolidated": None}
    ((path, reason),) = spool.failed(repo.layout.local, "me")
    assert os.path.dirname(path).endswith("/failed")
    assert json.loads(Path(path).read_text(encoding="utf-8"))["tries"] == spool.TRIES
    done = Live(team).run("status")
    assert f"! {path} was not captured: {reason}" in done.stdout
    assert Live(team).json("status")["waiting_turns"] == 0


class Starts:
    """A steward whose workers are counted."""

    def __init__(self, repo: ContextRepository) -> None:
        self.steward = Steward(repo)
        self.started = 0

    def after_a_tick(self) -> int:
        before = dict(self.steward._workers)
        self.steward.tick()
        self.started += self.steward._workers != before
        return self.started

    def settled(self) -> bool:
        return all(worker.wait(20) is not None for worker in self.steward._workers.values())


def test_the_steward_starts_a_worker_that_does_the_work(team: Path) -> None:
    """A real process: a turn that waits is a fact soon after, and then nothing is started any more."""
    with open_workspace(team, project=PROJECT) as repo:
        put(repo)
        starts = Starts(repo)
        assert starts.after_a_tick() == 1
        assert starts.settled()
        assert repo.memory.list()["total"] == 1
        assert starts.after_a_tick() == 1
        put(repo, {"user": "I'm vegetarian.", "assistant": ""})
        assert starts.after_a_tick() == 2
        assert starts.settled()
        assert repo.memory.list()["total"] == 2


def test_work_left_undone_starts_no_worker_every_second(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process works the spool off, and when workers cannot do it; it is tried again after a while."""
    with open_workspace(team, project=PROJECT) as repo:
        work(repo)
        put(repo)
        starts = Starts(repo)
        with spool.claim(repo.layout.local, "me") as ours:
            assert ours
            for _ in range(5):
                starts.after_a_tick()
                assert starts.settled()
            assert starts.started == 1
            monkeypatch.setattr(housework, "_PAUSE", 0.0)
            assert starts.after_a_tick() == 2
            assert starts.settled()
        assert len(spool.waiting(repo.layout.local, "me")) == 1
        assert starts.after_a_tick() == 3
        assert starts.settled()
        assert spool.waiting(repo.layout.local, "me") == []


def test_the_steward_serves_every_user(team: Path) -> None:
    """Each in their own memory."""
    Live.made(team, "kim")
    for user in ("me", "kim"):
        spool.put(str(team / ".git" / "ctxrepo"), user, TURN, agent="*", project="*")
    with open_workspace(team, user="me") as repo:
        starts = Starts(repo)
        starts.after_a_tick()
        assert starts.settled()
    for user in ("me", "kim"):
        with open_workspace(team, user=user) as repo:
            assert repo.memory.list()["total"] == 1


def test_sync_starts_a_worker_and_does_not_wait_for_it(team: Path) -> None:
    """Without a watcher, `ctxrepo sync` has waiting turns captured behind its back, unless background work is off."""
    live = Live(team)
    spool.put(str(live.local), "me", TURN, agent="codex", project=PROJECT)
    assert live.run("sync").returncode == 0
    time.sleep(0.3)
    assert live.json("status")["waiting_turns"] == 1
    done = live.run("sync", CTXREPO_BACKGROUND="on")
    assert (done.returncode, done.stderr) == (0, "")
    assert eventually(lambda: live.json("status")["waiting_turns"] == 0, 20)
    assert live.json("memory", "list")["total"] == 1


def test_a_worker_outlives_who_started_it(team: Path) -> None:
    """It has a session of its own and says nothing on anybody's terminal."""
    with open_workspace(team) as repo:
        put(repo)
        with start_worker(repo.layout, "me") as worker:
            assert os.getsid(worker.pid) == worker.pid != os.getsid(0)
            assert worker.wait(20) == 0
        assert repo.memory.list(project=PROJECT)["total"] == 1


def test_the_command_tells_what_it_did(team: Path) -> None:
    """`ctxrepo memory work`, by hand."""
    live = Live(team)
    spool.put(str(live.local), "me", TURN, agent="*", project="*")
    done = subprocess.run(
        [COMMAND, "memory", "work", "--workspace", str(team)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "1 waiting turn captured, 0 given up.\n")

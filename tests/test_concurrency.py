"""Many processes at once, and processes that are killed: what was acknowledged is there, and nothing stands in the way.

The long forms run with `-m soak`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ctxrepo.api import open_workspace
from tests.support.git import git
from tests.support.live import COMMAND, Live, eventually
from tests.support.template import new_workspace

ROOT = Path(__file__).parents[1]


@pytest.fixture
def live(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Live:
    return Live(new_workspace(tmp_path / "team", tmp_path_factory))


def branch_of(live: Live) -> set[str]:
    """Paths in the workspace that the private store's branch holds."""
    listing = git(live.mine(), "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "HEAD")
    return {f"memory/me/{path}" for path in listing.splitlines()}


def indexed(live: Live) -> dict[str, str]:
    """Path → first words of every fact, by the next read."""
    with open_workspace(live.root, user="me") as repo:
        rows = repo.memory.list(status=None, limit=100_000)["results"]
    return {row["path"]: row["title"] for row in rows}


def add_many(live: Live, processes: int, count: int) -> list[subprocess.CompletedProcess[str]]:
    """Calls of `ctxrepo memory add`, `processes` at a time, all starting together."""
    start = threading.Barrier(processes)

    def work(worker: int) -> list[subprocess.CompletedProcess[str]]:
        start.wait()
        return [
            live.run("memory", "add", f"Worker{worker} wrote number{number}", "--project", "*", "--json")
            for number in range(count)
        ]

    with ThreadPoolExecutor(processes) as pool:
        return [done for answers in pool.map(work, range(processes)) for done in answers]


def check_adding_at_once(live: Live, processes: int, count: int) -> float:
    before = int(git(live.mine(), "rev-list", "--count", "HEAD"))
    begun = time.monotonic()
    answers = add_many(live, processes, count)
    seconds = time.monotonic() - begun

    assert [done.stderr for done in answers if done.returncode or done.stderr] == []
    facts = [json.loads(done.stdout) for done in answers]
    paths = {fact["path"] for fact in facts}
    assert len(paths) == len({fact["id"] for fact in facts}) == processes * count
    assert paths <= branch_of(live)
    assert git(live.mine(), "status", "--porcelain") == ""
    assert git(live.mine(), "fsck", "--full") == ""
    assert int(git(live.mine(), "rev-list", "--count", "HEAD")) == before + processes * count
    assert paths == set(indexed(live))
    with open_workspace(live.root, user="me", project="*") as repo:
        for fact in random.Random(1).sample(facts, min(40, len(facts))):
            hits = repo.recall(fact["text"], limit=1, threshold=0.0)["results"]
            assert [hit["text"] for hit in hits] == [fact["text"]]
    return seconds


def test_adding_from_many_processes_at_once(live: Live) -> None:
    """8 × 5 calls of the command: each fact is acknowledged, committed, indexed and found; git is content."""
    check_adding_at_once(live, 8, 5)


@pytest.mark.soak
def test_adding_four_hundred_facts_from_eight_processes(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    """8 × 50."""
    seconds = check_adding_at_once(live, 8, 50)
    with capsys.disabled():
        print(
            f"\n8 processes × 50 `memory add`: 400 facts, 0 errors, "
            f"{seconds:.1f} s ({seconds / 400 * 1000:.0f} ms each)"
        )


def test_adding_beside_a_watcher_and_a_person(live: Live) -> None:
    """While a watcher runs, a person commits by hand and others read: nothing is lost, doubled or refused."""
    with subprocess.Popen([COMMAND, "watch", "--workspace", str(live.root)], stderr=subprocess.DEVNULL) as watcher:
        done = threading.Event()

        def person() -> list[int]:
            codes = []
            while not done.is_set():
                notes = live.mine() / "facts" / "notes.md"
                notes.parent.mkdir(exist_ok=True)
                with notes.open("a", encoding="utf-8") as handle:
                    handle.write("One more line by hand\n")
                subprocess.run(["git", "commit", "-qam", "by hand"], cwd=live.mine(), capture_output=True)
                codes.append(live.run("recall", "worker wrote").returncode)
            return codes

        with ThreadPoolExecutor(1) as pool:
            codes = pool.submit(person)
            answers = add_many(live, 4, 3)
            done.set()
            assert set(codes.result()) == {0}
        watcher.terminate()
        assert watcher.wait(20) == 0
    assert [done.stderr for done in answers if done.returncode] == []  # type: ignore[attr-defined]
    paths = {json.loads(done.stdout)["path"] for done in answers}  # type: ignore[attr-defined]
    assert paths <= branch_of(live)
    assert paths <= set(indexed(live))
    assert live.sync()["results"][0]["problems"] == []
    assert git(live.mine(), "status", "--porcelain") == ""
    assert git(live.mine(), "fsck", "--full") == ""


def test_reading_for_the_first_time_from_many_processes(live: Live) -> None:
    """Six processes find no index at once: all answer, and one index is the result."""
    live.write(f"Note{number} about tea" for number in range(300))
    index = live.local / "state" / "memory" / "me" / "index"
    for path in index.iterdir():
        if path.is_file() and path.name == "current":
            path.unlink()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: live.run("recall", "Note7 about tea", "--threshold", "0"), range(6)))
    assert {(done.returncode, done.stderr) for done in answers} == {(0, "")}
    assert all("Note7 about tea" in done.stdout for done in answers)
    assert len([path for path in index.iterdir() if path.is_dir()]) == 1
    assert len(indexed(live)) == 300


def killed(command: Sequence[str], delay: float, *, group: bool, wait_for: bytes = b"") -> tuple[bytes, bool]:
    """Starts a process, kills it or its whole group after a while, and returns what it said by then.

    Args:
        delay: seconds from its start, or from the moment it said `wait_for`.

    Returns:
        Its output, and whether the kill met it alive.
    """
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stdout
        said = child.stdout.readline() if wait_for else b""
        assert said.startswith(wait_for)
        time.sleep(delay)
        (os.killpg if group else os.kill)(child.pid, signal.SIGKILL)
        return said + child.stdout.read(), child.wait(20) == -signal.SIGKILL


class Killer:
    """Kills writers at random moments and keeps the books of what they had acknowledged."""

    def __init__(self, live: Live, seed: int) -> None:
        self.live = live
        self.dice = random.Random(seed)
        self.acknowledged: set[str] = set()
        self.by_hand: dict[Path, str] = {}
        self.met = 0
        self.left_locked = 0
        self.rounds = 0

    def round(self) -> None:
        self.rounds += 1
        group = self.dice.random() < 0.5
        way = (self.loop, self.command, self.sync)[self.rounds % 3]
        way(group)
        self.person_commits()
        self.check()

    def loop(self, group: bool) -> None:
        """A process that adds one fact after the other."""
        command = [sys.executable, "-m", "tests.support.adder", str(self.live.root), f"Round{self.rounds}", "100"]
        said, met = killed(command, self.dice.uniform(0, 0.4), group=group, wait_for=b"ready")
        self.acknowledged |= set(said[: said.rfind(b"\n") + 1].decode().splitlines()[1:])
        self.met += met

    def command(self, group: bool) -> None:
        """The command line; it has acknowledged when its answer is complete."""
        command = [
            COMMAND,
            "memory",
            "add",
            f"Round{self.rounds} said once",
            "--json",
            "--workspace",
            str(self.live.root),
        ]
        said, met = killed(command, self.dice.uniform(0.15, 0.45), group=group)
        if said.rstrip().endswith(b"}"):
            self.acknowledged.add(json.loads(said)["path"])
        self.met += met

    def sync(self, group: bool) -> None:
        """A sync that has something to index and to adopt; what a person wrote stays, killed or not."""
        for number in range(5):
            path = self.live.mine() / "facts" / f"round-{self.rounds}-{number}.md"
            path.parent.mkdir(exist_ok=True)
            self.by_hand[path] = f"Round{self.rounds} by hand {number}\n"
            path.write_text(self.by_hand[path], encoding="utf-8")
        command = [COMMAND, "sync", "--quiet", "--workspace", str(self.live.root)]
        _, met = killed(command, self.dice.uniform(0.15, 0.45), group=group)
        self.met += met

    def person_commits(self) -> None:
        """`git commit -a`. A kill in the middle of moving the branch leaves its lock, to git as to us.

        The next command of ctxrepo takes it away; git children that outlive a kill need a moment for theirs.
        """
        if not eventually(lambda: not self.locks(), 2):
            self.left_locked += 1
            assert self.live.run("sync", "--quiet").returncode == 0
            assert self.locks() == []
        done = subprocess.run(
            ["git", "commit", "-qam", "a person"], cwd=self.live.mine(), capture_output=True, text=True
        )
        assert done.returncode == 0 or "to commit" in done.stdout or "nothing added" in done.stdout, done

    def locks(self) -> list[str]:
        """Git's own locks in the private store."""
        walk = os.walk(self.live.local / "stores" / "memory" / "me.git")
        return [name for _, _, names in walk for name in names if name.endswith(".lock")]

    def check(self) -> None:
        held = branch_of(self.live)
        assert self.acknowledged <= held
        assert all((self.live.root / path).is_file() for path in self.acknowledged)
        assert all(text in path.read_text(encoding="utf-8") for path, text in self.by_hand.items())

    def check_all(self) -> None:
        """The next command works at once, and afterwards everything is committed, indexed and found."""
        begun = time.monotonic()
        done = self.live.run("memory", "add", "After all the kills", "--json")
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - begun < 20
        self.acknowledged.add(json.loads(done.stdout)["path"])
        self.check()
        known = indexed(self.live)
        assert self.acknowledged <= set(known)
        assert {str(path.relative_to(self.live.root)) for path in self.by_hand} <= set(known)
        on_disk = {str(path.relative_to(self.live.root)) for path in self.live.mine().glob("facts/**/*.md")}
        assert set(known) == on_disk
        assert len({*known.values()}) == len(known)
        assert self.live.sync()["results"][0]["problems"] == []
        assert branch_of(self.live) >= on_disk
        assert git(self.live.mine(), "status", "--porcelain") == ""
        assert git(self.live.mine(), "fsck", "--full", "--no-dangling") == ""
        left = [path for path in self.live.mine().rglob(".*") if path.name != ".git"]
        assert left == []


def kill_at_random(live: Live, kills: int, seed: int) -> Killer:
    """Goes on until so many kills have met a living process."""
    killer = Killer(live, seed)
    while killer.met < kills:
        killer.round()
    killer.check_all()
    return killer


def test_writers_that_are_killed_lose_nothing(live: Live) -> None:
    """A dozen kills in adding and syncing, each followed by a person's commit: every acknowledged fact is there."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    assert kill_at_random(live, 12, seed).acknowledged


@pytest.mark.soak
def test_two_hundred_kills_lose_nothing(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    """200 of them, half of them against the whole process group."""
    killer = kill_at_random(live, 200, seed=random.randrange(10**6))
    with capsys.disabled():
        print(
            f"\n200 kills in {killer.rounds} rounds: {len(killer.acknowledged)} acknowledged facts and "
            f"{len(killer.by_hand)} files by hand, none lost; {killer.left_locked} left a lock to the next command"
        )

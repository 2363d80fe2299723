"""What hooks leave for later: nothing is lost, nothing is captured twice, nothing blocks for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxrepo.memory import spool

TURN = {"user": "以后发布窗口改到周二", "assistant": "好的"}


def test_entries_are_captured_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    """A correction must not be captured before what it corrects."""
    for number in range(5):
        spool.put(str(tmp_path), "me", TURN | {"number": number}, agent="codex", project="p")
    seen: list[Mapping[str, Any]] = []

    assert spool.work_off(str(tmp_path), "me", seen.append) == (5, 0)

    assert [entry["turn"]["number"] for entry in seen] == [0, 1, 2, 3, 4]
    assert {(entry["agent"], entry["project"]) for entry in seen} == {("codex", "p")}
    assert spool.waiting(str(tmp_path), "me") == []


def test_an_entry_that_fails_three_times_moves_aside_with_the_reason_and_the_rest_goes_on(tmp_path: Path) -> None:
    """One hostile turn does not hold up the others; it can be put back."""
    spool.put(str(tmp_path), "me", {"user": "bad"}, agent="*", project="*")
    spool.put(str(tmp_path), "me", {"user": "good"}, agent="*", project="*")
    tries: list[str] = []

    def capture(entry: Mapping[str, Any]) -> None:
        tries.append(entry["turn"]["user"])
        if entry["turn"]["user"] == "bad":
            raise ValueError("no such thing")

    assert spool.work_off(str(tmp_path), "me", capture) == (1, 1)

    assert tries.count("bad") == spool.TRIES and tries.count("good") == 1
    ((path, reason),) = spool.failed(str(tmp_path), "me")
    assert reason == "ValueError: no such thing"
    assert spool.retry(str(tmp_path), "me") == 1
    assert [os.path.basename(each) for each in spool.waiting(str(tmp_path), "me")] == [os.path.basename(path)]
    assert spool.work_off(str(tmp_path), "me", lambda _: None) == (1, 0)


def test_what_is_put_while_the_worker_works_is_taken_too(tmp_path: Path) -> None:
    """The worker goes on until nothing waits."""
    spool.put(str(tmp_path), "me", {"user": "first"}, agent="*", project="*")

    def capture(entry: Mapping[str, Any]) -> None:
        if entry["turn"]["user"] == "first":
            spool.put(str(tmp_path), "me", {"user": "second"}, agent="*", project="*")

    assert spool.work_off(str(tmp_path), "me", capture) == (2, 0)


def test_only_one_worker_at_a_time(tmp_path: Path) -> None:
    """A second worker leaves the entries to the first."""
    spool.put(str(tmp_path), "me", TURN, agent="*", project="*")
    inner: list[tuple[int, int]] = []

    def capture(_: Mapping[str, Any]) -> None:
        inner.append(spool.work_off(str(tmp_path), "me", lambda _: None))

    assert spool.work_off(str(tmp_path), "me", capture) == (1, 0)
    assert inner == [(0, 0)]


def test_a_worker_that_is_killed_loses_nothing_and_an_entry_that_kills_it_is_given_up(tmp_path: Path) -> None:
    """The try is counted before it is made."""
    spool.put(str(tmp_path), "me", TURN, agent="*", project="*")
    code = (
        "import os, signal, sys\nfrom ctxrepo.memory import spool\n"
        "spool.work_off(sys.argv[1], 'me', lambda _: os.kill(os.getpid(), signal.SIGKILL))"
    )
    for _ in range(spool.TRIES):
        assert len(spool.waiting(str(tmp_path), "me")) == 1
        killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
        assert killed.returncode == -signal.SIGKILL

    assert spool.work_off(str(tmp_path), "me", lambda _: None) == (0, 1)
    assert spool.failed(str(tmp_path), "me")[0][1] == "its worker died three times"


def test_a_torn_or_foreign_file_is_set_aside(tmp_path: Path) -> None:
    """Garbage in the folder is no reason to stop."""
    spool.put(str(tmp_path), "me", TURN, agent="*", project="*")
    folder = Path(spool.folder_of(str(tmp_path), "me"))
    (folder / "00000000000000000001-1-a.json").write_text('{"turn": ')
    (folder / "note.txt").write_text("not ours")

    assert spool.work_off(str(tmp_path), "me", lambda _: None) == (1, 1)

    assert (folder / "failed" / "00000000000000000001-1-a.json").read_text() == '{"turn": '
    assert (folder / "note.txt").exists()


def test_users_do_not_share_a_spool(tmp_path: Path) -> None:
    """What one person said is never captured for another."""
    spool.put(str(tmp_path), "me", TURN, agent="*", project="*")
    assert spool.work_off(str(tmp_path), "tom", lambda _: None) == (0, 0)
    assert len(spool.waiting(str(tmp_path), "me")) == 1

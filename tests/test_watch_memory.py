"""`ctxrepo watch` and what hooks leave behind: a turn in the spool is a fact seconds later."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrepo.api import open_workspace
from ctxrepo.index.heartbeat import is_watching
from ctxrepo.memory import spool
from tests.support.live import COMMAND, Live, eventually

PROJECT = "github.com/acme/billing"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A workspace of two users that is being watched."""
    made = Live.made(tmp_path / "team", "me", "kim")
    with subprocess.Popen(
        [COMMAND, "watch", "--workspace", str(made.root), "--user", "me"], stderr=subprocess.DEVNULL
    ) as child:
        assert eventually(lambda: is_watching(str(made.local)))
        yield made
        child.terminate()
        assert child.wait(10) == 0


def said(live: Live, user: str, text: str) -> str:
    turn = {"user": text, "assistant": "OK."}
    return spool.put(str(live.local), user, turn, agent="claude-code", project=PROJECT)


def recalled(live: Live, words: str) -> list[str]:
    """What the agent's next prompt in the project would bring."""
    with open_workspace(live.root, user="me", agent="claude-code", project=PROJECT) as repo:
        return [hit["text"] for hit in repo.recall(words)["results"]]


def test_a_waiting_turn_is_a_fact_within_seconds(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    """Extracted, committed, indexed and recalled, as the agent's, with nobody running a command."""
    begun = time.monotonic()
    said(live, "me", "以后发布窗口都改到周二上午，因为周五没人值班。")
    assert eventually(lambda: recalled(live, "发布窗口") != [], 20)
    taken = time.monotonic() - begun
    with capsys.disabled():
        print(f"\n{taken / 10:5.2f} × (reach ≤ 1)  turn in the spool → recalled, watcher running: {taken:.1f} s")
    assert taken < 10
    assert "周二" in recalled(live, "发布窗口")[0]
    (fact,) = live.json("memory", "list", "--user", "me", "--project", PROJECT)["results"]
    shown = live.json("memory", "show", "--user", "me", fact["id"])
    assert (shown["agent"], shown["source"], shown["project"]) == ("claude-code", "claude-code", PROJECT)
    assert spool.waiting(str(live.local), "me") == []


def test_turns_go_on_being_captured_for_every_user(live: Live) -> None:
    """One after the other, each into the memory of whose turn it was; a broken one is set aside."""
    said(live, "kim", "I'm vegetarian.")
    assert eventually(lambda: live.found("vegetarian", "kim") == ["I'm vegetarian"], 20)
    Path(said(live, "kim", "x")).write_text("{ half", encoding="utf-8")
    said(live, "kim", "I prefer tabs.")
    said(live, "me", "I prefer spaces.")
    assert eventually(lambda: live.found("tabs", "kim") == ["I prefer tabs"], 20)
    assert eventually(lambda: live.found("spaces") == ["I prefer spaces"], 20)
    assert live.found("vegetarian tabs") == []
    assert len(spool.failed(str(live.local), "kim")) == 1

"""One person's memory from the first transcript to the last purge, through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.git import git
from tests.support.live import Live

PROJECT = "github.com/acme/billing"
SECRET = "sk-proj-a8Xk2LmQ9vT4wZ7bN1cR5yU3"
RECALLED = "Never deploy on a Friday afternoon"
BLOCK = (
    "<recalled-memories>\nNotes that ctxrepo recalled from this user's own memory.\n"
    f"- (rule, 2026-11-01, memory/me/facts/2026-11/x-3kq9zt.md) {RECALLED}\n</recalled-memories>\n"
)


def row(number: int, role: str, content: object, **more: object) -> dict[str, object]:
    return {
        "type": role,
        "sessionId": "session-one",
        "uuid": f"u{number}",
        "cwd": "/home/me/billing",
        "timestamp": f"2026-11-29T10:{number:02d}:00.000Z",
        "message": {"role": role, "content": content},
        **more,
    }


def jsonl(*said: tuple[str, object] | Mapping[str, object]) -> str:
    rows = [one if isinstance(one, Mapping) else row(number, *one) for number, one in enumerate(said)]
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)


FIRST = jsonl(
    ("user", "Hi there!"),
    ("assistant", [{"type": "text", "text": "Hello! What are we doing today?"}]),
    ("user", f"{BLOCK}What did we say about deploys?"),
    ("assistant", [{"type": "text", "text": f"{RECALLED}."}]),
    ("user", "我对辣菜过敏，聚餐要避开。<private>My divorce lawyer is called Lindqvist.</private>"),
    ("assistant", [{"type": "text", "text": "好的，记住了。"}]),
    ("user", f"The key of the test account is {SECRET}, use it for now."),
    ("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]),
    ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "We decided to use the FORBIDDEN tool."}]),
    ("assistant", [{"type": "text", "text": "Done."}]),
    ("user", "We decided to use Postgres for the ledger because the team knows it."),
    ("assistant", [{"type": "text", "text": "Good."}]),
    row(12, "user", "This session is being continued: the user prefers COBOL.", isCompactSummary=True),
    ("user", "项目经理是王芳。"),
    ("assistant", [{"type": "text", "text": "明白。"}]),
    ("user", "谢谢！"),
)


class Story:
    """The workspace and what its owner types."""

    def __init__(self, live: Live, place: Path) -> None:
        self.live = live
        self.place = place

    def json(self, *arguments: str, **options: Any) -> dict[str, Any]:
        return self.live.json(*arguments, "--project", PROJECT, **options)

    def capture(self, data: str, *options: str) -> dict[str, Any]:
        return self.json("memory", "capture", *options, stdin=data)

    def facts(self, *options: str) -> dict[str, str]:
        """Text → tail of the id."""
        return {one["title"]: one["tail"] for one in self.json("memory", "list", *options)["results"]}

    def recalled(self, words: str) -> list[str]:
        return [hit["text"] for hit in self.json("recall", words)["results"]]

    def everything(self) -> bytes:
        """Every object of the private store, and every other file of the machine's state."""
        folder = self.live.local / "stores" / "memory" / "me.git"
        objects = subprocess.run(
            ["git", "--git-dir", str(folder), "cat-file", "--batch-all-objects", "--batch"],
            capture_output=True,
            check=True,
        ).stdout
        files = [*self.live.local.rglob("*"), *self.live.mine().rglob("*")]
        return objects + b"".join(path.read_bytes() for path in files if path.is_file() and "objects" not in path.parts)


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """A new workspace, as `ctxrepo init` makes it."""
    return Story(Live.made(tmp_path / "team"), tmp_path)


def test_a_transcript_becomes_facts_and_nothing_else_of_it_is_kept(story: Story) -> None:
    """Three facts of eight turns; the recalled block, the secret, the private part and the machine leave no trace."""
    found = story.capture(FIRST)

    assert {one["text"]: one["kind"] for one in found["results"]} == {
        "我对辣菜过敏，聚餐要避开": "preference",
        "We decided to use Postgres for the ledger because the team knows it": "decision",
        "项目经理是王芳": "fact",
    }
    assert any("secret" in one["why"] for one in found["left_out"])
    kept = story.everything()
    for word in (SECRET, "Lindqvist", "FORBIDDEN", "COBOL", RECALLED):
        assert word.encode() not in kept, word
    assert story.capture(FIRST)["results"] == []
    (operation,) = [one for one in story.json("log")["results"] if one["op"] == "memory.capture"]
    shown = story.live.run("show", operation["id"]).stdout
    assert "Ctx-Session: session-one" in shown


def test_a_correction_takes_the_place_of_what_it_corrects(story: Story) -> None:
    """The old fact leaves recall and stays to be seen; `why` tells the chain, session and turn."""
    story.capture(FIRST)
    old = story.facts()["项目经理是王芳"]
    (new,) = story.capture(
        json.dumps({"user": "项目经理换成了陈晨。", "assistant": "好的。", "session": "session-two", "turn": 4})
    )["results"]

    assert (new["action"], [one[-6:].lower() for one in new["replaces"]]) == ("replaced", [old])
    assert "陈晨" in story.recalled("项目经理是谁")[0]
    assert not any("王芳" in text for text in story.recalled("项目经理是谁"))
    why = story.live.run("why", old).stdout
    assert "王芳" in why and "陈晨" in why and "superseded" in why
    assert "session-two" in story.live.run("why", new["id"]).stdout


def test_what_was_deleted_comes_back_and_what_was_purged_does_not(story: Story) -> None:
    """Delete and undo are commits; a purge leaves the words in no object, index or log, and the rest as it was."""
    story.capture(FIRST)
    facts = story.facts()
    words = "我对辣菜过敏，聚餐要避开"
    deleted = story.json("memory", "delete", facts[words])
    assert words not in story.facts()
    story.live.run("undo", deleted["commit"][:10])
    assert story.facts() == facts
    assert "辣菜".encode() in story.everything()

    story.json("memory", "delete", facts[words])
    receipt = story.json("memory", "purge", facts[words], "--yes")

    kept = story.everything()
    for form in (words, "辣菜", "我对辣菜过敏"):
        assert form.encode() not in kept, form
    assert receipt["commits_rewritten"] > 0
    assert set(story.facts()) == set(facts) - {words}
    assert story.recalled("周五聚餐能点辣菜吗") == []
    assert story.recalled("which database for the ledger, Postgres?")
    assert git(story.live.mine(), "fsck", "--full", "--strict") == ""
    assert story.live.run("check").returncode == 0
    assert story.live.run("undo", deleted["commit"][:10]).returncode == 3


def test_the_owner_says_what_is_remembered(story: Story) -> None:
    """A rule keeps things out, another takes in what nothing else would, and a third forgets."""
    for name, when, *do in (
        ("no-people", "text ~ '王芳'", "ignore"),
        ("releases", "text ~ 'release'", "remember", "--kind", "rule", "--importance", "0.9"),
        ("old-ledger", "kind = decision and text ~ 'ledger'", "forget"),
    ):
        story.json("memory", "rule", "set", name, "--when", when, "--do", *do)
    story.capture(FIRST)
    story.capture(json.dumps({"user": "The release train leaves at nine.", "assistant": "OK."}))
    assert "项目经理是王芳" not in story.facts()
    (row,) = story.json("memory", "list", "--kind", "rule")["results"]
    assert row["title"] == "The release train leaves at nine"
    assert story.json("memory", "rule", "test", "old-ledger")["total"] == 1

    assert len(story.json("memory", "forget", "--dry-run")["results"]) == 1
    forgotten = story.json("memory", "consolidate")
    assert forgotten["counts"]["forgotten"] == 1
    assert story.recalled("which database for the ledger, Postgres?") == []
    assert len(story.facts("--status", "forgotten")) == 1
    story.live.run("undo", forgotten["commit"][:10])
    assert story.recalled("which database for the ledger, Postgres?")
    assert story.json("memory", "consolidate")["counts"] == {}


def test_the_memory_can_be_looked_at_as_a_whole(story: Story) -> None:
    """A picture that XML readers take, also around one thing; and a list of what may be worth sharing, with reasons."""
    story.capture(FIRST)
    story.json(
        "memory", "add", "Postgres <& friends> run the ledger", "--entity", "Postgres", "--entity", "<b>&\"ledger'"
    )
    story.json("memory", "consolidate")
    for options in ((), ("--entity", "Postgres")):
        picture = story.live.run("memory", "graph", "--format", "svg", *options)
        assert picture.returncode == 0, picture.stderr
        root = ElementTree.fromstring(picture.stdout)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "Postgres" in "".join(root.itertext())
        assert not any(element.tag.endswith("}script") for element in root.iter())
    assert story.live.run("memory", "graph").stdout.startswith(("graph", "flowchart"))
    best = story.json("memory", "recommend", "--least", "0")["results"]
    assert best and all(one["reasons"] for one in best)
    assert best == sorted(best, key=lambda one: -one["value"])


def test_an_instruction_file_is_taken_in_after_a_look(story: Story) -> None:
    """The preview writes nothing; then candidates, which nothing recalls until their owner makes them active."""
    (story.place / "CLAUDE.md").write_text(
        "# Billing\n\n- Always run `make check` before a commit\n- 回答用中文\n\n```\n- not a rule\n```\n",
        encoding="utf-8",
    )
    head = git(story.live.mine(), "rev-parse", "HEAD")
    preview = story.json("import", "claude-md", str(story.place), "--dry-run")
    assert preview["counts"]["new"] == 2
    assert git(story.live.mine(), "rev-parse", "HEAD") == head

    done = story.json("import", "claude-md", str(story.place))
    assert [one["text"] for one in done["results"]] == [one["text"] for one in preview["results"]]
    candidates = story.facts("--status", "candidate")
    assert len(candidates) == 2
    assert story.recalled("what must run before a commit, make check?") == []
    tail = next(tail for text, tail in candidates.items() if "make check" in text)
    assert story.json("memory", "show", tail)["source"].startswith("import:")
    story.json("memory", "update", tail, "--status", "active")
    assert "make check" in story.recalled("what must run before a commit, make check?")[0]
    assert story.json("import", "claude-md", str(story.place))["counts"]["new"] == 0

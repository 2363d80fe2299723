"""Capturing: one commit, nothing twice, nothing secret, nothing of our own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxrepo.api import ContextRepository
from ctxrepo.errors import NotFound
from ctxrepo.memory.capture import Capture
from ctxrepo.memory.extraction.extract import Extracted
from ctxrepo.memory.extraction.transcript import Turn
from ctxrepo.memory.rulebook import Rulebook
from ctxrepo.memory.rules.grammar import RuleError
from ctxrepo.memory.sessions import has_upload, mark_upload, sweep, take_upload
from ctxrepo.recall.fence import injection
from tests.memory.conftest import PROJECT


def say(repo: ContextRepository, user: str, assistant: str = "OK.", **more: Any) -> dict[str, Any]:
    return Capture(repo).capture({"user": user, "assistant": assistant, **more})


def facts(repo: ContextRepository, status: str | None = "active") -> list[str]:
    return sorted(row["title"] for row in repo.memory.list(status=status)["results"])


def commits(repo: ContextRepository) -> int:
    return len(repo.log(limit=500)["results"])


def test_several_facts_of_a_turn_are_one_commit(repo: ContextRepository) -> None:
    """With session, turn, kind, reason, scope and trailers."""
    before = commits(repo)
    found = say(
        repo,
        "I'm vegetarian. We decided to use Postgres because the team knows it. Run the tests please.",
        session="s1",
        turn=3,
    )

    assert commits(repo) == before + 1
    assert [row["action"] for row in found["results"]] == ["added", "added"]
    vegetarian, postgres = (repo.memory.show(row["id"]) for row in found["results"])
    assert (vegetarian["kind"], vegetarian["project"], vegetarian["session"], vegetarian["turn"]) == (
        "preference",
        "*",
        "s1",
        3,
    )
    assert (postgres["kind"], postgres["project"], postgres["reason"]) == ("decision", PROJECT, "the team knows it")
    assert "memory.capture" in {row["op"] for row in repo.log(limit=9)["results"]}


def test_a_turn_worth_nothing_makes_no_commit(repo: ContextRepository) -> None:
    """Nothing written, nothing moved."""
    before = commits(repo)

    assert say(repo, "hello, how are you?")["commit"] is None
    assert commits(repo) == before


def test_a_dry_run_writes_nothing(repo: ContextRepository) -> None:
    """And tells the same."""
    data = {"user": "I prefer tabs.", "assistant": "", "session": "s", "turn": 0}

    assert Capture(repo).capture(data, dry_run=True)["results"][0]["text"] == "I prefer tabs"
    assert facts(repo) == []
    assert Capture(repo).capture(data)["results"][0]["action"] == "added"


def test_the_same_said_in_another_session_is_merged(repo: ContextRepository) -> None:
    """One fact, one entry: sources and counts add up."""
    first = say(repo, "I'm vegetarian.", session="s1", turn=0)["results"][0]
    second = say(repo, "I'm vegetarian!", session="s2", turn=5)["results"][0]
    fact = repo.memory.show(first["id"])

    assert (second["action"], second["id"]) == ("merged", first["id"])
    assert facts(repo) == ["I'm vegetarian"]
    assert fact["seen"] == 2
    assert len(fact["sources"]) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("负责人是张三。", "负责人换成了李四。"),
        ("我对辣菜过敏。", "我现在不怕辣了，对辣菜不过敏了。"),
        ("I live in Berlin.", "I moved to Lisbon, I no longer live in Berlin."),
    ],
)
def test_a_change_supersedes_the_old_fact_in_the_same_commit(repo: ContextRepository, old: str, new: str) -> None:
    """Both are never recalled together."""
    first = say(repo, old)["results"][0]
    before = commits(repo)
    second = say(repo, new)["results"][0]

    assert second["replaces"] == [first["id"]]
    assert commits(repo) == before + 1
    assert repo.memory.show(first["id"])["superseded_by"] == second["id"]
    assert repo.memory.show(first["id"])["status"] in ("superseded", "invalidated")
    assert len(facts(repo)) == 1


def test_a_turn_is_looked_at_once(repo: ContextRepository) -> None:
    """A growing transcript does not bring back what was corrected in it."""
    rows = ["The owner of billing is Ann.", "The owner of billing is Bob now, not Ann.", "thanks"]
    messages: list[dict[str, str]] = []
    for row in rows:
        messages += [{"role": "user", "content": row}, {"role": "assistant", "content": "OK."}]
        Capture(repo).capture({"session": "s", "messages": messages})

    assert facts(repo) == ["The owner of billing is Bob now, not Ann"]


def test_a_session_without_a_name_captured_twice_adds_nothing(repo: ContextRepository) -> None:
    """The second time everything is known."""
    say(repo, "I prefer tabs. Never push to main without a review.")
    again = say(repo, "I prefer tabs. Never push to main without a review.")

    assert [row["action"] for row in again["results"]] == ["known", "known"]
    assert again["commit"] is None


def test_secrets_are_reported_and_not_stored(repo: ContextRepository, team: Path) -> None:
    """Whatever stands beside them is."""
    found = say(repo, "Remember: the prod password is hunter2x9 and the key is sk-abc123def456. I prefer tabs.")
    stored = "".join(path.read_text(encoding="utf-8") for path in (team / "memory").rglob("*.md"))

    assert facts(repo) == ["I prefer tabs"]
    assert "hunter2x9" not in stored + json.dumps(found)
    assert any("secret" in row["why"] for row in found["left_out"])


def test_rules_ignore_and_remember(repo: ContextRepository) -> None:
    """`ignore` wins; `remember` keeps what nothing else would, with its kind and importance."""
    book = Rulebook(repo)
    book.set("no-salaries", when="text ~ 'salary|工资'", do="ignore")
    book.set("releases", when="text ~ 'release|发布'", do="remember", kind="rule", importance=0.9)
    ignored = say(repo, "I prefer that my salary is paid in euros.")
    kept = say(repo, "The release looked fine. When is the next release?")

    assert ignored["results"] == []
    assert ignored["left_out"][0]["why"] == "rule no-salaries"
    assert [row["text"] for row in kept["results"]] == ["The release looked fine"]
    fact = repo.memory.show(kept["results"][0]["id"])
    assert (fact["kind"], fact["importance"]) == ("rule", 0.9)


def test_the_rulebook_is_edited_and_tested(repo: ContextRepository) -> None:
    """set, list, test, remove: each a commit, prose untouched, faults named."""
    say(repo, "I prefer tabs. We decided to use Postgres.")
    book = Rulebook(repo)
    book.set("tabs", when="kind = preference and text ~ 'tabs'", do="forget")

    assert [row["text"] for row in book.test("tabs")["results"]] == ["I prefer tabs"]
    assert [row["name"] for row in book.list()["results"]] == ["tabs"]
    with pytest.raises(RuleError):
        book.set("bad", when="colour = red", do="ignore")
    book.remove("tabs")
    assert book.list()["results"] == []
    with pytest.raises(NotFound):
        book.test("tabs")


@pytest.mark.parametrize("way", ["mark", "shell", "mcp"])
def test_a_turn_that_uploads_a_document_is_skipped(repo: ContextRepository, way: str) -> None:
    """Marked by `kb add`, or seen in the transcript; the next turn is captured again."""
    words = "I prefer tabs."
    answer: object = "OK."
    if way == "shell":
        answer = [{"type": "tool_use", "name": "Bash", "input": {"command": "ctxrepo kb add billing policy.md"}}]
    elif way == "mcp":
        answer = [{"type": "tool_use", "name": "mcp__ctxrepo__kb_add", "input": {}}]
    else:
        mark_upload(repo.layout.local, "s", at=repo.clock())
    messages = [{"role": "user", "content": words}, {"role": "assistant", "content": answer}]
    skipped = Capture(repo).capture({"session": "s", "messages": messages})
    after = Capture(repo).capture(
        {"session": "s", "messages": [*messages, {"role": "user", "content": "I prefer short answers."}]}
    )

    assert (skipped["results"], skipped["skipped"]) == ([], 1)
    assert [row["text"] for row in after["results"]] == ["I prefer short answers"]
    assert not has_upload(repo.layout.local, "s")


def test_a_turn_handed_over_with_its_mark_leaves_the_next_marks_alone(repo: ContextRepository) -> None:
    """A hook takes the mark when the turn ends; a later upload belongs to a later turn."""
    local = repo.layout.local
    mark_upload(local, "s", at=repo.clock())
    first, second = take_upload(local, "s"), take_upload(local, "s")
    mark_upload(local, "s", at=repo.clock())
    kept = say(repo, "I prefer tabs.", session="s", turn=1, uploads=second)
    skipped = say(repo, "I prefer long documents.", session="s", turn=0, uploads=first)

    assert [row["text"] for row in kept["results"]] == ["I prefer tabs"]
    assert skipped["skipped"] == 1
    assert has_upload(local, "s")


def test_an_upload_belongs_to_the_turn_in_whose_time_it_ran(repo: ContextRepository) -> None:
    """With times in the transcript the other turns of the session are captured."""
    mark_upload(repo.layout.local, "s", at=1_795_000_060.0)
    times = ["2026-11-18T11:06:30Z", "2026-11-18T11:07:30Z", "2026-11-18T11:09:30Z"]
    words = ["I prefer tabs.", "I prefer long documents.", "I prefer short answers."]
    rows = [
        {"type": "user", "sessionId": "s", "timestamp": at, "message": {"role": "user", "content": text}}
        for at, text in zip(times, words, strict=True)
    ]
    found = Capture(repo).capture("\n".join(map(json.dumps, rows)))

    assert [row["text"] for row in found["results"]] == ["I prefer tabs", "I prefer short answers"]


def test_a_hundred_sessions_with_recalled_blocks_capture_none_of_them(repo: ContextRepository) -> None:
    """In prompts, attachments, tool output and echoes, closed, open or escaped."""
    known = [f"I prefer colour number {number} for charts." for number in range(10)]
    for text in known:
        repo.memory.add(text, kind="preference")
    before = facts(repo)
    hits = [
        {"kind": "preference", "created": "2026-10-02", "path": f"memory/me/facts/2026-10/c-{number}.md", "text": text}
        for number, text in enumerate(known)
    ]
    block = injection(hits, [("billing", "how we bill: always in euros")])
    assert "I prefer colour" in block
    shapes: list[Callable[[str], list[dict[str, Any]]]] = [
        lambda text: [_user(f"{text}\nwhat colour is the header?")],
        lambda text: [_user(f"what colour is the header?\n{text}")],
        lambda text: [
            _user("what colour?"),
            {"type": "attachment", "attachment": {"type": "hook_success", "content": text}},
        ],
        lambda text: [_user("what colour?"), _user([{"type": "tool_result", "content": text}])],
        lambda text: [_user(f"<system-reminder>{text}</system-reminder>"), _user("ok")],
        lambda text: [_user(text.replace("<", "&lt;").replace(">", "&gt;"))],
        lambda text: [_user(text.removesuffix("</recalled-memories>"))],
        lambda text: [_user("Yes, that was it."), _assistant(f"As recalled: {known[3]} The cause was that {known[4]}")],
        lambda text: [_user(f"{text}\nwhat colour?"), _user(known[2])],
        lambda text: [_user("\n".join(line for line in text.split("\n") if line.startswith("- (")))],
    ]
    for number in range(100):
        rows = [_user("hello"), *shapes[number % 10](block), _assistant(block), _user("thanks")]
        for row in rows:
            row["sessionId"] = f"session-{number}"
        Capture(repo).capture("\n".join(json.dumps(row) for row in rows))

    assert facts(repo) == before


def test_what_a_model_proposes_needs_a_quotation(repo: ContextRepository) -> None:
    """A fact without support in the turn is dropped; the rest passes the same gates."""

    def fact(text: str, quote: str) -> Extracted:
        return Extracted("fact", text, (), (), 0.5, 0.8, "project", None, None, None, quote)

    def propose(turn: Turn, today: Any) -> list[Extracted]:
        return [fact("The lift is broken", "lift is broken"), fact("The user is rich", "I am rich")]

    found = Capture(repo).capture({"user": "Sigh, the lift is broken.", "assistant": ""}, propose=propose)

    assert [row["text"] for row in found["results"]] == ["The lift is broken"]


def test_an_agents_facts_are_its_own(opened: Callable[..., ContextRepository]) -> None:
    """Another agent that says the same gets an entry of its own."""
    say(opened(agent="codex"), "I prefer tabs.")
    second = say(opened(agent="claude-code"), "I prefer tabs.")

    assert second["results"][0]["action"] == "added"


def test_old_session_files_are_swept(repo: ContextRepository) -> None:
    """Those that nobody touched for long."""
    mark_upload(repo.layout.local, "Some Session / with a strange name")

    assert sweep(repo.layout.local, time.time()) == 0
    assert sweep(repo.layout.local, time.time() + 100 * 86_400) == 1


@pytest.mark.bench
def test_a_turn_costs_little(repo: ContextRepository) -> None:
    """At most 15 ms CPU beside the commit, among the facts of all labelled turns."""
    cases = Path(__file__).parent.parent / "cases" / "extract" / "development.jsonl"
    said = [json.loads(line)["user"] for line in cases.read_text(encoding="utf-8").splitlines()]
    Capture(repo).capture({"messages": [{"role": "user", "content": text} for text in said]})
    assert len(facts(repo)) > 60
    time.sleep(0.1)
    repo.sync(repo.memory_store)
    capture = Capture(repo)
    spent = []
    for number in range(15):
        turn = [Turn(f"Thanks! I prefer editor number {number}. Could you check the second test again?", "Sure.")]
        start = time.process_time()
        capture.capture(turn, dry_run=True)
        spent.append(time.process_time() - start)

    assert sorted(spent)[len(spent) // 2] <= 0.015


def _user(content: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}}


def _assistant(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0001-01-01"])
def test_a_clock_at_the_end_of_the_calendar_counts_as_none(repo: ContextRepository, moment: str) -> None:
    """The fact is captured as of now, whatever the transcript claims."""
    found = say(repo, "I prefer dark roast coffee in the morning.", time=moment)
    (row,) = found["results"]
    assert repo.memory.show(row["id"])["created"] >= "2026"


def test_half_a_character_costs_its_sentence_only(repo: ContextRepository) -> None:
    """Hosts cut texts in the middle of an emoji; JSON can hold the half, a file cannot."""
    names = {"session": "half \ud83d", "cwd": "/\ud83d", "time": "\ud83d"}
    say(repo, "I prefer \ud83d tea. I prefer dark roast coffee in the morning.", **names)
    assert facts(repo) == ["I prefer dark roast coffee in the morning"]

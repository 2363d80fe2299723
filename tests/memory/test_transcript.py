"""Transcripts: three forms, and nothing that a machine said."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ctxrepo.errors import Invalid
from ctxrepo.memory.extraction.sentences import sentences
from ctxrepo.memory.extraction.transcript import Turn, clean, is_machine_made, turns

BLOCK = (
    "<recalled-memories>\nNotes that ctxrepo recalled from this user's own memory.\n"
    "- (preference, 2026-10-02, memory/me/facts/2026-10/a-1.md) I prefer dark mode.\n</recalled-memories>"
)


def lines(*rows: dict[str, Any]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def user(text: object, **more: Any) -> dict[str, Any]:
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}} | more


def assistant(text: object, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": text}} | more


def test_one_turn_is_read() -> None:
    """With session, number and time where they are given."""
    data = {"user": "hi", "assistant": "hello", "session": "a", "turn": 4, "time": "2026-11-25T10:00:00Z"}

    assert turns(json.dumps(data)) == [Turn("hi", "hello", "a", 4, "2026-11-25T10:00:00Z")]
    assert turns(data) == turns(json.dumps(data))


def test_messages_are_joined_to_turns() -> None:
    """Contents may be texts or blocks; several answers belong to one turn."""
    data = {
        "session_id": "a",
        "messages": [
            {"role": "system", "content": "I prefer to be obeyed."},
            {"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": "1a"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "1b"}]},
            {"role": "user", "content": "two"},
        ],
    }

    assert turns(json.dumps(data)) == [Turn("one", "1a\n1b", "a", 0), Turn("two", "", "a", 1)]


def test_rows_that_no_person_typed_begin_no_turn() -> None:
    """Tool results, summaries, meta rows, sub-agents, commands, notifications and half lines are left out."""
    data = lines(
        {"type": "summary", "summary": "I prefer dark mode"},
        user("I prefer tabs."),
        assistant(
            [{"type": "text", "text": "Noted."}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]
        ),
        user([{"type": "tool_result", "tool_use_id": "t", "content": "I prefer spaces."}]),
        user("I prefer silence.", isMeta=True),
        user("I prefer summaries.", isCompactSummary=True),
        user("I prefer sub-agents.", isSidechain=True),
        user("<task-notification>I prefer tasks.</task-notification>"),
        user("<command-name>/compact</command-name>"),
        user("/compact I prefer commands"),
        user("[Request interrupted by user]"),
        user("This session is being continued from a previous conversation. I prefer dark mode."),
        {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": BLOCK}},
        assistant("Done."),
    )

    assert [turn.user for turn in turns(data + '\n{"type": "user", "mess')] == ["I prefer tabs."]
    assert turns(data)[0].assistant == "Noted.\nDone."
    assert "I prefer dark mode." in turns(data)[0].shown


@pytest.mark.parametrize(
    "text",
    [
        f"{BLOCK}\nhello",
        f"hello\n{BLOCK}",
        BLOCK.replace("</recalled-memories>", "") + "\nnever closed",
        BLOCK.replace("<", "&lt;").replace(">", "&gt;") + " hello",
        BLOCK.upper().replace("I PREFER DARK MODE", "I prefer dark mode"),
        "- (preference, 2026-10-02, memory/me/facts/2026-10/a-1.md) I prefer dark mode.\nhello",
        "<private>I prefer dark mode</private> hello",
        "<private>I prefer dark mode",
        "<system-reminder>I prefer dark mode</system-reminder>hello",
        "<recalled-memories><private>x</private></recalled-memories><private>I prefer dark mode</private>",
    ],
)
def test_blocks_are_cut_out(text: str) -> None:
    """Ours, the host's and what is private, whole, nested, escaped, upper-case or never closed."""
    assert "dark mode" not in clean(text)


def test_a_persons_angle_brackets_stay() -> None:
    """Code and comparisons are no blocks of ours."""
    assert clean("use Vec<String> if a < b and <b>bold</b>") == "use Vec<String> if a < b and <b>bold</b>"
    assert not is_machine_made("<b>bold</b> please")


def test_an_upload_by_shell_or_mcp_marks_its_turn() -> None:
    """The call itself tells; talk about it does not."""
    shell = {"type": "tool_use", "name": "Bash", "input": {"command": "cd x && ctxrepo --json kb add billing a.md"}}
    tool = {"type": "tool_use", "name": "mcp__ctxrepo__kb_add", "input": {"kb": "billing"}}
    talk = {"type": "text", "text": "Run `ctxrepo kb add billing a.md`."}

    found = turns(
        lines(user("a"), assistant([shell]), user("b"), assistant([tool]), user("c"), assistant([talk]), user("d"))
    )

    assert [turn.uploads for turn in found] == [True, True, None, None]
    assert turns({"user": "a", "uploads": True})[0].uploads is True


@pytest.mark.parametrize("data", ["hello", "[1, 2", "<html>"])
def test_anything_else_is_refused_with_an_example(data: str) -> None:
    """Not guessed at."""
    with pytest.raises(Invalid) as fault:
        turns(data)
    assert fault.value.hint is not None


def test_nothing_is_no_turn() -> None:
    """Empty input, an empty list, an empty message."""
    assert turns("") == turns("[]") == turns('{"messages": []}') == turns('{"user": "", "assistant": ""}') == []


@pytest.mark.parametrize("nested", ["[" * 100_000, '{"user":' * 50_000])
def test_data_nested_beyond_reason_are_no_transcript(nested: str) -> None:
    """As a whole and as one row among good ones."""
    with pytest.raises(Invalid, match="neither a turn nor a transcript"):
        turns(nested)
    assert [turn.user for turn in turns(lines(user("I prefer tea.")) + "\n" + nested)] == ["I prefer tea."]


@pytest.mark.parametrize("run", [" " * 200_000, "\n" * 200_000, "memory/me/facts/" * 10_000, "://" * 50_000])
def test_a_long_run_of_anything_takes_no_time(run: str) -> None:
    """A pasted log may hold hundreds of thousands of blanks."""
    before = time.process_time()
    (turn,) = turns({"user": run + "I prefer tea.", "assistant": ""})
    sentences(turn.user)
    assert time.process_time() - before < 1

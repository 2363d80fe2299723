"""`ctxrepo memory capture` and `ctxrepo memory rule …`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Command


def test_a_turn_in_a_file_is_captured(ctx: Command, tmp_path: Path) -> None:
    """What was stored, where, and what was left out."""
    turn = tmp_path / "turn.json"
    turn.write_text(json.dumps({"user": "我对辣菜过敏。Remember: the key is sk-abc123def456.", "assistant": "好的。"}))
    done = ctx("memory", "capture", str(turn))

    assert "added (preference): 我对辣菜过敏" in done.out
    assert "memory/me/facts/" in done.out
    assert "it holds a secret" in done.err
    assert "sk-abc123def456" not in done.out + done.err


def test_nothing_worth_remembering_is_said(ctx: Command, tmp_path: Path) -> None:
    """And a dry run writes nothing."""
    turn = tmp_path / "turn.json"
    turn.write_text(json.dumps({"user": "hello"}))
    assert "Nothing worth remembering." in ctx("memory", "capture", str(turn)).out

    turn.write_text(json.dumps({"user": "I prefer tabs."}))
    ctx("memory", "capture", str(turn), "--dry-run")
    assert json.loads(ctx("memory", "list", "--json").out)["total"] == 0


def test_what_is_no_transcript_is_refused(ctx: Command, tmp_path: Path) -> None:
    """Exit 4, with an example."""
    turn = tmp_path / "turn.txt"
    turn.write_text("hello")
    assert "ctxrepo memory capture" in ctx("memory", "capture", str(turn), code=4).hint


def test_rules_are_set_listed_tested_and_removed(ctx: Command) -> None:
    """The whole life of a rule."""
    ctx("memory", "add", "I prefer tabs", "--kind", "preference")
    ctx("memory", "rule", "set", "tabs", "--when", "text ~ 'TABS'", "--do", "ignore")
    assert "tabs" in ctx("memory", "rule", "list").out
    assert "matches 1 fact" in ctx("memory", "rule", "test", "tabs").out
    ctx("memory", "rule", "remove", "tabs")
    assert "no rule called 'tabs'" in ctx("memory", "rule", "test", "tabs", code=3).err


def test_a_rule_that_does_not_parse_shows_the_place(ctx: Command) -> None:
    """Column, reason and a mark; nothing is written."""
    done = ctx("memory", "rule", "set", "bad", "--when", "colour = red", "--do", "ignore", code=4)

    assert "column 11" in done.err
    assert "^" in done.err

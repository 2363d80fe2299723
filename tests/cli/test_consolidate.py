"""`ctxrepo memory consolidate | forget | graph | recommend` as a person meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Command


def test_consolidate_tells_first_and_then_does(ctx: Command) -> None:
    """A dry run names pairs and reasons and writes nothing; the run says how to take it back, and that works."""
    ctx("memory", "add", "Standup is at 9:30")
    ctx("memory", "add", "The standup is at 9:30")

    told = ctx("memory", "consolidate", "--dry-run")
    assert told.lines[0] == "merged: 2 facts say the same"
    assert told.lines[-1] == "2 facts: 1 merged; 0 entity pages."

    done = ctx("memory", "consolidate")
    undo = done.lines[-1].removeprefix("Undo with: ctxrepo ").split()
    assert len(ctx.json("memory", "list")["results"]) == 1
    ctx(*undo)
    assert len(ctx.json("memory", "list")["results"]) == 2


def test_consolidate_with_nothing_to_do_says_so(ctx: Command) -> None:
    """No commit, no hint to undo."""
    assert ctx("memory", "consolidate").lines == ["0 facts: nothing to do; 0 entity pages."]


def test_consolidate_gives_every_decision_as_json(ctx: Command) -> None:
    """One object with what was decided, why, about which ids and texts."""
    ctx("memory", "add", "We use npm")
    ctx("memory", "add", "We switched from npm to pnpm")

    found = ctx.json("memory", "consolidate")

    (decision,) = found["decisions"]
    assert (decision["sort"], decision["texts"]) == (
        "superseded",
        ["We switched from npm to pnpm", "We use npm"],
    )
    assert (found["counts"], found["left"], len(found["commit"])) == ({"superseded": 1}, [], 40)


def test_forget_tells_which_and_why(ctx: Command) -> None:
    """By a rule of the owner; afterwards recall passes it by."""
    ctx("memory", "add", "Printer paper is in the cellar", "--importance", "0.1")
    rules = ctx.folder / "memory" / "me" / "rules.md"
    rules.write_text("---\nrules:\n  - \"paper: when text ~ 'paper' do forget\"\n---\n", encoding="utf-8")

    told = ctx("memory", "forget", "--dry-run")
    assert told.lines[1:] == ["  rule paper", "1 fact would be forgotten."]
    assert ctx("memory", "forget").lines[2] == "1 fact forgotten."
    assert ctx.json("memory", "list")["total"] == 0


@pytest.mark.parametrize(
    ("form", "begin"), [("mermaid", "graph LR"), ("dot", "graph memory {"), ("json", "{"), ("svg", "<svg ")]
)
def test_graph_in_every_format(ctx: Command, form: str, begin: str) -> None:
    """What two facts name is drawn, in Chinese too."""
    ctx("memory", "add", "退款找 Tom", "--entity", "退款", "--entity", "Tom")

    text = ctx("memory", "graph", "--format", form).out

    assert text.startswith(begin)
    assert "退款" in text
    assert ctx("memory", "graph", "--entity", "nobody", code=3).out == ""


def test_recommend_gives_reasons(ctx: Command, tmp_path: Path) -> None:
    """What may be worth sharing, with its value and reasons; a preference never is."""
    ctx("memory", "add", "Refunds above 500 EUR need two signatures", "--kind", "decision", "--importance", "1")
    ctx("memory", "add", "I like tea", "--kind", "preference", "--importance", "1")

    found = ctx.json("memory", "recommend", "--least", "0")["results"]

    assert [row["text"] for row in found] == ["Refunds above 500 EUR need two signatures"]
    assert "a decision that others have to know" in found[0]["reasons"]
    assert "1 of 2 facts are worth a look." in ctx("memory", "recommend", "--least", "0").out

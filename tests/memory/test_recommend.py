"""What is proposed for sharing, and that it is only proposed."""

from __future__ import annotations

from typing import Any

import pytest

from ctxrepo.asset.frontmatter import Parsed
from ctxrepo.asset.kinds import values
from ctxrepo.memory.held import Held
from ctxrepo.memory.recommend import recommended

DAY = 86_400.0
NOW = 400 * DAY


def held(ident: str, text: str = "Refunds above 500 EUR need two signatures", age: float = 90, **fields: Any) -> Held:
    header = {"id": ident, "kind": "decision", "importance": 0.8, "confidence": 0.9, "uses": 8, **fields}
    return Held(
        f"facts/{ident}.md", "e", Parsed(header, {}, text, 1, text), values("fact", header), ident, text,
        NOW - age * DAY,
    )  # fmt: skip


def test_a_used_decision_is_proposed_with_its_reasons() -> None:
    """What was decided, recalled often and said in several sessions comes first, and says why."""
    often = held("1", sources=["codex#a:1", "codex#b:4"], seen=2)
    found = recommended([held("2", uses=0, importance=0.5), often], at=NOW)

    assert found[0].fact is often
    assert found[0].reasons[:3] == ("a decision that others have to know", "recalled 8 times", "said in 2 sessions")


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "preference"},
        {"kind": "task-state"},
        {"status": "conflict"},
        {"status": "superseded"},
        {"status": "candidate"},
        {"valid_until": "1970-12-01"},
        {"uses": 0, "importance": 0.3, "confidence": 0.5},
    ],
)
def test_what_is_personal_unsettled_or_useless_is_not_proposed(fields: dict[str, Any]) -> None:
    """A preference, a task's state, a conflict, what has ended and what nobody used stays private."""
    assert recommended([held("1", **fields)], at=NOW) == []


@pytest.mark.parametrize("text", ["My desk is by the window", "我坐在窗边"])
def test_what_speaks_about_its_owner_is_worth_less(text: str) -> None:
    """A sentence about oneself falls behind the same fact about the work."""
    (private,) = recommended([held("1", text)], at=NOW, least=0)
    (shared,) = recommended([held("2")], at=NOW, least=0)

    assert private.value < 0.6 * shared.value
    assert "but it speaks about its owner" in private.reasons


def test_what_was_just_said_has_to_stand_first() -> None:
    """A fact of today is worth less than the same fact of last month."""
    (young,), (old,) = recommended([held("1", age=0)], at=NOW, least=0), recommended([held("1")], at=NOW, least=0)

    assert young.value < old.value


def test_the_best_come_first_and_not_too_many() -> None:
    """At most `limit` are proposed, by value."""
    found = recommended([held(str(n), uses=n) for n in range(30)], at=NOW, limit=5)

    assert [each.fact.number("uses") for each in found][:2] == [29, 28] or found[0].value >= found[-1].value
    assert len(found) == 5

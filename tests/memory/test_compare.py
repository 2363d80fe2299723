"""Two facts and what one is to the other, over labelled pairs and over the properties every pair must have."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.memory.comparison.compare import better_wording, digest, relation
from ctxrepo.memory.comparison.quantities import arabic, quantities

CASES = Path(__file__).parents[1] / "cases" / "compare"
RELATIONS = {"duplicate", "supersede", "invalidate", "conflict", "distinct"}
REACH = 0.9


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ["dev.jsonl", "held_out.jsonl"])
def test_nine_of_ten_pairs_get_their_label(name: str) -> None:
    """Over each labelled set at least 0.9 of the pairs are told right."""
    rows = load(name)
    right = sum(relation(row["old"], row["new"]).kind == row["relation"] for row in rows)

    assert right / len(rows) >= REACH, Counter(
        (row["relation"], kind) for row in rows if (kind := relation(row["old"], row["new"]).kind) != row["relation"]
    )


DISTINCT = [
    row
    for name in ("dev.jsonl", "held_out.jsonl", "traps.jsonl")
    for row in load(name)
    if row["relation"] == "distinct"
]


@pytest.mark.parametrize("row", DISTINCT, ids=lambda row: row["id"])
def test_distinct_facts_are_never_merged(row: dict[str, Any]) -> None:
    """What a person calls two facts is merged, superseded or invalidated in neither order."""
    ended = {"duplicate", "supersede", "invalidate"}

    assert relation(row["old"], row["new"]).kind not in ended
    assert relation(row["new"], row["old"]).kind not in ended


@pytest.mark.parametrize("row", load("dev.jsonl")[::4], ids=lambda row: row["id"])
def test_a_fact_is_a_duplicate_of_itself_in_other_dress(row: dict[str, Any]) -> None:
    """White space, a final stop, traditional characters and width do not make another fact."""
    for text in (row["old"], row["new"]):
        assert relation(text, f"  {text} ").kind == "duplicate"
        wide = text.translate({ord("("): "（", ord(")"): "）", ord(","): "，", ord(":"): "："})
        assert relation(text, wide).kind == "duplicate"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Deploys happen on Tuesday", "Deploys happen on Tuesday now", "duplicate"),
        ("怕辣", "我现在不怕辣了", "supersede"),
        ("I live in Oslo", "I never lived in Oslo, that was a mistake", "invalidate"),
        ("The office is in Oslo", "The office is in Bergen", "conflict"),
        ("预算是五万元", "预算是 50000 元", "duplicate"),
        ("周会在下午三点", "周会在 15:00", "duplicate"),
        ("The limit is 1,000 requests", "The limit is 1000 requests", "duplicate"),
        ("Standup is on Monday and retro is on Friday", "Retro is on Friday and standup is on Monday", "duplicate"),
        ("I like apples, pears and plums", "I like plums, apples and pears", "duplicate"),
        ("周一和周五开会", "周五和周一开会", "duplicate"),
        ("第 3 个需求是给报表加导出", "第 4 个需求是给报表加导出", "distinct"),
        ("Ticket #812 is open", "Ticket #821 is open", "distinct"),
        ("", "", "duplicate"),
        ("🙂", "🙃", "distinct"),
    ],
)
def test_what_was_true_differs_from_what_was_wrong(old: str, new: str, kind: str) -> None:
    """Change ends a fact, an error denies it, silence leaves both in conflict; quantities have one form."""
    assert relation(old, new).kind == kind


def test_every_relation_gives_its_reason() -> None:
    """No decision comes without a sentence for the commit."""
    for row in load("dev.jsonl"):
        found = relation(row["old"], row["new"])

        assert found.kind in RELATIONS
        assert 0 < found.confidence <= 1
        assert all(found.reasons)


def test_better_wording_is_the_one_that_says_more() -> None:
    """The better of two is the fuller, and of two equal ones the shorter; it is never a new text."""
    long, short = "Standup is at 9:30 in room 4", "Standup is at 9:30"

    assert better_wording(long, short) == better_wording(short, long) == long
    assert better_wording("请用中文写代码注释", "代码注释用中文写") == "代码注释用中文写"


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_compared(old: str, new: str) -> None:
    """Whatever people write, a relation comes out, and a text is never distinct from itself."""
    assert relation(old, new).kind in RELATIONS
    assert relation(old, old).kind == "duplicate"


@given(st.sampled_from(load("dev.jsonl")), st.floats(min_value=0, max_value=1))
def test_how_common_words_are_makes_no_distinct_facts_equal(row: dict[str, Any], rare: float) -> None:
    """Whatever rarity an index reports, distinct facts stay distinct."""
    found = relation(row["old"], row["new"], rarity=lambda _: rare)

    assert row["relation"] != "distinct" or found.kind not in {"duplicate", "supersede", "invalidate"}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("每周五下午三点", ["weekday:5", "time:15:00"]),
        ("5 May at 2 pm", ["date:5-5", "time:14:00"]),
        ("2026-05-05 和 5月5日", ["date:5-5", "date:5-5"]),
        ("INV-1001 and #12", ["inv-1001", "#12"]),
        ("Postgres 15, v1.2.3", ["version:15", "version:1.2.3"]),
        ("十二个人，三次", ["12人", "3次"]),
        ("一百二十万元", ["1200000元"]),
        ("the third floor", ["3楼"]),
    ],
)
def test_quantities_have_one_form(text: str, keys: list[str]) -> None:
    """A number, time or date is the same value in either language and any notation."""
    assert [quantity.key for _, _, quantity in quantities(arabic(text))] == keys


def test_a_digest_is_read_once() -> None:
    """A fact compared many times is taken apart once."""
    assert digest("Standup is at 9:30") is digest("Standup is at 9:30")

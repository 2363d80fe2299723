"""Extraction: figures over labelled turns, and what is kept of a sentence."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ctxrepo.memory.extraction.extract import Extracted, extract, statements, supported
from ctxrepo.memory.extraction.sentences import own_words, sentences
from ctxrepo.memory.extraction.transcript import Turn, turns

CASES = Path(__file__).parent.parent / "cases" / "extract"
WEDNESDAY = date(2026, 11, 25)


def found(user: str, assistant: str = "", before: str = "") -> list[Extracted]:
    return extract(Turn(user, assistant), today=WEDNESDAY, before=before)


def one(user: str) -> Extracted:
    facts = found(user)
    assert len(facts) == 1, facts
    return facts[0]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


def facts_of(row: dict[str, Any]) -> list[Extracted]:
    data = json.dumps({"user": row["user"], "assistant": row["assistant"]})
    return [fact for turn in turns(data) for fact in extract(turn, today=WEDNESDAY)]


@pytest.mark.parametrize("name", ["development.jsonl", "held-out.jsonl", "further.jsonl"])
def test_turns_worth_nothing_leave_nothing(name: str) -> None:
    """At least 95 % of greetings, questions, orders, guesses, quotations and pasted text yield no fact."""
    nothing = [row for row in rows(name) if not row["expect"]]
    wrong = {row["id"]: facts_of(row) for row in nothing if facts_of(row)}

    assert len(nothing) * 2 >= len(rows(name))
    assert len(wrong) <= 0.05 * len(nothing), wrong


@pytest.mark.parametrize("name", ["development.jsonl", "held-out.jsonl", "further.jsonl"])
def test_what_matters_is_found_with_its_kind(name: str) -> None:
    """At least 85 % of the preferences, rules, decisions, corrections and facts are found."""
    wanted = [(row, expected) for row in rows(name) for expected in row["expect"]]
    missed = [
        row["id"]
        for row, expected in wanted
        if not any(
            fact.kind in expected["kinds"] and all(word in fact.text for word in expected["has"])
            for fact in facts_of(row)
        )
    ]

    assert len(missed) <= 0.15 * len(wanted), missed


def test_the_words_and_the_language_of_the_user_are_kept() -> None:
    """Only what introduces a sentence is taken off."""
    assert one("By the way, I'm left-handed.").text == "I'm left-handed"
    assert one("Please remember that the warehouse closes at 4 pm.").text == "The warehouse closes at 4 pm"
    assert one("另外，我们的域名已经换成 shop.example.cn 了。").text == "我们的域名已经换成 shop.example.cn 了"
    assert one("別再用 npm 了，統一用 pnpm。").text == "別再用 npm 了，統一用 pnpm"


def test_only_the_sentence_that_matters_is_kept() -> None:
    """A turn is no unit: thanks before and a request after it stay out."""
    texts = [fact.text for fact in found("Thanks! We'll keep Terraform because it works. Run the plan again please.")]

    assert texts == ["We'll keep Terraform because it works"]


def test_a_decision_keeps_its_reason() -> None:
    """The reason stands in the sentence, or in the next one."""
    assert one("We chose Stripe because of its API.").reason == "of its API"
    assert one("数据库选 PostgreSQL，因为要用 JSONB。").reason == "要用 JSONB"
    assert found("We chose Stripe. The reason is its API.")[0].reason == "its API"


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("The staging database is frozen until Friday.", None, "2026-11-27"),
        ("I'm on vacation until August 15.", None, "2027-08-15"),
        ("Starting next Monday we use the new VPN.", "2026-11-30", None),
        ("The promo code is valid until 31 December.", None, "2026-12-31"),
        ("从下周起站会改到九点半。", "2026-11-30", None),
        ("到月底之前先别改价格接口，对方在联调。", None, "2026-11-30"),
        ("下个月开始报销走新系统。", "2026-12-01", None),
        ("The invoice deadline is December 4th.", None, None),
    ],
)
def test_validity_is_read_where_it_is_said(text: str, start: str | None, end: str | None) -> None:
    """A deadline ends nothing; "until" and "从…起" set the days."""
    fact = one(text)

    assert (fact.valid_from, fact.valid_until) == (start, end)


def test_a_conclusion_of_the_assistant_counts_only_when_the_user_confirms_it() -> None:
    """Its own opinion is no fact, and a plain "yes" confirms what was said before."""
    cause = "The root cause was the expired TLS certificate."

    assert found("Can you look again?", cause) == []
    assert [fact.text for fact in found("Yes, that was the problem.", cause)] == [cause.rstrip(".")]
    assert [fact.text for fact in found("Exactly.", "I will fix it.", before=cause)] == [cause.rstrip(".")]
    assert found("Yes please.", "I think it might be the cache.") == []
    assert (
        found("Yes, that was the problem.", cause)[0].confidence < one("It turned out the proxy was down.").confidence
    )


def test_what_is_about_the_person_holds_everywhere() -> None:
    """What is about the work stays with the project."""
    assert one("I'm allergic to peanuts.").project_scope == "everywhere"
    assert one("In this repo, always run tests with `pytest -x`.").project_scope == "project"
    assert one("我不吃香菜。").project_scope == "everywhere"


def test_an_opening_reaches_the_sentences_behind_it() -> None:
    """ "That's wrong." makes the next sentence a correction, and a list under "From now on:" is a list of rules."""
    assert found("That's wrong. The API limit is 500 requests per minute.")[0].kind == "correction"
    listed = found("From now on, always do the following:\n- answer in short sentences\n- no emojis at all\n\nthanks")
    assert [fact.kind for fact in listed] == ["rule", "rule"]


def test_facts_of_others_in_a_long_paste_do_not_count() -> None:
    """Many sentences about things are a document; a preference in between is still one."""
    paste = " ".join(f"Server {number} listens on port {8000 + number}." for number in range(20))

    assert found(paste) == []
    assert [fact.kind for fact in found(f"{paste} I prefer short tables.")] == ["preference"]


def test_pasted_lines_and_payloads_are_not_the_users_words() -> None:
    """Fences, prompts, logs, quotations and the text behind "translate this:" are left out."""
    pasted = "```\nI prefer tabs\n```\n> I prefer spaces\n$ echo I prefer zsh\n2026-11-03 10:22:41 I prefer UTC"
    text = f"{pasted}\nI prefer vim."

    assert own_words(text).strip() == "I prefer vim."
    assert found("Translate this into German:\nI always drink tea.") == []
    assert found("把下面这句翻译成英文：我不喜欢吃香菜。") == []


def test_a_sentence_ends_where_a_reader_ends_it() -> None:
    """Abbreviations, versions and file names end none; 。 and line breaks do."""
    split = [sentence.text for sentence in sentences("Use e.g. v1.2 of app.py. 好的。不用了\n- next")]

    assert split == ["Use e.g. v1.2 of app.py.", "好的。", "不用了", "next"]


def test_statements_are_what_is_not_asked() -> None:
    """For rules that remember anyway: every sentence but the questions."""
    assert [one.text for one in statements(Turn("The release is out. When is the next release? 发布了。"))] == [
        "The release is out",
        "发布了",
    ]


def test_a_quotation_must_stand_in_the_turn() -> None:
    """A model's fact without support in the turn is dropped."""
    turn = Turn("I like  tea.", "Noted.")

    assert supported("i like tea", turn)
    assert not supported("I like coffee", turn)


@pytest.mark.parametrize("piece", ["a ", "not ", "的", "always ", "不是", "because ", "'", "word, ", "no ", "((", "A "])
def test_time_grows_with_length_only(piece: str) -> None:
    """No text makes the patterns hang."""
    text = (piece * 800)[:799]
    start = time.process_time()
    found(text, text)

    assert time.process_time() - start < 0.3

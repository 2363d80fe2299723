"""The short-term window: budgets kept, oldest rounds folded two at a time, nothing lost silently."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ctxrepo.errors import UsageFault
from ctxrepo.text.digest import sentences, telling, weight
from ctxrepo.text.tokencount import token_count
from ctxrepo.window import Budget, Fold, Window, message_text, message_tokens, summarise_by_rules


def turn(number: int, words: int = 120) -> list[dict[str, Any]]:
    filler = " ".join(f"word{number}x{index}" for index in range(words))
    return [
        {"role": "user", "content": f"Well, we decided that service {number} uses port {8000 + number}. {filler}"},
        {"role": "assistant", "content": f"Noted for service {number}. {filler}"},
    ]  # fmt: skip


def filled(rounds: int, **settings: Any) -> tuple[Window, list[Fold]]:
    folds: list[Fold] = []
    window = Window(on_fold=folds.append, **settings)
    window.system("You are a helpful assistant.")
    for number in range(rounds):
        window.add(*turn(number))
    return window, folds


def test_short_conversation_is_untouched() -> None:
    """What fits goes to the model as it came, message for message."""
    window, folds = filled(2)
    assert window.messages()[1:] == [*turn(0), *turn(1)]
    assert folds == []
    assert window.notes == []


def test_budget_is_kept() -> None:
    """After every message of a long conversation the whole stays within 8,000 tokens."""
    window = Window()
    window.system("System. " * 100)
    window.context("A line of the context file.\n" * 100)
    for number in range(60):
        for message in turn(number, words=random.Random(number).choice([5, 80, 300])):
            window.add(message)
            assert window.tokens() <= 8000 + 20


def test_oldest_two_rounds_fold_into_one_summary_on_top() -> None:
    """Folding takes exactly the two oldest rounds each time; one summary stands above the rest, in the user's name."""
    window, folds = filled(40)
    assert len(folds) > 3
    assert all(len(fold.messages) == 4 for fold in folds)
    sent = window.messages()
    assert sent[0]["role"] == "system"
    assert sent[1]["role"] == "user"
    assert sent[1]["content"].startswith("<conversation-summary>")
    assert sum("<conversation-summary>" in message_text(message) for message in sent) == 1
    assert sent[-1] == turn(39)[-1]


def test_nothing_is_lost() -> None:
    """Every message is either still in the window or was handed out whole, in order."""
    window, folds = filled(40)
    gone = [message for fold in folds for message in fold.messages]
    assert gone + window.messages()[2:] == [message for number in range(40) for message in turn(number)]


def test_summary_keeps_decisions_in_their_words() -> None:
    """The first decision is still readable after several folds, and what had to go is counted."""
    window, _ = filled(12)
    summary = window.messages()[1]["content"]
    assert "we decided that service 0 uses port 8000." in summary
    window, _ = filled(200)
    summary = window.messages()[1]["content"]
    assert "earlier points left out)" in summary
    assert token_count(summary) < Budget().summary + 60


def test_summary_keeps_the_language() -> None:
    """Chinese turns are quoted in Chinese, small talk is not."""
    told = summarise_by_rules(
        "",
        [
            {"role": "user", "content": "你好！我们决定把发布时间改到每周四下午三点。天气真好。"},
            {"role": "assistant", "content": "好的。已更新部署日历。"},
            {"role": "user", "content": "谢谢！"},
        ],
        400,
    )
    assert "- user: 我们决定把发布时间改到每周四下午三点。" in told
    assert "你好" not in told
    assert "谢谢" not in told


def test_tool_call_and_result_stay_together() -> None:
    """A result never stands in the window without its call, in the manner of either kind of host."""
    window = Window(Budget(3000, 200, 200))
    for number in range(30):
        window.add({"role": "user", "content": f"Run step {number}. " + "pad " * 150})
        window.add({"role": "assistant", "content": [{"type": "tool_use", "name": "run", "input": {"n": number}}]})
        window.add({"role": "user", "content": [{"type": "tool_result", "content": f"step {number} ok " * 20}]})
        window.add({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "go", "arguments": "{}"}}]})
        window.add({"role": "tool", "tool_call_id": "1", "content": "fine"})
        rounds = [message for message in window.messages() if message["role"] != "system"]
        start = 1 if "<conversation-summary>" in message_text(rounds[0]) else 0
        assert message_text(rounds[start]).startswith("Run step")
    assert "- assistant called run" in message_text(window.messages()[0])


def test_model_summariser_is_rolling() -> None:
    """The model is given the summary so far and only what is new; its words are used."""
    seen: list[tuple[str, int]] = []

    def model(summary: str, messages: Any, limit: int) -> str:
        seen.append((summary, len(messages)))
        return f"summary number {len(seen)}"

    window, folds = filled(30, summarise=model)
    assert [summary for summary, _ in seen] == ["", *(f"summary number {n}" for n in range(1, len(seen)))]
    assert f"summary number {len(folds)}\n" in window.messages()[1]["content"]


@pytest.mark.parametrize("answer", ["", "   \n", RuntimeError("overloaded")])
def test_failing_model_is_replaced_by_rules(answer: Any) -> None:
    """An empty answer or an error of the model loses nothing: the rules summarise."""

    def model(*_: Any) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    window, _ = filled(12, summarise=model)
    assert "we decided that service 0" in window.messages()[1]["content"]
    if isinstance(answer, Exception):
        assert "overloaded" in window.notes[0]


def test_talkative_model_is_held_to_the_limit() -> None:
    """A summary over its limit is shortened, and says so."""
    window, _ = filled(30, summarise=lambda *_: "\n".join(f"- point {n} of many that nobody needs" for n in range(900)))
    assert window.tokens() <= 8000
    assert "earlier points left out)" in window.messages()[1]["content"]


def test_own_tokenizer_decides() -> None:
    """A caller's tokenizer is the only one that is asked."""
    cheap, _ = filled(30, count=lambda text: len(text) // 40)
    dear, _ = filled(30, count=len)
    assert len(cheap.messages()) > len(filled(30)[0].messages()) > len(dear.messages())


def test_one_huge_message_is_shortened_and_said() -> None:
    """A pasted log beyond the whole window loses its middle; the gap, the notes and on_fold say so."""
    folds: list[Fold] = []
    window = Window(on_fold=folds.append)
    log = "\n".join(f"line {number}: connection reset by peer" for number in range(5000))
    window.add({"role": "user", "content": "Why does it fail?"}, {"role": "tool", "content": log})
    assert window.tokens() <= 8000
    sent = window.messages()
    assert sent[0]["content"] == "Why does it fail?"
    assert "characters left out here …]" in sent[1]["content"]
    assert sent[1]["content"].endswith("line 4999: connection reset by peer")
    assert "shortened in its middle" in window.notes[0]
    assert folds[0].messages[0]["content"] == log


def test_heads_are_never_cut_silently() -> None:
    """A skill is there whole or not at all, the context file ends with a line that counts what is missing."""
    window = Window()
    window.system("Be brief.", [("small", "Do this."), ("huge", "text " * 5000), ("last", "Then that.")])
    window.context("\n".join(f"rule {number} of the team" for number in range(2000)), "CONTEXT.md")
    head = window.messages()[0]["content"]
    assert "Do this." in head
    assert "Then that." in head
    assert "text text" not in head
    assert any("Skill huge" in note for note in window.notes)
    assert "more lines of CONTEXT.md are left out here]" in head
    assert token_count(head) <= 3500 + 10


def test_impossible_budget_is_refused() -> None:
    """Heads that take everything are a mistake of the caller."""
    with pytest.raises(UsageFault):
        Budget(3500, 2000, 1500)


def test_pictures_count() -> None:
    """An attachment without text is not free."""
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:…"}}]}
    assert message_tokens(picture) > 500


def test_sentences_and_weights() -> None:
    """Sentences end where they end in either language, code is one line, decisions outweigh chat."""
    found = sentences("Version 1.2 is out. See a.b! 好的。行吗？")
    assert found == ["Version 1.2 is out.", "See a.b!", "好的。", "行吗？"]
    assert sentences("Look:\n```python\nx = 1\ny = 2\n```\nDone.") == ["Look:", "`x = 1` …", "Done."]
    assert weight("Thanks!") == weight("好的。") == weight("Hello!") == 0
    assert weight("We decided to use port 8080.") > weight("The sky is blue.") > 0
    assert telling("Hi! The sky is blue. Never deploy on Friday. We decided on 3 replicas.", 2) == [
        "Never deploy on Friday.",
        "We decided on 3 replicas.",
    ]
    long = telling("must " + "word " * 200, 1)[0]
    assert len(long) <= 240
    assert long.endswith("word…")

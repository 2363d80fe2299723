"""From the hits of one search to an answer: which fact first, is it relevant at all, and why.

Three questions are kept apart, because mixing them is what makes a score unexplainable:

* **match** - which candidate fits best. Own BM25, plus what stands next to it (turn ± 1 and ± 2 of the same
  session or document), plus the whole session. A turn that answers is often not the turn that names the
  subject; on chat logs this lifts recall@10 from 0.66 to 0.77, more than any embedding.
* **relevance** - does it concern the question at all: 0 to 1, the same meaning for short and long questions,
  for Chinese and English, for five facts and for 100,000. Only this is compared with the threshold.
* **weight** - the final order: relevance × match⁴ × time × importance × confidence. The fourth power makes
  room for time: with half-life and floor alone an old exact answer (0.3) would lose to any new vague one.
  With it, it loses to those that match at least 0.74 times as well.

The session's score is summed up from the candidates at query time; documents for whole sessions were tried
in a full scoring and gave no more (0.768 against 0.767), and would have to be rewritten with every new turn.
Rank fusion lost to everything. tantivy's fixed length correction (b = 0.75) is turned back to 0.3, which is
better for facts and turns, by the length of each candidate.

Pure and light: the recall hook loads this at every prompt. The clock is an argument.
"""

from __future__ import annotations

import math

from ctxrepo.text.analyzer import query_terms, tokens
from ctxrepo.text.common import commonness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

CANDIDATES = 200
"""Hits to ask the index for. Half as many cost 0.006 of recall@10, and sessions need their weaker turns."""

_DAY = 86_400.0
_K1, _B, _INDEX_B = 1.2, 0.3, 0.75
_NEXT, _NEXT_BUT_ONE = 0.3, 0.15
_GROUP = 0.5
_SEEDS = 3
_SHARPNESS = 4

_SINGLE = 0.2
_PADDING = 40  # imagined documents without the term: in a small store about one subject every word is in all
_OPENING = "\"'\u201c\u2018"
_ENDS = ".!?:*-\u3002\uff01\uff1f"
_AROUND = _OPENING + _ENDS + ",;()[]\u201d\u2019"

# Logistic regression over halves of LoCoMo (two conversations of five), CMRC, XQuAD and hand-written pairs in
# stores of 5 to 6,000 entries, every set with the same weight; checked on the other halves and by leaving whole
# sets out. More features (BM25 ratio, number of terms, match, known mass) moved no figure by more than 0.01.
# In a long prompt a single word says less and a name among many is not its subject: beyond these sizes both fade.
_SHORT_TOTAL, _SHORT_TERMS = 4.0, 10
_INTERCEPT, _COVERAGE, _EVIDENCE, _UNKNOWN_NAMES, _LENGTH = -4.32, 2.75, 11.16, -5.02, -1.19


class Question:
    """What was asked, weighed: how much each term would say if it were found.

    Args:
        text: the question or prompt as written.
        terms: `analyzer.query_terms(text)`.
        frequencies: in how many documents of the index each term occurs, in the order of `terms`.
        documents: number of documents of the index, deleted ones included or not.
    """

    __slots__ = ("_rarity", "_weights", "_words", "names", "terms", "total")

    def __init__(self, text: str, terms: Sequence[str], frequencies: Sequence[int], documents: int) -> None:
        padded = documents + _PADDING
        once = math.log(1 + (padded - 0.5) / 1.5)
        rarity = {
            term: min(1.0, math.log(1 + max(0.0, padded - n + 0.5) / (n + 0.5)) / once)
            for term, n in zip(terms, frequencies, strict=True)
        }
        words: dict[str, list[str]] = {}
        for term in terms:
            if _is_bigram(term):
                for char in term:
                    words.setdefault(char, []).append(term)
        self.terms = frozenset(terms)
        self.names = _names(text) & self.terms
        self._rarity = rarity
        self._words = words
        self._weights = {term: rarity[term] * _prior(term, words) for term in terms if not _is_bigram(term)}
        self.total = sum(self._weights.values())

    def found(self, text: str) -> frozenset[str]:
        """Return the terms that occur in `text`."""
        return self.terms.intersection(tokens(text))

    def evidence(self, found: Collection[str]) -> float:
        """Weight of the terms in `found`.

        A Latin word counts whole. A character counts for a fifth, and up to whole as part of a bigram that
        was found too: 菜 may be anywhere, 辣菜 is a dish.
        """
        total = 0.0
        weights, words = self._weights, self._words
        for term in found:
            weight = weights.get(term)
            if weight is None:
                continue
            if term in words:
                rarest = max([self._rarity[word] for word in words[term] if word in found], default=0.0)
                weight *= _SINGLE + (1 - _SINGLE) * math.sqrt(rarest)
            total += weight
        return total


def _is_bigram(term: str) -> bool:
    return len(term) == 2 and term > "\u0e00"


def _prior(term: str, words: dict[str, list[str]]) -> float:
    return min(commonness(term), *(commonness(word) for word in words[term])) if term in words else commonness(term)


def _names(text: str) -> set[str]:
    """Terms of capitalised words inside sentences: people, places, products.

    They decide what a question is about, and inside one project they may be as frequent as "the".
    """
    found: set[str] = set()
    inside = False
    for word in text.split():
        bare = word.strip(_AROUND)
        if inside and bare[:1].isupper() and bare[1:2].islower() and word[0] not in _OPENING:
            found.update([term for term in query_terms(bare) if commonness(term) == 1.0])
        inside = word[-1] not in _ENDS
    return found


class Match:
    """How well candidates fit, before relevance: `total[i]`, best = 1."""

    __slots__ = ("_group", "_neighbours", "_own", "_scale", "total")

    def __init__(self, own: list[float], neighbours: list[float], group: list[float]) -> None:
        raw = [a + b + c for a, b, c in zip(own, neighbours, group, strict=True)]
        self._scale = 1 / (max(raw, default=0.0) or 1.0)
        self._own, self._neighbours, self._group = own, neighbours, group
        self.total = [value * self._scale for value in raw]

    def factors(self, i: int) -> dict[str, float]:
        """What `total[i]` is the sum of."""
        scale = self._scale
        return {
            "own": self._own[i] * scale,
            "neighbours": self._neighbours[i] * scale,
            "session": self._group[i] * scale,
        }


def own_scores(scores: Sequence[float], lengths: Sequence[int | None]) -> list[float]:
    """Return BM25 with b = 0.3 instead of the index's 0.75, best = 1.

    Exact for terms that occur once in a document, which is nearly all of a fact; close for the rest. The
    average length is that of the candidates: measured, it does as well as that of the whole index.

    Args:
        scores: BM25 scores of the candidates.
        lengths: tokens of each candidate's body; None = not known, treated as average.
    """
    measured = [length for length in lengths if length]
    average = sum(measured) / len(measured) if measured else 1.0
    before, after = _K1 * _INDEX_B / average, _K1 * _B / average
    base_before, base_after = 1 + _K1 * (1 - _INDEX_B), 1 + _K1 * (1 - _B)
    out = [
        score * (base_before + before * (length or average)) / (base_after + after * (length or average))
        for score, length in zip(scores, lengths, strict=True)
    ]
    best = max(out, default=0.0) or 1.0
    return [score / best for score in out]


def wanted_neighbours(
    own: Sequence[float], groups: Sequence[int | None], turns: Sequence[int | None]
) -> list[tuple[int, int]]:
    """Return (group, turn) of the best candidates' neighbours that are no candidates themselves, at most 12.

    The reply "Luna and Oliver!" shares no word with the question for the pets' names; the turn before does.
    Look them up in the index and append them to the candidates with a score of 0.
    """
    wanted: dict[tuple[int, int], None] = {}
    for i in sorted(range(len(own)), key=own.__getitem__, reverse=True)[:_SEEDS]:
        group, turn = groups[i], turns[i]
        if group and turn is not None:
            present = {turns[j] for j, other in enumerate(groups) if other == group}
            for beside in (turn - 1, turn + 1, turn - 2, turn + 2):
                if beside >= 0 and beside not in present:
                    wanted[group, beside] = None
    return list(wanted)


def match(own: Sequence[float], groups: Sequence[int | None], turns: Sequence[int | None]) -> Match:
    """Lift each candidate by what stands beside it and by its whole session or document.

    total = own + 0.3 × (turn ± 1) + 0.15 × (turn ± 2) + 0.5 × session, where a session's score is the sum of
    its candidates' cubes (one good turn outweighs many weak ones) and the best session has 1.

    Args:
        own: `own_scores`, with 0 for neighbours that were looked up.
        groups: session or document of each candidate; 0 or None = it stands alone.
        turns: place in the group; None = unknown, no neighbours.
    """
    whole = [score * score * score for score in own]
    beside = [0.0] * len(own)
    members: dict[int, list[int]] = {}
    for i, group in enumerate(groups):
        if group:
            if group in members:
                members[group].append(i)
            else:
                members[group] = [i]
    for together in members.values():
        if len(together) == 1:
            continue
        total = sum([whole[i] for i in together])
        row: dict[int | None, float] = {}
        for i in together:
            whole[i] = total
            row[turns[i]] = max(own[i], row.get(turns[i], 0.0))
        for i in together:
            turn = turns[i]
            if turn is not None:
                near = row.get(turn - 1, 0.0) + row.get(turn + 1, 0.0)
                far = row.get(turn - 2, 0.0) + row.get(turn + 2, 0.0)
                beside[i] = _NEXT * near + _NEXT_BUT_ONE * far
    factor = _GROUP / (max(whole, default=0.0) or 1.0)
    return Match(list(own), beside, [factor * value for value in whole])


def relevance(
    question: Question, found: Collection[str], near: Collection[str], known: Collection[str], length: int
) -> tuple[float, dict[str, float]]:
    """Return how likely a candidate concerns the question, 0 to 1, and the factors behind it.

    Args:
        found: terms of the question in the candidate itself.
        near: those in it or its neighbours, as far as their text was read; holds all of `found`.
        known: those in any candidate whose text was read.
        length: tokens of the candidate; in a long text something is always found.
    """
    if not near or not question.total:
        return 0.0, {"coverage": 0.0, "evidence": 0.0, "unknown_names": 0.0, "length": float(length)}
    evidence = question.evidence(near)
    coverage = (evidence if len(near) == len(found) else question.evidence(found)) / question.total
    unknown = 0.0
    if question.names:
        share = sum(1 for name in question.names if name not in known) / len(question.names)
        unknown = share * min(1.0, _SHORT_TERMS / len(question.terms))
    focus = min(1.0, (_SHORT_TOTAL / question.total) ** 0.25)
    logit = (
        _INTERCEPT
        + _COVERAGE * coverage
        + _EVIDENCE * focus * min(evidence, 2.0) / 2
        + _UNKNOWN_NAMES * unknown
        + _LENGTH * math.log1p(length / 25)
    )
    factors = {"coverage": coverage, "evidence": evidence, "unknown_names": unknown, "length": float(length)}
    return 1 / (1 + math.exp(-logit)), factors


def time_weight(created: float | None, now: float, *, preference: bool, settings: Mapping[str, Any]) -> float:
    """Return floor + (1 − floor) × 0.5 ** (days / half-life): by default 0.3 + 0.7 × 0.5 ** (days / 30).

    A preference keeps 1 until its day 60 and then follows the same curve, as if it had been made on that day.

    Args:
        created, now: Unix seconds; without `created`, or in the future, the weight is 1.
        settings: `recall.floor` (0 to 1), `recall.half_life_days` and `recall.preference_days`.
    """
    if created is None:
        return 1.0
    floor = float(settings["recall.floor"])
    days = (now - created) / _DAY - (float(settings["recall.preference_days"]) if preference else 0.0)
    return floor + (1 - floor) * float(0.5 ** (max(0.0, days) / float(settings["recall.half_life_days"])))


def most(match: float) -> float:
    """Return the greatest weight that any relevance, time, importance and confidence can give to this match.

    Whoever has enough answers above it need not read the text of this candidate and those after it.
    """
    return float(match**_SHARPNESS) * 1.2 * 1.1


def weight(
    relevance: float, match: float, time: float, importance: float | None, confidence: float | None
) -> tuple[float, dict[str, float]]:
    """Return the number that orders an answer, and its factors.

    relevance × match⁴ × time × (0.8 + 0.4 × importance) × (0.6 + 0.5 × confidence); the defaults of a fact
    (importance 0.5, confidence 0.8) change nothing.
    """
    factors = {
        "relevance": relevance,
        "match": match,
        "time": time,
        "importance": 0.8 + 0.4 * (0.5 if importance is None else importance),
        "confidence": 0.6 + 0.5 * (0.8 if confidence is None else confidence),
    }
    total = relevance * match**_SHARPNESS * time * factors["importance"] * factors["confidence"]
    return total, factors

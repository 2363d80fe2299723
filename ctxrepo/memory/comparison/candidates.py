"""Which facts are worth laying beside a new one: an inverted index over what facts say.

Comparing every pair is quadratic, so a fact is looked up under its few rarest words and under pairs of them;
a list that has grown long keeps its newest entries only.  So the work for one fact is bounded, whatever
the number of facts, and facts that say exactly the same meet under one key of everything they say.

The search index of the store was rejected for whole-memory runs: 10,000 queries cost more than building this
one, and it does not know concepts or quantities.  At capture time, one query to it is the right thing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import combinations

from ctxrepo.memory.comparison.digest import Digest

RARE = 5
LONG = 48
MOST = 12
COMMON = 200
"""A word of more facts than this makes no candidate by itself."""


class Candidates:
    """Facts that were added, found by what they say.

    Args:
        digests: all that will be added or looked up, for the frequency of words.
    """

    def __init__(self, digests: Iterable[Digest]) -> None:
        self._frequency: Counter[str] = Counter()
        for fact in digests:
            self._frequency.update(_keys(fact))
        self._lists: dict[object, deque[int]] = {}
        self._gone: set[int] = set()

    def rarity(self, key: str) -> float:
        """1 for a word of one fact, sinking towards 0 for one of all of them."""
        count = self._frequency.get(key, 1)
        return 1.0 / (1.0 + max(0, count - 1) / 200.0)

    def add(self, number: int, fact: Digest) -> None:
        """Makes a fact findable under its number."""
        for key in self._places(fact):
            self._lists.setdefault(key, deque(maxlen=LONG)).append(number)

    def discard(self, number: int) -> None:
        """Takes a fact out."""
        self._gone.add(number)

    def like(self, fact: Digest) -> list[int]:
        """Numbers of at most `MOST` facts that share most with this one, best first."""
        votes: Counter[int] = Counter()
        for key in self._places(fact):
            for number in self._lists.get(key, ()):
                if number not in self._gone:
                    votes[number] += 1
        return [number for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], -vote[0]))[:MOST]]

    def _places(self, fact: Digest) -> Iterator[object]:
        """Keys under which a fact is kept: all it says, its rarest words, and pairs of them."""
        keys = _keys(fact)
        rare = sorted(keys, key=lambda key: (self._frequency[key], key))[:RARE]
        yield frozenset(keys)
        yield from (key for key in rare if self._frequency[key] <= COMMON)
        yield from combinations(sorted(rare), 2)


def _keys(fact: Digest) -> set[str]:
    """What a fact says; one without a subject is known by its verb too ("I work at …")."""
    return {*fact.weights, *(() if fact.left else (f"verb {verb}" for verb in fact.verbs)), *_moves(fact)}


def _moves(fact: Digest) -> set[str]:
    return {"verb place"} if "move" in fact.change and not fact.left else set()

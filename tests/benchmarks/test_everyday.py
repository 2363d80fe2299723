"""Short everyday facts and questions, Chinese, English and mixed, in stores of a few facts.

In a small store every word is rare; a relevance that means the same from five facts to 100,000 has to hold here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .quality import CASES, facts, load, reach, stay_under

pytestmark = pytest.mark.bench

THRESHOLD = 0.4


@pytest.mark.parametrize("size", [5, 20, 50, 85])
def test_everyday_facts_are_recalled_in_small_stores(tmp_path: Path, size: int) -> None:
    """A question brings its fact over the threshold, and what concerns none of the facts brings nothing."""
    pairs = load(CASES / "pairs.jsonl")
    idle = [case["text"] for case in (*load(CASES / "unrelated.jsonl"), *load(CASES / "small-talk.jsonl")[::3])]
    kept, asked, injected, silent = 0, 0, 0, 0
    for start in range(0, len(pairs) - size + 1, size):
        part = pairs[start : start + size]
        corpus = facts(tmp_path / str(start), [{"id": pair["id"], "text": pair["fact"]} for pair in part])
        for pair in part:
            kept += pair["id"] in [i for i, _ in corpus.ask(pair["ask"], None, limit=3, threshold=THRESHOLD)]
            asked += 1
        for text in idle:
            injected += bool(corpus.ask(text, None, limit=3, threshold=THRESHOLD))
            silent += 1
    reach(kept / asked, 0.95, f"{asked} everyday questions, store of {size} facts: fact recalled")
    stay_under(injected / silent, 0.05, f"{silent} unrelated prompts, store of {size} facts, that inject")

"""What a sentence does, as the two language modules see it and as `extract` uses it.

A sentence is worth remembering for what its speaker *does* with it: states a preference, sets a rule, decides,
corrects, concludes, tells a lasting fact.  Asking, thanking, guessing, quoting somebody, imagining and ordering a
thing done now leave nothing behind, whatever words they use.  So each language has blockers (what the sentence is
not) and cues (what it is), and both answer with the values below.

Rejected: a score over key words (one "always" in a complaint outweighs everything), and a trained classifier (no
corpus of this kind in two languages that could be shipped and explained).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

QUOTE = "qq"
"""Stands for quoted text and inline code while a sentence is judged: what is quoted is not said."""


class Sentence(NamedTuple):
    """One sentence of a message."""

    text: str
    """As it was written, without list marks."""
    masked: str
    """The same with quotations and code as `QUOTE`."""
    item: bool
    """Whether it is an item of a list."""


class Cue(NamedTuple):
    """What a sentence does."""

    kind: str
    """A kind of fact."""
    importance: float
    confidence: float
    personal: bool = False
    """Whether it is about the person rather than the work, so that it holds in every project."""
    start: int = 0
    """Where the content begins in the judged text: words before it only introduce it."""


class Opening(NamedTuple):
    """What words without content of their own announce for what follows: "that's wrong.", "from now on:"."""

    kind: str


Verdict = Cue | Opening | None
Judge = Callable[[Sentence, bool], Verdict]
"""Judges a sentence; the second argument tells whether facts without a person in them may count."""


def first(cues: Sequence[Callable[[], Cue | None]]) -> Cue | None:
    """The first cue that is there."""
    for look in cues:
        if (cue := look()) is not None:
            return cue
    return None

"""Which memories may be worth sharing, with the reasons; whether they are shared is for a person to decide.

Being mentioned often makes no memory knowledge, so this only proposes.  What counts: that it is the kind of
thing others can use (a decision, a rule, a tested fact, an experience; never a preference, which is about a person,
nor the state of a task), that it proved useful (recalled, used in answers, said in several sessions), that it is
sure and important, and that it has stood for some days without contradiction.  What it says about its owner
alone ("my", 我) counts against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxrepo.asset.fields import DAY
from ctxrepo.memory.held import Held
from ctxrepo.memory.merging import provenance

LEAST = 0.5
_KINDS = {"decision": 1.0, "rule": 1.0, "correction": 0.8, "experience": 0.8, "fact": 0.7}
_KIND_REASONS = {
    "decision": "a decision that others have to know",
    "rule": "a rule that others can follow",
    "correction": "a correction of what others may still believe",
    "experience": "an experience that spares others the same mistake",
    "fact": "a fact about the work",
}
_PERSONAL = re.compile(r"\b(?:i|i'm|my|me|mine|myself)\b|我(?!们)|本人", re.IGNORECASE)
_STOOD = 3.0


class Recommended(NamedTuple):
    """One memory that is worth a look."""

    fact: Held
    value: float  # 0 to 1
    reasons: tuple[str, ...]


def recommended(facts: Sequence[Held], *, at: float, least: float = LEAST, limit: int = 20) -> list[Recommended]:
    """Memories worth promoting, best first.

    Args:
        facts: all facts of a store.
        at: Unix seconds.
        least: value, 0 to 1, that they must reach.
        limit: how many at most.
    """
    found = [
        valued
        for fact in facts
        if fact.fields["status"] == "active" and fact.fields["kind"] in _KINDS and not _ended(fact, at)
        if (valued := value(fact, at)).value >= least
    ]
    return sorted(found, key=lambda each: (-each.value, each.fact.id))[:limit]


def value(fact: Held, at: float) -> Recommended:
    """How much sharing a fact promises, and why."""
    kind = str(fact.fields["kind"])
    importance, confidence = fact.number("importance", 0.5), fact.number("confidence", 0.8)
    uses, seen = int(fact.number("uses")), max(1, int(fact.number("seen", 1)))
    sessions = len({place.partition(":")[0] for place in provenance(fact.parsed.fields)})
    days = (at - fact.created) / DAY
    use = min(1.0, math.log1p(uses) / math.log(11))
    spread = min(1.0, (sessions - 1) / 3 + (seen - 1) / 10)
    score = (0.30 * importance + 0.20 * confidence + 0.30 * use + 0.20 * spread) * _KINDS.get(kind, 0.0)
    score += 0.15 * _KINDS.get(kind, 0.0)
    reasons = [_KIND_REASONS.get(kind, kind)]
    reasons += [f"recalled {uses} times"] if uses else []
    reasons += [f"said in {sessions} sessions"] if sessions > 1 else []
    reasons += [f"importance {importance:g}"] if importance >= 0.7 else []
    reasons += [f"confidence {confidence:g}"] if confidence >= 0.9 else []
    if days < _STOOD:
        score *= 0.7
        reasons.append(f"but only {max(0, days):.0f} days old")
    if _PERSONAL.search(fact.text):
        score *= 0.5
        reasons.append("but it speaks about its owner")
    return Recommended(fact, round(min(1.0, score), 3), tuple(reasons))


def as_row(store: str, each: Recommended) -> Mapping[str, Any]:
    """A recommendation as the command line and the Python API give it."""
    fact = each.fact
    return {
        "id": fact.id,
        "class": "memory",
        "path": f"{store}/{fact.path}",
        "kind": fact.fields["kind"],
        "status": fact.fields["status"],
        "project": fact.fields["project"],
        "text": fact.text,
        "value": each.value,
        "reasons": list(each.reasons),
    }


def _ended(fact: Held, at: float) -> bool:
    until = fact.moment("valid_until")
    return until is not None and until <= at

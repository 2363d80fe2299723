"""What becomes of the headers of facts that say the same.

One file stays and speaks for all: the others' sources, counts, entities and tags are added to it, and each of
them names it in `superseded_by`, so the merge can be followed and undone.  The same said again from another
session makes a fact surer; said twice in one session it is only repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MERGED = "merged: it says the same"
_SUREST = 0.98


def provenance(fields: Mapping[str, Any]) -> list[str]:
    """Where a fact comes from: `sources` of earlier merges, else `source#session:turn`."""
    known = fields.get("sources")
    if known:
        return [str(each) for each in known] if isinstance(known, list | tuple) else [str(known)]
    place = str(fields.get("source") or "hand")
    if fields.get("session"):
        place += f"#{fields['session']}"
        if fields.get("turn") is not None:
            place += f":{fields['turn']}"
    return [place]


def merged_fields(kept: Mapping[str, Any], others: Sequence[Mapping[str, Any]], now: str) -> dict[str, Any]:
    """Header changes of the fact that stays.

    Args:
        kept: its header as it stands in the file.
        others: headers of those that say the same.
        now: the time as assets write it.
    """
    everyone = [kept, *others]
    changes: dict[str, Any] = {}
    sources = list(dict.fromkeys(place for fields in everyone for place in provenance(fields)))
    changes["sources"] = sources
    changes["seen"] = sum(_count(fields) for fields in everyone)
    for name in ("entities", "tags"):
        values = list(dict.fromkeys(str(value) for fields in everyone for value in _listed(fields.get(name))))
        if values:
            changes[name] = values
    importance = max(_number(fields, "importance", 0.5) for fields in everyone)
    if importance != _number(kept, "importance", 0.5):
        changes["importance"] = importance
    changes["confidence"] = _surer(everyone, len({place.partition(":")[0] for place in sources}))
    uses = sum(int(_number(fields, "uses", 0)) for fields in everyone)
    if uses:
        changes["uses"] = uses
        changes["last_used"] = max(str(fields["last_used"]) for fields in everyone if fields.get("last_used"))
    starts = [str(fields["valid_from"]) for fields in everyone if fields.get("valid_from")]
    if len(starts) == len(everyone):
        changes["valid_from"] = min(starts)
    changes = {name: value for name, value in changes.items() if kept.get(name) != value}
    return {**changes, "updated": now} if changes else {}


def merged_into(kept_id: str, now: str) -> dict[str, Any]:
    """Header changes of a fact whose words another one keeps; it stays true, so it gets no `valid_until`."""
    return {"status": "superseded", "superseded_by": kept_id, "reason": MERGED, "updated": now}


def _surer(everyone: Sequence[Mapping[str, Any]], places: int) -> float:
    """The best confidence, a third of the doubt less for each further session that said so."""
    best = max(_number(fields, "confidence", 0.8) for fields in everyone)
    if best >= _SUREST:
        return best
    known = max(1, max(len({p.partition(":")[0] for p in provenance(fields)}) for fields in everyone))
    doubt = (1 - best) * (2 / 3) ** max(0, places - known)
    return round(min(_SUREST, 1 - doubt), 3)


def _count(fields: Mapping[str, Any]) -> int:
    return max(1, int(_number(fields, "seen", 1)))


def _number(fields: Mapping[str, Any], name: str, default: float) -> float:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _listed(value: object) -> list[object]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]

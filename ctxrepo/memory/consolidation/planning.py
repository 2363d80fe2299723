"""What consolidation decides: facts in, decisions out; no clock, no disk, no lock.

Facts are taken in the order in which they were made, each is laid beside the few that are like it
(`candidates`), and the relation decides (`compare`): merge, supersede, invalidate, or mark both as in conflict.
Only facts that the same reader would hear meet: a fact that holds everywhere may take in one of a
project, two projects never touch.  A decision names every file it rests on; if one of them has moved when
the decision is to be written, the whole decision is left for the next run.

What people decided stands: facts that name each other in `conflicts_with` and are active again were judged, and
what an undo brought back (`spared`) is not merged or forgotten a second time.

A decision is idempotent by construction: it moves facts out of the compared set, or leaves headers that ask for no
further change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxrepo.memory.comparison.candidates import Candidates
from ctxrepo.memory.comparison.compare import Digest, Relation, better_wording, digest, relation
from ctxrepo.memory.facts import EVERYWHERE
from ctxrepo.memory.held import Held, moment
from ctxrepo.memory.merging import merged_fields, merged_into

Judge = Callable[[str, str], str | None]
"""Asked about a pair that the rules leave open: the name of a relation, or None for no opinion."""

LIKE = 0.5  # share of what two facts say from which an open pair is worth a question
_QUESTIONS = 200
_ANSWERS = ("duplicate", "supersede", "invalidate", "conflict", "distinct")


@dataclass(slots=True)
class Decision:
    """One thing that consolidation does, and why."""

    sort: str  # merged, superseded, invalidated, conflict, settled, used or forgotten
    edits: dict[str, dict[str, Any]]  # path → header changes
    why: str
    ids: tuple[str, ...]  # the fact that stays or speaks later first
    drops: dict[str, tuple[str, ...]] = field(default_factory=dict)  # path → header keys to take out


def decide(
    facts: Sequence[Held], *, now: str, at: float, spared: Collection[str] = (), judge: Judge | None = None
) -> list[Decision]:
    """What is to be merged, superseded, invalidated or marked.

    Args:
        facts: all facts of a store, in the order of their making.
        now, at: the time as assets write it, and in Unix seconds.
        spared: paths that an undo brought back; nothing of them is decided again.
        judge: may decide what the rules leave open; its answer counts only for facts that share most of their words.
    """
    taking = [fact for fact in facts if _takes_part(fact, at)]
    return [*_Deciding(taking, now, spared, judge).run(), *_settled(facts, now)]


def _takes_part(fact: Held, at: float) -> bool:
    if not fact.alive or not fact.id or not fact.text:
        return False
    end = moment(fact.parsed.fields.get("valid_until"), end=True)
    return end is None or end > at


class _Deciding:
    """One pass over the facts."""

    def __init__(self, facts: Sequence[Held], now: str, spared: Collection[str], judge: Judge | None) -> None:
        self._facts = facts
        self._now = now
        self._spared = spared
        self._judge = judge
        self._asked = 0
        self._digests = [digest(fact.text) for fact in facts]
        self._known = Candidates(self._digests)
        self._groups: dict[int, list[int]] = {}  # the fact that stays → those that it takes in
        self._decisions: list[Decision] = []
        self._conflicts: dict[int, set[int]] = {}

    def run(self) -> list[Decision]:
        for number, one in enumerate(self._digests):
            stays = self._meet(number, one)
            if stays:
                self._known.add(number, one)
        merges = [self._merge(kept, losers) for kept, losers in self._groups.items() if losers]
        return [*merges, *self._decisions, *self._marks()]

    def _meet(self, number: int, one: Digest) -> bool:
        """Lays a fact beside those made before it; False when another now speaks for it."""
        fact = self._facts[number]
        for other in self._known.like(one):
            earlier = self._facts[other]
            if not _same_audience(earlier, fact) or self._judged(earlier, fact):
                continue
            found = self._relation(other, number)
            if found.kind == "duplicate":
                if fact.path in self._spared or earlier.path in self._spared:
                    continue
                if self._keeps(other, number):
                    self._groups.setdefault(other, []).append(number)
                    return False
                self._known.discard(other)
                self._groups[number] = [*self._groups.pop(number, ()), other, *self._groups.pop(other, ())]
            elif found.kind in ("supersede", "invalidate") and _same_scope(earlier, fact):
                if earlier.path not in self._spared:
                    self._known.discard(other)
                    self._decisions.append(self._end(earlier, fact, found))
            elif found.kind == "conflict" and _same_scope(earlier, fact):
                self._conflicts.setdefault(other, set()).add(number)
                self._conflicts.setdefault(number, set()).add(other)
        return True

    def _relation(self, earlier: int, later: int) -> Relation:
        one, other = self._digests[earlier], self._digests[later]
        found = relation(one, other, rarity=self._known.rarity)
        if self._judge is None or found.kind in ("duplicate", "supersede", "invalidate"):
            return found
        if found.kind == "distinct" and _likeness(one, other) < LIKE:
            return found
        if self._asked >= _QUESTIONS:
            return found
        self._asked += 1
        answer = self._judge(one.text, other.text)
        if answer not in _ANSWERS or answer == found.kind:
            return found
        return Relation(answer, 0.6, ("a language model said so",))

    def _keeps(self, earlier: int, later: int) -> bool:
        """Whether the earlier of two that say the same is the one that stays."""
        one, other = self._facts[earlier], self._facts[later]
        if _width(one) != _width(other):
            return _width(one) > _width(other)
        return better_wording(self._digests[earlier], self._digests[later]) == one.text

    def _judged(self, one: Held, other: Held) -> bool:
        """Whether a person has looked at this pair and let both stand."""
        settled = one.fields["status"] == "active" and other.fields["status"] == "active"
        return settled and (other.id in one.lines("conflicts_with") or one.id in other.lines("conflicts_with"))

    def _merge(self, kept: int, losers: Sequence[int]) -> Decision:
        fact = self._facts[kept]
        others = [self._facts[loser] for loser in losers]
        edits = {fact.path: merged_fields(fact.parsed.fields, [other.parsed.fields for other in others], self._now)}
        edits |= {other.path: merged_into(fact.id, self._now) for other in others}
        why = f"{len(others) + 1} facts say the same"
        return Decision("merged", edits, why, (fact.id, *(other.id for other in others)))

    def _end(self, earlier: Held, later: Held, found: Relation) -> Decision:
        why = "; ".join(found.reasons)
        if found.kind == "invalidate":
            changes = {"status": "invalidated", "superseded_by": later.id, "reason": f"was wrong: {why}"}
            sort = "invalidated"
        else:
            until = later.parsed.fields.get("valid_from") or later.parsed.fields.get("created") or self._now
            changes = {"status": "superseded", "superseded_by": later.id, "valid_until": str(until)}
            sort = "superseded"
        named = list(dict.fromkeys([*later.lines("supersedes"), earlier.id]))
        edits: dict[str, dict[str, Any]] = {earlier.path: {**changes, "updated": self._now}}
        if named != later.lines("supersedes"):
            edits[later.path] = {"supersedes": named, "updated": self._now}
        return Decision(sort, edits, why, (later.id, earlier.id))

    def _marks(self) -> list[Decision]:
        """Marks of conflict that are not there yet; a fact that was merged or ended takes its conflicts with it."""
        gone = {number for losers in self._groups.values() for number in losers}
        ended = {ident for decision in self._decisions for ident in decision.ids[1:]}
        marks = []
        for number, others in sorted(self._conflicts.items()):
            fact = self._facts[number]
            there = [o for o in others if o not in gone and self._facts[o].id not in ended]
            if number in gone or fact.id in ended or not there:
                continue
            named = sorted({*fact.lines("conflicts_with"), *(self._facts[other].id for other in there)})
            if fact.fields["status"] == "conflict" and set(named) <= set(fact.lines("conflicts_with")):
                continue
            edits = {self._facts[other].path: dict[str, Any]() for other in there}
            edits[fact.path] = {"status": "conflict", "conflicts_with": named, "updated": self._now}
            why = "says otherwise than " + ", ".join(f"“{_short(self._facts[other].text)}”" for other in sorted(there))
            marks.append(Decision("conflict", edits, why, (fact.id, *(self._facts[other].id for other in there))))
        return marks


def _settled(facts: Sequence[Held], now: str) -> list[Decision]:
    """Conflicts of which only one side is left: it is active again."""
    alive = {fact.id for fact in facts if fact.fields["status"] == "conflict"}
    settled = []
    for fact in facts:
        named = fact.lines("conflicts_with")
        if fact.fields["status"] == "conflict" and not any(ident in alive and ident != fact.id for ident in named):
            edits = {fact.path: {"status": "active", "updated": now}}
            why = "nothing says otherwise any more"
            settled.append(Decision("settled", edits, why, (fact.id,), {fact.path: ("conflicts_with",)}))
    return settled


def components(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Decisions grouped by the files they share: each group holds or falls as a whole."""
    parent: dict[str, str] = {}

    def root(path: str) -> str:
        while parent.setdefault(path, path) != path:
            parent[path] = parent[parent[path]]
            path = parent[path]
        return path

    for decision in decisions:
        first, *rest = decision.edits
        for path in rest:
            parent[root(path)] = root(first)
    groups: dict[str, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(root(next(iter(decision.edits))), []).append(decision)
    return list(groups.values())


def composed(decisions: Sequence[Decision]) -> tuple[dict[str, dict[str, Any]], dict[str, set[str]]]:
    """Header changes and removals of each file after all the decisions; lists are united, an end is not undone."""
    edits: dict[str, dict[str, Any]] = {}
    drops: dict[str, set[str]] = {}
    for decision in decisions:
        for path, changes in decision.edits.items():
            known = edits.setdefault(path, {})
            for name, value in changes.items():
                before = known.get(name)
                if isinstance(before, list) and isinstance(value, list):
                    value = list(dict.fromkeys([*before, *value]))
                if name == "status" and before in ("superseded", "invalidated"):
                    continue
                known[name] = value
        for path, names in decision.drops.items():
            drops.setdefault(path, set()).update(names)
    return edits, drops


def _same_audience(one: Held, other: Held) -> bool:
    """Whether the one is heard wherever the other is."""
    if ("task-state" in (one.fields["kind"], other.fields["kind"])) and one.fields["kind"] != other.fields["kind"]:
        return False
    return _covers(one, other) or _covers(other, one)


def _covers(wide: Held, narrow: Held) -> bool:
    return all(_place(wide, name) in (EVERYWHERE, _place(narrow, name)) for name in ("project", "agent"))


def _same_scope(one: Held, other: Held) -> bool:
    return all(_place(one, name) == _place(other, name) for name in ("project", "agent"))


def _width(fact: Held) -> int:
    return sum(_place(fact, name) == EVERYWHERE for name in ("project", "agent"))


def _place(fact: Held, name: str) -> str:
    return str(fact.fields[name] or EVERYWHERE)


def _likeness(one: Digest, other: Digest) -> float:
    shared = sum(weight for key, weight in one.weights.items() if key in other.weights)
    return shared / max(1e-9, min(sum(one.weights.values()), sum(other.weights.values())))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:59] + "…"


def summary(decisions: Sequence[Decision]) -> Mapping[str, int]:
    """How many facts each sort of decision touched, in a fixed order, without zeros."""
    order = ("merged", "superseded", "invalidated", "conflict", "settled", "used", "forgotten")
    counts = {
        sort: sum(max(1, len(d.ids) - 1) if sort == "merged" else 1 for d in decisions if d.sort == sort)
        for sort in order
    }
    return {sort: count for sort, count in counts.items() if count}

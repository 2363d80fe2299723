"""How a new fact relates to an old one: the same, its successor, its correction, a contradiction, or another fact.

The decision is made from signals that hold for any subject: which content both share, on which side of the
verb they differ, whether what differs are values of one kind, and the words by which people say that something
changed or was wrong.  A wrong merge destroys knowledge silently while a missed one only costs a line, so every
doubt ends in `distinct`; contradiction is claimed only where an attribute has one value at a time.

`supersede` and `invalidate` differ in what is true of the past: who moved did live there, who never moved did
not.  A language model may be asked about the rest (`memory.consolidate`); nothing here waits for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

from ctxrepo.memory.comparison.digest import Digest, Part, digest
from ctxrepo.memory.comparison.lexicon import ATTRIBUTES, HELPING, LOW, OPPOSITES, SINGLE_VERBS

__all__ = ["Digest", "Relation", "better_wording", "digest", "relation"]

Rarity = Callable[[str], float]

_TURNS = frozenset({"turn", "move", "replace", "cease"})
_DIRECTED = ("to", "from", "before", "after", "above", "below", "then")
_LIST = re.compile(r"\b(?:and|or)\b|[和与及或、&+,，/]", re.IGNORECASE)
_JOINT = re.compile(r"\b(?:and|or|but|while)\b|[和与與及或而、&,，;；。]|[.:：]\s", re.IGNORECASE)
_TEMPORAL = ("weekday", "time", "date", "day", "month", "relative", "daypart", "frequency")


class Relation(NamedTuple):
    """What one fact is to another."""

    kind: str  # duplicate, supersede, invalidate, conflict or distinct
    confidence: float  # 0 to 1
    reasons: tuple[str, ...]


class _Pair:
    """Two digests and what they share."""

    def __init__(self, old: Digest, new: Digest, rarity: Rarity | None) -> None:
        self.old, self.new = old, new
        self.rarity = rarity
        shared = old.weights.keys() & new.weights.keys()
        self.shared = shared
        self.only_old = [key for key in old.weights if key not in shared and key not in new.verbs]
        self.only_new = [key for key in new.weights if key not in shared and key not in old.verbs]
        self.total_old, self.total_new = self.weight(old.weights), self.weight(new.weights)
        self.common = self.weight(shared)

    def weight(self, keys: Iterable[str]) -> float:
        total = 0.0
        for key in keys:
            weight = self.old.weights.get(key) or self.new.weights.get(key, 0.0)
            total += weight if self.rarity is None else weight * (0.3 + 0.7 * self.rarity(key))
        return total

    def share(self, keys: Iterable[str], among: Iterable[str]) -> float:
        """How much of `keys`, by weight, is among the others; 1 for nothing."""
        keys = list(keys)
        total = self.weight(keys)
        inside = set(among)
        return self.weight(key for key in keys if key in inside) / total if total else 1.0


def relation(old: str | Digest, new: str | Digest, *, rarity: Rarity | None = None) -> Relation:
    """Tells what `new`, said later, is to `old`.

    Args:
        old, new: facts, or their digests when one is compared many times.
        rarity: 0 (in every fact) to 1 (rare) of a content word; a prior when None.
    """
    first, second = _read(old), _read(new)
    if first.text.strip() == second.text.strip():
        return Relation("duplicate", 1.0, ("the same words",))
    if not first.weights or not second.weights:
        return Relation("distinct", 0.5, ("nothing to compare",))
    pair = _Pair(first, second, rarity)
    if not pair.common and not _same_verb(pair) and "move" not in second.change:
        return Relation("distinct", 1.0, ("nothing in common",))
    for rule in (_same, _corrected, _replaced, _contrary, _subset, _other_value):
        found = rule(pair)
        if found is not None:
            return found
    return Relation("distinct", 0.6, (f"differ in {_named(pair.only_old + pair.only_new)}",))


def better_wording(old: str | Digest, new: str | Digest) -> str:
    """The one of two wordings of a fact that says more; the shorter of two that say the same."""
    pair = _Pair(_read(old), _read(new), None)
    first, second = pair.old.text, pair.new.text
    more_old, more_new = pair.weight(pair.only_old), pair.weight(pair.only_new)
    if abs(more_old - more_new) >= 0.25:
        return first if more_old > more_new else second
    return second if len(second.strip()) < len(first.strip()) else first


def _read(fact: str | Digest) -> Digest:
    return digest(fact) if isinstance(fact, str) else fact


def _same(pair: _Pair) -> Relation | None:
    """The same content in whatever order, with the same polarity."""
    old, new = pair.old, pair.new
    if old.negated != new.negated or old.contrast != new.contrast or new.behind != old.behind or new.wrong != old.wrong:
        return None
    differing = pair.only_old + pair.only_new
    hard = [key for key in differing if key not in LOW]
    if hard or _crossed(pair):
        return None
    if not pair.common or not _same_acts(old, new):
        return None
    return Relation("duplicate", 0.95, (f"both say {_named(pair.shared)}",))


def _subset(pair: _Pair) -> Relation | None:
    """One says all that the other says and adds to it behind the verb, without narrowing it."""
    old, new = pair.old, pair.new
    if old.negated != new.negated or new.behind or old.behind or new.wrong:
        return None
    if bool(pair.only_old) == bool(pair.only_new):
        return None
    longer, extra = (new, pair.only_new) if pair.only_new else (old, pair.only_old)
    shorter = old if longer is new else new
    if _crossed(pair) or not _same_acts(old, new) or any(key in longer.left for key in extra):
        return None
    if any(key in longer.kinds for key in extra) or not all(_adds(part, longer, extra) for part in longer.right):
        return None
    if pair.common < 0.8 or pair.common / (pair.common + pair.weight(extra)) < 0.45 or not shorter.weights:
        return None
    return Relation("duplicate", 0.8, (f"one adds {_named(extra)}",))


def _adds(part: Part, fact: Digest, extra: Iterable[str]) -> bool:
    """Whether what is extra in a part stands apart from the rest, and does not narrow it as "coffee machine" does."""
    if not set(part.keys) & set(extra):
        return True
    apart = part.role in ("as", "also") or (part.role == "in" and "place" in fact.verbs)
    return apart and set(part.keys) <= set(extra)


def _corrected(pair: _Pair) -> Relation | None:
    """The new fact says that the old one never was true."""
    new = pair.new
    if not (new.wrong or new.contrast) or (new.change & _TURNS and not new.wrong):
        return None
    if new.contrast and not new.wrong and "now" in new.change:
        return None
    gone = pair.share(new.behind, pair.old.weights) if new.behind else 0.0
    if new.wrong and _about_the_same(pair, loose=True):
        return Relation("invalidate", 0.85, ("the new one says that the old one was wrong",))
    if new.contrast and gone >= 0.5 and _about_the_same(pair, loose=True):
        return Relation("invalidate", 0.85, (f"the new one denies {_named(new.behind)}",))
    return None


def _replaced(pair: _Pair) -> Relation | None:
    """The new fact says that something changed, about the same thing."""
    old, new = pair.old, pair.new
    left_behind = bool(new.behind) and pair.share(new.behind, old.weights) >= 0.5
    if not new.change and not (left_behind and not new.contrast):
        return None
    if new.negated != old.negated:
        if _about_the_same(pair, loose=False) and pair.share(new.weights, old.weights) >= 0.5:
            return Relation("supersede", 0.9, ("the new one ends what the old one says",))
        return None
    strong = bool(new.change & _TURNS) or left_behind
    if not strong and not _verbs_agree(old, new) and not _values_of_one_kind(pair):
        return None
    if left_behind and (_about_the_same(pair, loose=True)):
        return Relation("supersede", 0.9, (f"{_named(new.behind)} is left behind",))
    if pair.only_new and _about_the_same(pair, loose=False):
        return Relation("supersede", 0.85, ("a word of change, and the same subject",))
    return None


def _contrary(pair: _Pair) -> Relation | None:
    """The same content, once affirmed and once denied."""
    if pair.old.negated == pair.new.negated or pair.new.behind:
        return None
    if any(key not in LOW for key in pair.only_old + pair.only_new) or _crossed(pair):
        return None
    return Relation("conflict", 0.85, ("one affirms what the other denies",))


def _other_value(pair: _Pair) -> Relation | None:
    """Same subject and attribute, another value, and nobody says which holds."""
    old, new = pair.old, pair.new
    if old.negated or new.negated or new.behind or old.behind or not pair.only_old or not pair.only_new:
        return None
    if not _verbs_agree(old, new):
        return None
    for one, other in _orientations(old, new):
        if _excludes(pair, one, other):
            return Relation("conflict", 0.7, (f"{_named(pair.only_old)} against {_named(pair.only_new)}",))
    return None


def _excludes(pair: _Pair, old: Digest, new: Digest) -> bool:
    if any(_is_subject(key, old) for key in pair.only_old) or any(_is_subject(key, new) for key in pair.only_new):
        return False
    if frozenset(pair.only_old + pair.only_new) in OPPOSITES:
        return True
    single = all(verb in SINGLE_VERBS for verb in {*old.verbs, *new.verbs})
    subject = [key for key in old.left if old.kinds.get(key) not in _TEMPORAL]
    if _values_of_one_kind(pair) and (subject or pair.shared):
        counted = "have" in old.verbs and all(old.kinds[key].startswith("number:") for key in pair.only_old)
        many = not single and not counted and not all(old.kinds[key] in _TEMPORAL for key in pair.only_old)
        return not many and "visit" not in old.verbs
    named = any(key in old.names for key in subject)
    if not single or not old.verbs or ((old.member or new.member) and (named or not subject)):
        return False
    if any(part.before and set(part.keys) & {*pair.only_old, *pair.only_new} for part in (*old.right, *new.right)):
        return False
    value_old, value_new = _value(old), _value(new)
    if value_old is None or value_new is None or value_old.role != value_new.role:
        return False
    if not set(pair.only_old) <= set(value_old.keys) or not set(pair.only_new) <= set(value_new.keys):
        return False
    verbs = {*old.verbs, *new.verbs}
    if verbs <= {"be"} and not value_old.role:
        named = all(key in old.names or key in old.kinds for key in pair.only_old) and all(
            key in new.names or key in new.kinds for key in pair.only_new
        )
        return bool(subject) and (named or any(key in ATTRIBUTES for key in subject))
    if verbs & {"use", "run", "built", "deploy", "set", "keep", "be"} and not verbs & {"place", "work", "answer"}:
        return bool(subject)
    return True


def _is_subject(key: str, fact: Digest) -> bool:
    """Whether a word says what a fact is about; a time never does, an amount only in front of everything else."""
    if key not in fact.left or fact.kinds.get(key) in _TEMPORAL:
        return False
    return not (fact.kinds.get(key, "").startswith("number:") and fact.left.index(key) > 0)


def _value(fact: Digest) -> Part | None:
    return next((part for part in fact.right if part.keys and not part.before), None)


def _orientations(old: Digest, new: Digest) -> list[tuple[Digest, Digest]]:
    """As they stand, and with the sides of `A is B` exchanged."""
    pairs = [(old, new)]
    if set(old.verbs) == {"be"} == set(new.verbs) and len(old.right) == 1:
        turned = Digest(old.text, old.weights, old.kinds, old.names, old.right[0].keys, [Part("", old.left)], old.verbs)
        pairs.append((turned, new))
    return pairs


def _about_the_same(pair: _Pair, *, loose: bool) -> bool:
    """Whether both speak about one attribute of one thing; values may differ.

    Args:
        loose: what is left behind or denied already names the old fact's value, so less has to fit.
    """
    old, new = pair.old, pair.new
    subject_old = [key for key in old.left if old.kinds.get(key) not in _TEMPORAL and key not in LOW]
    subject_new = [key for key in new.left if new.kinds.get(key) not in _TEMPORAL and key not in LOW]
    least = 0.5
    if _other_thing(pair) or _other_subject(pair, subject_old, subject_new):
        return False
    if loose and pair.share(old.weights, new.weights) >= 0.5:
        return True
    if pair.share(subject_old, new.weights) < least or pair.share(subject_new, old.weights) < least:
        return False
    if subject_old and pair.common:
        return loose or _fits(pair)
    if _same_verb(pair) or pair.common / min(pair.total_old, pair.total_new) >= 0.4:
        return True
    return "move" in new.change and "place" in old.verbs and not subject_old and not subject_new


def _other_thing(pair: _Pair) -> bool:
    """Whether identifiers or numbers of what they are about differ: INV-1001 and INV-1002."""
    one = {key for key in pair.only_old if pair.old.kinds.get(key) == "ident" and key in pair.old.left}
    other = {key for key in pair.only_new if pair.new.kinds.get(key) == "ident" and key in pair.new.left}
    return bool(one and other and not one & pair.new.behind)


def _other_subject(pair: _Pair, subject_old: Iterable[str], subject_new: Iterable[str]) -> bool:
    """Whether each names something on its left that the other does not know: the red button and the green one."""
    if pair.new.behind and pair.share(pair.new.behind, pair.old.weights) >= 0.5:
        return False
    naming = ("ident", "version") if not pair.new.change else ("ident",)
    one = [key for key in subject_old if key in pair.only_old and pair.old.kinds.get(key, "ident") in naming]
    other = [key for key in subject_new if key in pair.only_new and pair.new.kinds.get(key, "ident") in naming]
    return bool(one and other)


def _fits(pair: _Pair) -> bool:
    """Whether what differs can be values of one attribute."""
    old, new = pair.old, pair.new
    kinds_old = {_kind(old.kinds[key]) for key in pair.only_old if key in old.kinds}
    kinds_new = {_kind(new.kinds[key]) for key in pair.only_new if key in new.kinds}
    if kinds_old and kinds_new and not kinds_old & kinds_new:
        return False
    if bool(kinds_old) != bool(kinds_new) and not new.behind:
        return False
    return bool(new.change & _TURNS) or _verbs_agree(old, new) or bool(kinds_old & kinds_new)


def _values_of_one_kind(pair: _Pair) -> bool:
    """Whether all that differs are quantities of the same kinds."""
    if not all(key in pair.old.kinds for key in pair.only_old) or not all(
        key in pair.new.kinds for key in pair.only_new
    ):
        return False
    one = {_kind(pair.old.kinds[key]) for key in pair.only_old}
    return bool(one) and one == {_kind(pair.new.kinds[key]) for key in pair.only_new} and one != {"ident"}


def _kind(kind: str) -> str:
    return "number" if kind == "version" else kind


def _same_verb(pair: _Pair) -> bool:
    weak = {"be", "have", "use", "move"}
    return bool((set(pair.old.verbs) & set(pair.new.verbs)) - weak)


def _verbs_agree(old: Digest, new: Digest) -> bool:
    """Whether the verbs can mean the same: one in common, or one fact has none that says anything."""
    if ("be" in old.verbs and set(new.verbs) <= SINGLE_VERBS) or ("be" in new.verbs and set(old.verbs) <= SINGLE_VERBS):
        return True
    plain = {"be", "have", "set", "use", "move", "begin", "run", "place"}
    one, other = set(old.verbs) - new.weights.keys(), set(new.verbs) - old.weights.keys()
    return bool(one & other) or (one <= plain and other <= plain) or not one or not other


def _same_acts(old: Digest, new: Digest) -> bool:
    """Whether both tell of the same doing: every verb that says something stands in the other, as verb or as noun."""
    if not _verbs_agree(old, new) or old.limits != new.limits:
        return False
    one, other = set(old.verbs) - HELPING, set(new.verbs) - HELPING
    return one <= {*new.verbs, *new.weights} and other <= {*old.verbs, *old.weights}


def _crossed(pair: _Pair) -> bool:
    """Whether the same words stand in exchanged places: `Alice manages Bob` and `Bob manages Alice`."""
    old, new = pair.old, pair.new
    left_old, left_new = (set(_lasting(fact, fact.left)) for fact in (old, new))
    right_old, right_new = (
        set(_lasting(fact, (key for part in fact.right for key in part.keys))) for fact in (old, new)
    )
    crossing = left_old & right_new and right_old & left_new
    if crossing:
        exact = left_old == right_new and right_old == left_new
        return not (exact and "be" in old.verbs and "be" in new.verbs)
    heads_old, heads_new = _heads(old), _heads(new)
    if heads_old.get("to", set()) & heads_new.get("from", set()) or heads_old.get("from", set()) & heads_new.get(
        "to", set()
    ):
        return True
    said_old, said_new = {*old.weights, *old.verbs}, {*new.weights, *new.verbs}
    for role in _DIRECTED:
        one, other = heads_old.get(role), heads_new.get(role)
        if one and other and not one & other and one <= said_new and other <= said_old:
            return True
    return _reversed(old, new) or _exchanged(old, new)


def _exchanged(old: Digest, new: Digest) -> bool:
    """Whether two statements exchange something: A on Monday and B on Friday, A on Friday and B on Monday."""
    one, other = _statements(old), _statements(new)
    links = {(("old", one[key]), ("new", other[key])) for key in one.keys() & other.keys()}
    while ends := {end for end, count in Counter(chain.from_iterable(links)).items() if count == 1}:
        links = {link for link in links if not ends.intersection(link)}
    return bool(links)  # going around: each statement shares with two of the other fact


def _statements(fact: Digest) -> dict[str, int]:
    """Which statement of a fact a word stands in, for words that stand in one only."""
    said = [digest(text) for text in _JOINT.split(fact.text)]
    places: dict[str, list[int]] = {}
    for number, statement in enumerate(said):
        for key in {*statement.weights, *statement.verbs}:
            places.setdefault(key, []).append(number)
    return {key: numbers[0] for key, numbers in places.items() if len(numbers) == 1}


def _reversed(old: Digest, new: Digest) -> bool:
    """Whether two words change places inside one part that is no list: cats more than dogs, dogs more than cats.

    Values of one kind may not change places anywhere: shelf 1 in room 4, shelf 4 in room 1.
    """
    if _LIST.search(old.text) and _LIST.search(new.text):
        return False
    for kind in set(old.kinds.values()):
        values = [key for key in old.weights if old.kinds.get(key) == kind and new.kinds.get(key) == kind]
        if values != sorted(values, key=list(new.weights).index):
            return True
    for one in (old.left, *(part.keys for part in old.right)):
        for other in (new.left, *(part.keys for part in new.right)):
            common = [key for key in _lasting(old, one) if key in other]
            if len(common) > 1 and common != sorted(common, key=other.index):
                return True
    return False


def _lasting(fact: Digest, keys: Iterable[str]) -> Iterable[str]:
    """Keys without times, which stand anywhere in a sentence."""
    return (key for key in keys if fact.kinds.get(key) not in _TEMPORAL)


def _heads(fact: Digest) -> dict[str, set[str]]:
    heads: dict[str, set[str]] = {}
    for part in fact.right:
        if part.role and part.keys:
            heads.setdefault(part.role, set()).update(part.keys)
    return heads


def _named(keys: Iterable[str]) -> str:
    return ", ".join(f"“{key}”" for key in sorted(keys)) or "nothing"

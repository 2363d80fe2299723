"""What a fact says, taken apart so that two facts can be laid side by side.

A fact is read once into a `Digest`: its content words (grammar dropped, both languages under one name where the
lexicon knows them), its quantities by kind, and the places of both around the verb, left (what it is about) and right
(what is said of it), each part of the right under the preposition that leads it.  Beside that stand the
signals that relate it to an older fact: negation, words of change, words of error, and what is left behind
("instead of npm", "不是 3 次").

No parser and no dictionary: the order of words around a closed list of verbs is enough for short facts, and
what it cannot tell apart the comparison treats as two facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from ctxrepo.memory.comparison import lexicon
from ctxrepo.memory.comparison.quantities import Quantity, arabic, quantities
from ctxrepo.text.analyzer import stem, tokens
from ctxrepo.text.common import commonness

_CHUNK = re.compile(
    r"(?P<address>[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s，。；]+|(?:[a-z0-9-]+\.)+[a-z]{2,}\b)"
    r"|(?P<word>[A-Za-z\u00c0-\u024f]+(?:_[A-Za-z0-9]+)*(?:[-&][A-Za-z]+)*(?:\+\+|\#)?|_[a-z_]+|[\u0370-\u1fff]+)"
    r"|(?P<han>[\u2e80-\u9fff\uf900-\ufaff]+)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<!\d),|,(?!\d)|[;:，；。：！!?？]\s*|\.\s+|\bbut\b|\s-\s|而是|(?<=[^\s])(?=不是)")
_REACHED = re.compile("[\u4e00-\u9fff][到至成]\\s*$")
"""涨到 25 元, 压缩至 3 天: whatever the verb, a value was reached."""
_APOSTROPHE = re.compile(r"['\u2019](?:s|re|ve|m|ll|d)\b")
_CONTRACTED = re.compile(r"\b(\w+)n['\u2019]t\b", re.IGNORECASE)
_CAPITAL = re.compile(r"[A-Z]")


class Unit(NamedTuple):
    """One word, name or quantity of a fact."""

    sort: str  # content, quantity, or a sort of `lexicon.Role`
    key: str
    weight: float = 0.0
    kind: str = ""  # of a quantity
    name: bool = False  # written with a capital


@dataclass(slots=True)
class Part:
    """What follows a preposition (or the verb, under `""`) up to the next."""

    role: str
    keys: list[str] = field(default_factory=list)
    before: bool = False  # stands in front of the verb: "for X, use Y"


@dataclass(slots=True)
class Digest:
    """A fact taken apart. Keys are content words, concepts and quantities."""

    text: str
    weights: dict[str, float] = field(default_factory=dict)  # of everything said
    kinds: dict[str, str] = field(default_factory=dict)  # kind of each quantity
    names: set[str] = field(default_factory=set)  # written with a capital
    left: list[str] = field(default_factory=list)
    right: list[Part] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    behind: set[str] = field(default_factory=set)  # what the fact says is no longer, or never was
    change: set[str] = field(default_factory=set)  # concepts of words of change
    wrong: bool = False
    contrast: bool = False  # "not A but B"
    negated: bool = False
    limits: set[str] = field(default_factory=set)  # words of condition and limit
    member: bool = False  # "is a …"

    @property
    def order(self) -> list[str]:
        """All keys in their order around the verb."""
        return [*self.left, *(key for part in self.right for key in part.keys)]


class _Clause(NamedTuple):
    units: list[Unit]
    negations: int
    text: str


@lru_cache(maxsize=4096)
def digest(text: str) -> Digest:
    """Reads a fact. Equal texts give the same object; do not change it."""
    found = Digest(text)
    plain = _APOSTROPHE.sub("", _CONTRACTED.sub(r"\1 not", normalize("NFKC", text).replace("`", " ")))
    plain = arabic(_simplified(plain))
    parts = [(part, _units(part)) for part in _clauses(plain)]
    clauses = [_Clause(units, sum(unit.sort == "not" for unit in units), part) for part, units in parts]
    clauses = [clause for clause in clauses if clause.units]
    for clause in clauses:
        if _ends(clause):
            found.change.add("now")
        for unit in clause.units:
            if unit.sort == "change":
                found.change.add(unit.key)
            elif unit.sort == "wrong":
                found.wrong = True
    spoken = [clause for clause in clauses if any(_is_content(unit) for unit in clause.units)]
    negative = [clause for clause in spoken if clause.negations % 2]
    ceased = [clause for clause in spoken if any(u.sort == "change" and u.key == "cease" for u in clause.units)]
    apart = negative or ceased
    found.contrast = bool(negative) and len(negative) < len(spoken)
    found.negated = bool(negative) and len(negative) == len(spoken)
    for clause in spoken:
        aside = clause in apart and len(apart) < len(spoken)
        _place(found, clause.units, aside)
    if ceased and not negative:
        found.negated = len(ceased) == len(spoken)
        if found.negated:
            found.behind |= set(found.weights)
    return found


def _clauses(text: str) -> list[str]:
    """Clauses; a decimal point, a time and a colon inside a name end none."""
    return [part for part in _CLAUSE.split(re.sub(r"(\d)[:：](\d)", "\\1\u2236\\2", text)) if part and part.strip()]


def _ends(clause: _Clause) -> bool:
    """ "不 … 了": what was is no more."""
    return bool(clause.negations) and clause.text.rstrip().endswith("了") and "不" in clause.text


def _is_content(unit: Unit) -> bool:
    return unit.sort in ("content", "quantity") and unit.weight > 0


def _place(found: Digest, units: list[Unit], aside: bool) -> None:
    """Adds a clause's units to a digest, on the left until the first verb, on the right after it."""
    by = next((at for at, unit in enumerate(units) if unit.sort == "role" and unit.key == "by"), None)
    if by is not None:
        units = _active(units, by)
    part: Part | None = None
    if found.right and not any(unit.sort == "verb" for unit in units):
        part = Part("also")
        found.right.append(part)
    leaving = spoken = False
    turned = any(unit.sort == "change" and unit.key in ("turn", "move", "replace") for unit in units)
    acting = False
    for at, unit in enumerate(units):
        unit = _second(unit, units[at - 1] if at else None, acting)
        if unit.sort == "left":
            leaving = True
        elif unit.sort == "verb":
            found.verbs.append(unit.key)
            spoken = True
            acting |= unit.key not in lexicon.HELPING
            follower = units[at + 1] if at + 1 < len(units) else None
            found.member |= unit.key == "be" and follower is not None and follower.key == "a"
            if part is None or part.keys:
                part = Part("")
                found.right.append(part)
            leaving = False
        elif unit.sort == "change":
            leaving = unit.key == "replace"
            if unit.key in ("turn", "move") and part is None:
                part = Part("")
                found.right.append(part)
        elif unit.sort == "role" and unit.key == "only":
            found.limits.add(unit.key)
        elif unit.sort == "role":
            if unit.key in lexicon.STRICT:
                found.limits.add(unit.key)
            leaving = unit.key == "from" and turned
            if part is not None or unit.key in ("to", "from", "for", "then"):
                part = Part(unit.key, before=not spoken)
                found.right.append(part)
        elif _is_content(unit):
            found.weights.setdefault(unit.key, unit.weight)
            if unit.name:
                found.names.add(unit.key)
            if unit.kind:
                found.kinds[unit.key] = unit.kind
            if leaving or aside:
                found.behind.add(unit.key)
            elif part is None:
                found.left.append(unit.key)
            else:
                part.keys.append(unit.key)


def _second(unit: Unit, before: Unit | None, acting: bool) -> Unit:
    """A second verb, or one behind a preposition, is what the first is about: "run it before each release"."""
    if unit.sort != "verb" or unit.key in lexicon.HELPING:
        return unit
    led = before is not None and before.sort == "role"
    return Unit("content", unit.key, 1.0) if acting or led else unit


def _active(units: list[Unit], by: int) -> list[Unit]:
    """A passive clause with its agent in front: `X is owned by Y`, `X 由 Y 负责` → `Y own X`."""
    verbs = [at for at, unit in enumerate(units) if unit.sort == "verb" and unit.key != "be"]
    if not verbs:
        return units
    end = next((at for at in range(by + 1, len(units)) if units[at].sort in ("verb", "role")), len(units))
    agent = units[by + 1 : end]
    verb = verbs[0] if verbs[0] < by else next((at for at in verbs if at >= end), verbs[0])
    patient = [unit for unit in units[: min(by, verb)] if unit.sort != "verb"]
    rest = [unit for at, unit in enumerate(units[min(by, verb) :], min(by, verb)) if at not in range(by, end)]
    rest = [unit for unit in rest if unit is not units[verb]]
    return [*agent, units[verb], *patient, *rest]


def _units(text: str) -> list[Unit]:
    """The units of a clause in their order."""
    text = text.replace("\u2236", ":")
    units: list[Unit] = []
    at = 0
    for start, end, quantity in [*quantities(text), (len(text), len(text), None)]:
        if start > at:
            units += _words(text[at:start])
            if quantity is not None and _REACHED.search(text[at:start]):
                units.append(Unit("change", "turn"))
        if quantity is not None:
            units.append(_quantity(quantity))
        at = end
    return units


def _quantity(quantity: Quantity) -> Unit:
    return Unit("quantity", quantity.key, 1.0, quantity.kind)


def _words(text: str) -> list[Unit]:
    units: list[Unit] = []
    english: list[str] = []
    for hit in _CHUNK.finditer(text):
        if hit["word"]:
            english += _split(hit[0])
            continue
        units += _english(english)
        english = []
        if hit["han"]:
            units += _chinese(hit[0])
        else:
            units.append(Unit("content", hit[0].lower().rstrip("."), 1.0, name=True))
    return units + _english(english)


def _split(word: str) -> list[str]:
    """Words joined by a hyphen are read apart unless the lexicon knows the whole."""
    return [word] if "-" not in word or (stem(word.lower()),) in _HYPHENED else word.split("-")


_HYPHENED = {phrase.stems for phrases in lexicon.ENGLISH.values() for phrase in phrases if "-" in phrase.form}


def _english(words: list[str]) -> list[Unit]:
    """Units of a run of Latin words: phrases of the lexicon, longest first, and content."""
    lower = [word.lower() for word in words]
    stems = list(map(stem, lower))
    units: list[Unit] = []
    at = 0
    while at < len(words):
        phrase = None if at and words[at] == "A" else _phrase(lower, stems, at)  # "plan A" is a name
        if phrase is None:
            units.append(Unit("content", stems[at], _weight(stems[at]), name=_is_name(words[at])))
            at += 1
        else:
            units.append(_unit(phrase.role, words[at]))
            at += len(phrase.stems)
    return _nouns(_renewed(units, lower))


def _phrase(lower: list[str], stems: list[str], at: int) -> lexicon.Phrase | None:
    """The longest form of the lexicon that begins here; of two with the same stems the one that is written so."""
    fitting = [
        phrase
        for phrase in lexicon.ENGLISH.get(stems[at], ())
        if tuple(stems[at : at + len(phrase.stems)]) == phrase.stems and not _is_no_change_yet(phrase, lower[at], at)
    ]
    if not fitting:
        return None
    longest = [phrase for phrase in fitting if len(phrase.stems) == len(fitting[0].stems)]
    written = " ".join(lower[at : at + len(longest[0].stems)])
    return next((phrase for phrase in longest if phrase.form == written), longest[0])


def _is_no_change_yet(phrase: lexicon.Phrase, word: str, at: int) -> bool:
    """ "Migrate from A to B" is a task, "the red button stops the motor" a habit; only the past tells of a change."""
    if phrase.role.concept == "cease":
        return len(phrase.stems) == 1 and stem(word) in _HABITS and not word.endswith("ed")
    return phrase.role.concept in ("turn", "move") and not at and not word.endswith("ed")


_HABITS = frozenset(map(stem, ("stopped", "dropped", "abandoned", "retired", "ceased", "deprecated")))


def _renewed(units: list[Unit], words: list[str]) -> list[Unit]:
    """ "My new manager is …" tells of a change; in "the new app", new is one app among others."""
    at = words.index("new") if "new" in words else 0
    if at and words[at - 1] in ("my", "our", "user", "the-user") and "new" in {unit.key for unit in units}:
        return [Unit("change", "now") if unit.key == "new" else unit for unit in units]
    return units


def _nouns(units: list[Unit]) -> list[Unit]:
    """ "The release manager is Tom": a word that could be a verb is a noun when the verb follows it."""
    last = max((at for at, unit in enumerate(units) if unit.sort == "verb" and unit.key == "be"), default=0)
    found = []
    for at, unit in enumerate(units):
        follows = at + 1 < len(units) and units[at + 1].sort == "verb"
        noun = unit.sort == "verb" and unit.key != "be" and (at < last or follows)
        found.append(Unit("content", unit.key, 1.0) if noun else unit)
    return found


def _chinese(run: str) -> list[Unit]:
    """Units of a run of Han: forms of the lexicon, longest first, and single characters."""
    units: list[Unit] = []
    at = 0
    while at < len(run):
        for size in range(min(lexicon.LONGEST, len(run) - at), 0, -1):
            role = lexicon.CHINESE.get(run[at : at + size])
            if role is not None:
                units.append(_unit(role, run[at]))
                at += size
                break
        else:
            units.append(Unit("content", run[at], 0.5))
            at += 1
    return units


def _unit(role: lexicon.Role, word: str) -> Unit:
    if role.concept in lexicon.FREQUENCIES:
        return Unit("quantity", role.concept, 0.5, "frequency")
    if role.sort == "noun":
        return Unit("content", role.concept, 0.3 if role.concept in lexicon.LOW else 1.0, name=_is_name(word))
    if role.sort == "light":
        return Unit("light", "a" if word.lower() in ("a", "an") else role.concept)
    return Unit(role.sort, role.concept)


def _weight(word: str) -> float:
    return 0.3 if word in lexicon.LOW else max(0.3, commonness(word))


def _is_name(word: str) -> bool:
    return bool(_CAPITAL.match(word))


def _simplified(text: str) -> str:
    return text if text.isascii() else "".join(map(_simple, text))


@lru_cache(maxsize=20_000)
def _simple(char: str) -> str:
    return tokens(char)[0] if "\u2e80" <= char < "\ua000" and char.isalpha() else char

"""What a turn leaves behind: facts in the user's own words, or nothing.

Two moments only: a clear conclusion, decision or preference, and a correction.  The unit is the sentence.  Each is
judged by the rules of its language (`english`, `chinese`); what is taken is the sentence as it was written, without
the words that only introduce it.  The assistant's sentences never become facts, except a conclusion that the user has
just confirmed, and such a fact is less sure.

Pure: no clock, no disk, no model.  A model's answer goes through `supported` afterwards, so that a fact without a
quotation from the turn is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from typing import NamedTuple

from ctxrepo.memory.extraction import chinese, english
from ctxrepo.memory.extraction.entities import Relation, entities, relations
from ctxrepo.memory.extraction.sentences import sentences
from ctxrepo.memory.extraction.speech import Cue, Opening, Sentence, Verdict
from ctxrepo.memory.extraction.transcript import Turn
from ctxrepo.memory.extraction.validity import validity

MOST_FACTS = 12
"""Of one turn; a turn that says more is a document."""

OWN_SENTENCES = 15
"""A message of more sentences is taken for pasted text: only what has a person in it counts."""

LONGEST = 600
"""Characters of one fact."""

EVERYWHERE, PROJECT = "everywhere", "project"


class Extracted(NamedTuple):
    """One fact of a turn."""

    kind: str
    text: str
    entities: tuple[str, ...]
    relations: tuple[Relation, ...]
    importance: float
    confidence: float
    project_scope: str
    """`EVERYWHERE` for what is about the person, else `PROJECT`."""
    valid_from: str | None
    valid_until: str | None
    reason: str | None
    quote: str
    """The words of the turn that say so."""
    by: str = ""
    """The language model that proposed it; "" for the rules."""


_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_REASON = re.compile(
    r"(?:,?\s*\b(?:because|since(?= (?:the|our|my|we|it|they|i|there|\w+ (?:is|are|has|have|was)))|due to"
    r"|as (?=(?:the|our|we|it|they) )|in order to|so that|given that)\b\s*|[，,；;]?\s*(?:因为|由于|原因是|理由是"
    r"|考虑到|毕竟|免得|以免|为了)\s*)(?P<why>[^。！？\n]{3,200})",
    re.IGNORECASE,
)
_NEXT_REASON = re.compile(
    r"^(?:because|the reason(?: is)?|reason:|that's because|因为|原因是|理由是|原因：|理由：|主要是因为)\s*",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?:[,;]?\s*(?:please|ok|okay|thanks|thank you|got it|right)\s*)?[\s.。]*$", re.IGNORECASE)
_PROJECT_WORDS = re.compile(
    r"\b(?:this|our) (?:repo(?:sitory)?|project|codebase|team|service|app|product)\b|这个(?:仓库|项目|工程|服务|库)"
    r"|本(?:仓库|项目)",
    re.IGNORECASE,
)


def extract(turn: Turn, *, today: date, before: str = "", known: Collection[str] = ()) -> list[Extracted]:
    """The facts of a turn, in its order.

    Args:
        turn: cleaned by `transcript`.
        today: the day on which it was said, for "until Friday".
        before: what the assistant said just before the turn, which the user may confirm.
        known: names that are in use as entities.
    """
    found: dict[str, Extracted] = {}
    said = sentences(turn.user)
    judged = list(_judged(said))
    for number, (sentence, cue) in enumerate(judged):
        follower = judged[number + 1][0].text if number + 1 < len(judged) else ""
        if cue is not None:
            fact = _fact(sentence.text, cue, follower, today, known)
            if len(fact.text) > 2:
                found.setdefault(_key(fact.text), fact)
    for text in _confirmed(turn, before):
        fact = _fact(text, Cue("fact", 0.6, 0.7, start=_lead(text)), "", today, known)
        found.setdefault(_key(fact.text), fact)
    return list(found.values())[:MOST_FACTS]


def statements(turn: Turn) -> list[Extracted]:
    """Every sentence of the user that asks nothing, for rules that say what to remember anyway."""
    found: list[Extracted] = []
    for sentence in sentences(turn.user):
        han = _HAN.search(sentence.masked) is not None
        asks = chinese.asks(sentence.masked) if han else english.asks(sentence.masked)
        if not asks and len(sentence.text) > 3:
            found.append(_fact(sentence.text, Cue("fact", 0.5, 0.8), "", date.min, ()))
    return found


def supported(quote: str, turn: Turn) -> bool:
    """Whether a quotation really stands in the turn, white space and case aside."""
    needle = _squeezed(quote)
    return len(needle) > 1 and (needle in _squeezed(turn.user) or needle in _squeezed(turn.assistant))


def _judged(said: list[Sentence]) -> Iterator[tuple[Sentence, Cue | None]]:
    """Each sentence with what it does, openings carried to what they open."""
    impersonal = len(said) <= OWN_SENTENCES
    opening: Opening | None = None
    for number, sentence in enumerate(said):
        verdict = _verdict(sentence, impersonal)
        if isinstance(verdict, Cue) and sentence.text.rstrip().endswith((":", "：")) and _is_item(said, number + 1):
            verdict = Opening(verdict.kind)
        if isinstance(verdict, Opening):
            opening = verdict
            yield sentence, None
            continue
        cue = _opened(opening, sentence, verdict) if opening else verdict
        if not (opening and opening.kind == "rule" and sentence.item):
            opening = None
        yield sentence, cue


def _is_item(said: list[Sentence], number: int) -> bool:
    return number < len(said) and said[number].item


def _verdict(sentence: Sentence, impersonal: bool) -> Verdict:
    """Judged by the rules of its language; a mixed one by both."""
    han = len(_HAN.findall(sentence.masked))
    if not han:
        return english.judge(sentence, impersonal)
    verdict = chinese.judge(_simplified(sentence), impersonal)
    words = len(_LATIN_WORD.findall(sentence.masked))
    if verdict is None and words >= 4 and han <= words:
        return english.judge(sentence, impersonal)
    return verdict


def _simplified(sentence: Sentence) -> Sentence:
    from ctxrepo.memory.extraction.script import simplified

    return sentence._replace(masked=simplified(sentence.masked))


def _opened(opening: Opening, sentence: Sentence, cue: Cue | None) -> Cue | None:
    """What a sentence does behind "that's wrong." or "from now on:"."""
    if cue is not None:
        if opening.kind == "correction" and cue.kind == "fact":
            return cue._replace(kind="correction", importance=0.8)
        return cue._replace(kind="rule") if opening.kind == "rule" and sentence.item else cue
    text = sentence.text
    asks = text.rstrip().endswith(("?", "？"))
    words = len(text.split()) + len(_HAN.findall(text)) // 2
    if asks or words < 3:
        return None
    if opening.kind == "rule" and sentence.item:
        return Cue("rule", 0.8, 0.85)
    if opening.kind == "fact":
        return Cue("fact", 0.6, 0.8)
    return None


def _confirmed(turn: Turn, before: str) -> Iterator[str]:
    """Conclusions of the assistant that the user's message confirms."""
    module = chinese if _HAN.search(turn.user) else english
    level = module.confirms(turn.user)
    if not level:
        return
    answers = [before, turn.assistant] if level == 2 else [before]
    taken = 0
    for answer in answers:
        for sentence in sentences(answer):
            judge = chinese if _HAN.search(sentence.masked) else english
            if judge.concludes(sentence.masked) and taken < 2 and not sentence.text.rstrip().endswith(("?", "？")):
                taken += 1
                yield sentence.text


def _fact(text: str, cue: Cue, follower: str, today: date, known: Collection[str]) -> Extracted:
    joined = " ".join(text.split())
    words = _ENDING.sub("", joined[cue.start :]).strip(" ,，;；:：-—")
    if words[:1].isascii():
        words = words[:1].upper() + words[1:] if not _is_name(words) else words
    reason = _REASON.search(words)
    why = reason["why"].strip(" ,，.。") if reason else None
    if why is None and (opening := _NEXT_REASON.match(follower)):
        why = _ENDING.sub("", follower[opening.end() :])
    when = validity(joined, today)
    return Extracted(
        kind=cue.kind,
        text=words[:LONGEST],
        entities=tuple(entities(words, known)),
        relations=tuple(relations(words)),
        importance=cue.importance,
        confidence=cue.confidence,
        project_scope=EVERYWHERE if cue.personal and not _PROJECT_WORDS.search(words) else PROJECT,
        valid_from=when.start,
        valid_until=when.end,
        reason=why or None,
        quote=joined,
    )


def _is_name(words: str) -> bool:
    """Whether the first word is written small on purpose: pnpm, iOS, a path."""
    head = words.split(" ", 1)[0]
    return re.search(r"[A-Z\d_/.@`]", head.rstrip(".,:;")) is not None


def _lead(text: str) -> int:
    """Where an assistant's conclusion begins behind its own introduction."""
    lead = re.match(
        r"(?:so|ok|okay|good|great|right|yes|glad to hear(?: it)?|好的?|那么|所以|是的|对|不客气)[\s,，.。:：!！—-]+",
        text,
        re.IGNORECASE,
    )
    return lead.end() if lead else 0


def _key(text: str) -> str:
    return re.sub(r"\W+", "", text.casefold())


def _squeezed(text: str) -> str:
    return "".join(text.casefold().split())

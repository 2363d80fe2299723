"""English sentences: what is no fact, and what is a preference, a rule, a decision, a correction, a conclusion, a fact.

The patterns are grammar, not topics: person and number of the subject, mood, tense, modal verbs, negation, adverbs of
habit, scope and time.  Blockers come first, because most sentences of a conversation are worth nothing and a wrong
memory costs more than a missing one.  A fact without a person in it ("the gateway listens on 8443") must be specific:
a number, a name, a quoted term or a word such as "only"; else "the coffee machine is loud" would be one.

Everything is matched against the lower-cased sentence with its quotations masked.
"""

from __future__ import annotations

import re

from ctxrepo.memory.extraction import english_bars as bars
from ctxrepo.memory.extraction import english_cues as cues
from ctxrepo.memory.extraction.speech import QUOTE, Cue, Opening, Sentence, Verdict


def judge(sentence: Sentence, impersonal: bool) -> Verdict:
    """What the sentence does; None for nothing that lasts.

    Args:
        impersonal: whether a fact without a person in it may count; not so in a long text, which is pasted.
    """
    whole = _plain(sentence.masked)
    lead = bars.LEAD.match(whole)
    start = lead.end() if lead else 0
    plain = whole[start:]
    memo = bars.MEMO.match(plain)
    if memo:
        start += memo.end()
        plain = plain[memo.end() :]
        if sentence.text.rstrip().endswith(("?", "？")) and not bars.POLITE.match(whole[whole.find(memo.group()) :]):
            return None
    elif bars.MEMO_ALONE.match(plain):
        return Opening("fact")
    if len(plain) < 4 or plain.strip(" .!") == QUOTE:
        return None
    polite = bars.POLITE.match(plain)
    if polite:
        plain = plain[polite.end() :]
        if not (cues.STANDING.search(plain) or cues.CALL_ME.search(plain)):
            return None
    elif (
        not memo
        and (sentence.text.rstrip().endswith(("?", "？")) or bars.QUESTION.match(plain))
        and not bars.WHEN_RULE.match(plain)
    ):
        return _told_before_asking(plain, start)
    if _is_fiction(plain) or bars.CHAT.search(plain):
        return None
    specific = _is_specific(sentence.text, plain)
    cue = _said(plain, sentence.text, specific=specific, memo=memo is not None, impersonal=impersonal)
    if isinstance(cue, Cue):
        sure = min(0.95, cue.confidence + 0.1) if memo else cue.confidence
        weight = min(1.0, cue.importance + 0.1) if memo else cue.importance
        return cue._replace(confidence=round(sure, 2), importance=round(weight, 2), start=start)
    return cue


def confirms(message: str) -> int:
    """How much a message confirms what the assistant says: 2 = "that was the problem", 1 = "yes, right", 0 = not."""
    plain = _plain(message).strip()
    if len(plain) > 120 or "?" in plain:
        return 0
    firsts = re.split(r"(?<=[.!])\s+", plain)
    if any(cues.CONFIRM.match(part) for part in (plain, *firsts[:2])):
        return 2
    return 1 if cues.AGREE.match(plain) else 0


def concludes(text: str) -> bool:
    """Whether a sentence of the assistant states a conclusion: a cause, a result, a verified state."""
    plain = _plain(text)
    lead = bars.LEAD.match(plain)
    plain = plain[lead.end() :] if lead else plain
    return _is_conclusion(plain) and not bars.HEDGE.search(plain) and not text.rstrip().endswith("?")


def _told_before_asking(plain: str, start: int) -> Cue | None:
    """What the person says about themselves before a question: "I'm vegetarian, what can I order?"."""
    told, comma, asked = plain.partition(", ")
    if not comma or not bars.QUESTION.match(bars.AND.sub("", asked)) or bars.QUESTION.match(told) or _is_fiction(told):
        return None
    if bars.TEMPORARY.search(told) or not cues.LASTING_TRAIT.search(told):
        return None
    return Cue("preference", 0.7, 0.8, personal=True, start=start)


def asks(text: str) -> bool:
    """Whether a sentence is a question."""
    plain = _plain(text)
    lead = bars.LEAD.match(plain)
    plain = plain[lead.end() :] if lead else plain
    return plain.rstrip().endswith("?") or bars.QUESTION.match(plain) is not None


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").replace("‘", "'").lower().split())


def _is_fiction(plain: str) -> bool:
    """Whether the sentence imagines, wishes or reports another's words."""
    if bars.CONDITIONAL.search(plain) or (bars.HYPOTHETICAL.match(plain) and not cues.STANDING.search(plain)):
        return True
    report = bars.REPORT.search(plain)
    return report is not None and not bars.OWN_PEOPLE.match(plain) and not bars.DECIDED.search(plain)


def _is_specific(text: str, plain: str) -> bool:
    return bool(cues.SPECIFIC_WORDS.search(plain) or cues.PROPER.search(text) or cues.FIRST_PROPER.match(text))


def _said(plain: str, text: str, *, specific: bool, memo: bool, impersonal: bool) -> Verdict:
    """The first thing that the sentence does, in order of strength."""
    hedged = bars.HEDGE.search(plain) is not None
    brief = bars.TEMPORARY.search(bars.WITH_US.sub("", plain)) is not None
    correction = cues.CORRECTION.match(plain)
    if correction and not hedged and correction.end() < len(plain):
        rest = plain[correction.end() :]
        inner = _plain_cue(rest, specific=specific, brief=brief, impersonal=impersonal, text=text)
        if inner is not None:
            return inner if inner.kind in ("decision", "rule") else inner._replace(kind="correction", importance=0.8)
        contrast = cues.CONTRAST.search(rest) is not None
        told = (
            contrast or (specific and cues.CONTENT.search(rest)) or correction.group().startswith(("i meant", "corr"))
        )
        orders = not contrast and bars.ORDER.match(rest)
        if bars.NO_CONTENT.match(rest):
            return Opening("correction") if cues.SURE_CORRECTION.match(plain) else None
        if told and not orders and len(rest.split()) >= 2:
            return Cue("correction", 0.8, 0.8)
        if not cues.SURE_CORRECTION.match(plain):
            return None
    if correction and correction.end() >= len(plain.rstrip(" .!")):
        return Opening("correction") if cues.SURE_CORRECTION.match(plain) else None
    if hedged and not cues.PREFERENCE.search(plain):
        return None
    cue = _plain_cue(plain, specific=specific, brief=brief, impersonal=impersonal, text=text)
    if cue is not None:
        return cue
    if (
        cues.CONTRAST.search(plain)
        and not brief
        and not bars.ORDER.match(plain)
        and (specific or memo)
        and not bars.OPINION.match(plain)
    ):
        return Cue("correction", 0.7, 0.7)
    if memo and not brief and len(plain.split()) >= 3 and not plain.startswith(("to ", "when we ", "when i ", "me ")):
        return Cue("fact", 0.6, 0.8, personal=_is_personal(plain))
    if memo and plain.startswith("to ") and cues.BEFORE.search(plain):
        return Cue("rule", 0.7, 0.8)
    if plain.endswith(":") and cues.STANDING.search(plain):
        return Opening("rule")
    return None


def _plain_cue(plain: str, *, specific: bool, brief: bool, impersonal: bool, text: str) -> Cue | None:
    """A decision, conclusion, rule, preference or fact."""
    if cues.DECISION.search(plain) and not bars.OPINION.match(plain) and not (brief and not cues.STRONG.search(plain)):
        return Cue("decision", 0.7, 0.8)
    if cues.CALL_ME.search(plain) and not brief:
        kind = "fact" if re.search(r"\bmy (?:\w+ )?name(?:'s| is)|i(?:'m| am) called", plain) else "preference"
        return Cue(kind, 0.8, 0.9, personal=True)
    if _is_conclusion(plain) and not bars.ASIDE.search(plain):
        return Cue("fact", 0.6, 0.8)
    if not brief and _is_rule(plain):
        return Cue("rule", 0.8, 0.85, personal=_is_personal(plain))
    if bars.OWN_PEOPLE.match(plain) or cues.FORMER.search(plain):
        return Cue("fact", 0.6, 0.8, personal=plain.startswith(("i ", "my ")))
    if cues.PREFERENCE.search(plain) and not brief:
        return Cue("preference", 0.7, 0.85, personal=True)
    if bars.OPINION.match(plain):
        return None
    if not brief and (cues.PROHIBITION.match(plain) or cues.DIRECTIVE.match(plain)):
        return Cue("rule", 0.7, 0.75, personal=_is_personal(plain))
    if bars.ASIDE.search(plain):
        return None
    if cues.TIMED_CLAIM.search(plain) and not bars.ORDER.match(plain) and not bars.NO_SUBJECT_TIMED.match(plain):
        return Cue("fact", 0.6, 0.8, personal=plain.startswith(("i ", "i'm", "my ")))
    if cues.STATE.search(plain) and not brief and specific:
        return Cue("task-state", 0.4, 0.7)
    if (
        not brief
        and cues.PERSON.search(plain)
        and not bars.ORDER.match(plain)
        and not plain.startswith(("you", "if "))
        and not bars.EVENT_END.search(plain)
    ):
        return Cue("fact", 0.6, 0.8, personal=plain.startswith(("i ", "i'm", "i've", "my ")))
    if cues.WE.search(plain) and (specific or cues.TIMED.search(plain)):
        return Cue("fact", 0.5, 0.8)
    if cues.SHIFT.match(plain) and not brief:
        return Cue("correction", 0.7, 0.7)
    if impersonal and not brief and _is_impersonal_fact(plain, text, specific):
        return Cue("fact", 0.5, 0.75)
    return None


def _is_conclusion(plain: str) -> bool:
    return cues.CONCLUSION.search(plain) is not None and not bars.SYMPTOM.search(plain)


def _is_rule(plain: str) -> bool:
    """Whether it tells what shall always be done; a complaint about what always happens does not."""
    return cues.RULE.search(plain) is not None and not bars.COMPLAINT.match(plain)


def _is_personal(plain: str) -> bool:
    """Whether a rule is about how to treat the person, wherever they work."""
    return re.search(r"\b(?:me|my|i|i'm|repl(?:y|ies)|answers?|respond|responses?|call me)\b", plain) is not None


def _is_impersonal_fact(plain: str, text: str, specific: bool) -> bool:
    if not specific or bars.NO_SUBJECT.match(plain) or bars.ORDER.match(plain):
        return False
    if _tells(plain, text):
        return True
    if not cues.SUBJECT.match(plain):
        return False
    return cues.STATIVE.search(plain) is not None and not bars.EVENT.search(plain) and len(text.split()) >= 4


def _tells(plain: str, text: str) -> bool:
    """Whether a plain statement names something: a finite verb, a name or number behind the first word, no story."""
    body = re.sub(r"^(?:as of|in|on|at|for|with) [^,]{2,40}, ", "", plain)
    words = len(body.split())
    named = cues.PROPER.search(text.partition(" ")[2]) is not None
    return (
        named
        and 4 <= words <= 30
        and not bars.NO_FACT.search(body)
        and not bars.EVENT.search(body)
        and cues.FINITE.search(body.partition(" ")[2]) is not None
    )

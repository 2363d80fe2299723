"""Chinese sentences: what is no fact, and what is a preference, a rule, a decision, a correction, a conclusion, a fact.

The same acts as in `english`, told by what Chinese grammar offers: sentence particles (吗, 呢, 吧, 了), A-not-A
questions, adverbs of scope and habit (以后, 每次, 一律, 都), the disposal construction 把 (an order for now),
resultatives (改成, 换成, 搬到), the contrast 不是…是…, and predicates of attribution (负责, 部署在, 由…审批).
Sentences are judged as a whole with their comma clauses, because subject and predicate often stand apart.

Characters are matched in their simplified form; what is kept is what the person wrote.  Rejected: a word segmenter.
The cues are closed-class words that a pattern finds as well, and a dictionary of 350,000 words would cost more at
start than a whole turn may.
"""

from __future__ import annotations

import re

from ctxrepo.memory.extraction import chinese_bars as bars
from ctxrepo.memory.extraction import chinese_cues as cues
from ctxrepo.memory.extraction.speech import QUOTE, Cue, Opening, Sentence, Verdict


def judge(sentence: Sentence, impersonal: bool) -> Verdict:
    """What the sentence does; None for nothing that lasts. Arguments as in `english.judge`."""
    whole = _plain(sentence.masked)
    lead = bars.LEAD.match(whole)
    start = lead.end() if lead and lead.end() < len(whole) else 0
    plain = whole[start:]
    memo = bars.MEMO.match(plain)
    if memo:
        if memo.end() >= len(plain.rstrip("。！!：: ")):
            return Opening("fact")
        start += memo.end()
        plain = plain[memo.end() :]
    if len(plain) < 2 or plain.strip("。！! ") == QUOTE:
        return None
    polite = bars.POLITE.match(plain)
    if polite:
        plain = bars.QUESTION_END.sub("", plain[polite.end() :])
    elif memo and bars.QUESTION_END_SURE.search(plain):
        return None
    elif not memo and asks(plain):
        return _told_before_asking(plain, start)
    if _is_fiction(plain) or bars.CHAT.search(plain):
        return None
    cue = _said(bars.SINCE.sub("从此", plain), memo=memo is not None, impersonal=impersonal)
    if isinstance(cue, Cue) and memo:
        cue = cue._replace(
            confidence=round(min(0.95, cue.confidence + 0.1), 2), importance=round(min(1.0, cue.importance + 0.1), 2)
        )
    return cue._replace(start=start) if isinstance(cue, Cue) else cue


def confirms(message: str) -> int:
    """How much a message confirms what the assistant says: 2 = "that was the problem", 1 = "yes, right", 0 = not."""
    plain = _plain(message)
    if len(plain) > 60 or bars.QUESTION_END_SURE.search(plain):
        return 0
    return 2 if cues.CONFIRM_TWO.match(plain) else 1 if cues.CONFIRM_ONE.match(plain) else 0


def concludes(text: str) -> bool:
    """Whether a sentence of the assistant states a conclusion."""
    plain = _plain(text)
    lead = bars.LEAD.match(plain)
    plain = plain[lead.end() :] if lead else plain
    return bool(cues.CONCLUSION.search(plain)) and not bars.HEDGE.search(plain) and not asks(plain)


def _plain(text: str) -> str:
    return " ".join(text.split())


def asks(text: str) -> bool:
    """Whether a sentence is a question."""
    plain = _plain(text)
    if bars.QUESTION_END_SURE.search(plain):
        return True
    rest = bars.ANY.sub("", plain)
    return bars.INTERROGATIVE.search(rest) is not None or (
        bars.QUESTION_END.search(rest) is not None and not cues.STANDING.search(rest)
    )


def _told_before_asking(plain: str, start: int) -> Cue | None:
    """What the person says about themselves before a question: 我不吃辣，有什么推荐的吗？"""
    told, comma, asked = plain.replace(",", "，").partition("，")
    if not comma or asks(told) or not asks(asked) or _is_fiction(told) or bars.TEMPORARY.search(told):
        return None
    return (
        Cue("preference", 0.7, 0.8, personal=True, start=start)
        if cues.PREFERENCE.search(told) and told.startswith("我")
        else None
    )


def _is_fiction(plain: str) -> bool:
    """Whether the sentence imagines, wishes or reports another's words."""
    if bars.FICTION.search(plain):
        return bars.CONDITIONAL_RULE.search(plain) is None or bars.HEDGE.search(plain) is not None or "就好了" in plain
    return bars.REPORT.search(plain) is not None and not bars.OWN_PEOPLE.search(plain)


def _said(plain: str, *, memo: bool, impersonal: bool) -> Verdict:
    """The first thing that the sentence does, in order of strength."""
    hedged = bars.HEDGE.search(plain) is not None
    brief = bars.TEMPORARY.search(plain) is not None
    correction = cues.CORRECTION.match(plain)
    if correction and not hedged:
        rest = plain[correction.end() :]
        brief = bars.TEMPORARY.search(rest) is not None
        if len(rest.strip("。！! ")) < 2:
            return Opening("correction") if cues.SURE_CORRECTION.match(plain) else None
        cue = _corrected(plain, rest, brief=brief, impersonal=impersonal)
        if cue is not None or not cues.SURE_CORRECTION.match(plain):
            return cue
    if hedged and not (cues.PREFERENCE.search(plain) and not brief):
        return None
    contrast = cues.CONTRAST.search(plain) is not None and not bars.ORDER.match(plain) and not bars.OPINION.match(plain)
    if contrast and not cues.DECISION.search(plain) and not _is_rule(plain, brief):
        if cues.PREFERENCE.search(plain) and not brief:
            return Cue("preference", 0.7, 0.85, personal=True)
        return Cue("correction", 0.8, 0.8)
    cue = _plain_cue(plain, brief=brief, impersonal=impersonal)
    if (
        cue is None
        and memo
        and not brief
        and len(plain) >= 4
        and not bars.ORDER.match(plain)
        and cues.PREDICATE.search(plain)
    ):
        return Cue("fact", 0.6, 0.8)
    return cue


def _corrected(plain: str, rest: str, *, brief: bool, impersonal: bool) -> Cue | None:
    """What a sentence says after the words that announce a correction."""
    cue = None if bars.OPINION.match(rest) else _plain_cue(rest, brief=brief, impersonal=impersonal)
    if cue is not None:
        return cue if cue.kind in ("decision", "rule") else cue._replace(kind="correction", importance=0.8)
    if cues.CONTRAST.search(plain):
        return Cue("correction", 0.8, 0.8)
    if bars.ORDER.match(rest) or bars.NO_CONTENT.match(rest) or bars.EVENT.search(rest):
        return None
    if cues.SURE_CORRECTION.match(plain) and (cues.MENDED.search(rest) or cues.QUANTITY.search(rest)):
        return Cue("correction", 0.8, 0.8)
    return None


def _plain_cue(plain: str, *, brief: bool, impersonal: bool) -> Cue | None:
    """A decision, conclusion, rule, preference or fact."""
    if _is_decision(plain, brief):
        return Cue("decision", 0.7, 0.8)
    if cues.CALL_ME.search(plain) and not brief:
        return Cue("preference" if "我" in plain[:6] and "叫我" in plain else "fact", 0.8, 0.9, personal=True)
    if cues.FIXED.match(plain) or (
        cues.CONCLUSION.search(plain) and not bars.SYMPTOM.search(plain) and not bars.ORDER.match(plain)
    ):
        return Cue("fact", 0.6, 0.8)
    timed = cues.TIMED_CLAIM.search(plain) is not None and not plain.startswith(("帮", "请", "提醒", "我想", "我要"))
    if _is_rule(plain, brief):
        return Cue("rule", 0.8, 0.85, personal=_is_personal(plain))
    if bars.OWN_PEOPLE.search(plain) and not brief:
        return Cue("fact", 0.6, 0.8, personal=True)
    if cues.PREFERENCE.search(plain) and not brief:
        return Cue("preference", 0.7, 0.85, personal=True)
    if (
        not brief
        and (cues.PROHIBITION.search(plain) or cues.STYLE.match(plain))
        and (timed or not plain.startswith("先"))
    ):
        return Cue("rule", 0.7, 0.75, personal=_is_personal(plain))
    if bars.OPINION.match(plain):
        return None
    if timed and not bars.ORDER.match(plain):
        return Cue("fact", 0.6, 0.8, personal=plain.startswith("我") and not plain.startswith("我们"))
    if timed and "先" in plain and cues.PROHIBITION.search(plain):
        return Cue("rule", 0.6, 0.8)
    if cues.STATE.search(plain) and cues.QUANTITY.search(plain):
        return Cue("task-state", 0.4, 0.7)
    if brief or bars.ORDER.match(plain) or bars.EVENT.search(plain):
        return None
    if cues.PERSON.search(plain) and not bars.PERSON_NOT.search(plain):
        return Cue("fact", 0.6, 0.8, personal=True)
    if (
        cues.WE.match(plain)
        and not bars.WE_NOT.match(plain)
        and (cues.QUANTITY.search(plain) or cues.CHANGED.search(plain) or len(plain) > 10)
    ):
        return Cue("fact", 0.5, 0.8)
    return Cue("fact", 0.5, 0.75) if impersonal and _is_impersonal_fact(plain) else None


def _is_decision(plain: str, brief: bool) -> bool:
    if bars.NOT_DECIDED.search(plain) or bars.OPINION.match(plain) or not cues.DECISION.search(plain):
        return False
    if bars.LATER.search(plain):
        return False
    return not (brief or bars.ORDER.match(plain)) or cues.SURE_DECISION.search(plain) is not None


def _is_rule(plain: str, brief: bool) -> bool:
    """Whether it tells what shall always be done; a complaint about what always happens does not."""
    if brief or bars.COMPLAINT.search(plain) or bars.LATER.search(plain) or not cues.RULE.search(plain):
        return False
    return not bars.ORDER.match(plain) or cues.STANDING.search(plain) is not None


def _is_personal(plain: str) -> bool:
    """Whether a rule is about how to treat the person, wherever they work."""
    return re.search(
        r"回答|回复|跟我|对我|给我|叫我|称呼|说话|交流|找我|打扰|和我|中文|英文", plain
    ) is not None and not re.search(r"项目|仓库|代码|提交|注释|文档", plain)


def _is_impersonal_fact(plain: str) -> bool:
    if bars.BAD_SUBJECT.match(plain):
        return False
    if (
        cues.ATTRIBUTED.match(plain)
        or cues.PLACE.match(plain)
        or (cues.CHANGED.search(plain) and not plain.startswith(("把", "将")))
    ):
        return True
    return cues.STATIVE.match(plain) is not None and bool(cues.QUANTITY.search(plain) or cues.NAME.search(plain))

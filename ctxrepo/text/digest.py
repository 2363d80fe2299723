"""The few sentences of a conversation that a later turn may need, chosen by rules and quoted as they were said.

For a summary without a language model.  Sentences are weighed by what people come back to: decisions, wishes,
corrections, open questions, numbers, names of files and functions; small talk weighs nothing.  Nothing is
rephrased, so nothing can be invented and the language stays what it was.  English and Chinese.

Rejected: the first N characters of every message (greetings and pasted logs), and centrality of sentences as in
LexRank (it prefers what was said often over what was said once and counts).
"""

from __future__ import annotations

import re

LONGEST = 240
"""Characters of one quoted sentence; a longer one is cut at a blank or comma, with `…`."""

_END = re.compile(r"(?<=[。！？；])|(?<=[.!?;])(?=\s)|\n+")
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def _signs(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE | re.ASCII)


_WEIGHTS: tuple[tuple[float, re.Pattern[str]], ...] = (
    (
        3.0,
        _signs(
            r"\b(?:decid|agreed|chose|settled on|instead of|we(?:'ll| will) (?:use|go))",
            "决定|決定|确定|確定|选了|選了|改用|定下|同意",
        ),
    ),
    (
        3.0,
        _signs(
            r"\b(?:remember|always|never|must(?:n't)?|don't|do not|from now on|prefer|make sure)\b",
            "记住|記住|必须|必須|不要|别再|以后|以後|一律|务必|喜欢|偏好",
        ),
    ),
    (
        2.5,
        _signs(
            r"\b(?:wrong|incorrect|actually|not .{1,30} but|correction|mistake)\b",
            "不对|不對|不是.{1,20}而是|错了|更正|其实",
        ),
    ),
    (
        2.0,
        _signs(
            r"\b(?:because|therefore|root cause|turned out|fixed|fail(?:ed|s)|error|blocked|todo|next step|deadline)\b",
            "因为|所以|原因|报错|失败|修好|解决|下一步|截止|待办",
        ),
    ),
    (1.5, _signs(r"[?？]\s*$", r"[吗呢]\s*$")),
    (1.0, _signs(r"\d")),
    (1.0, _signs(r"`[^`]+`", r"\b\w+(?:[_/.]\w+)+\b", "[“「《]")),
)
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|thanks?(?: you| a lot)?|ok(?:ay)?|great|sure|got it|sounds good|you're welcome|of course"
    r"|你好|您好|谢谢|多谢|好的?|嗯|收到|没问题|不客气|明白了?|当然)[\s,，.。!！~]*(?:[^\s]{0,12}[.。!！~])?",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """Splits a text into its sentences, each on one line; blocks of code become their first line."""
    plain = _CODE_BLOCK.sub(_first_line, text)
    return [" ".join(part.split()) for part in _END.split(plain) if part and part.strip(" \t\n-*#>|")]


def weight(sentence: str) -> float:
    """Tells how likely a later turn needs the sentence: 0 for small talk, up to about 12."""
    if _SMALL_TALK.fullmatch(sentence):
        return 0.0
    return 0.5 + sum(points for points, sign in _WEIGHTS if sign.search(sentence))


def telling(text: str, most: int) -> list[str]:
    """Chooses the `most` weightiest sentences, in their order; small talk is never among them."""
    weighed = [(weight(each), -place, each) for place, each in enumerate(sentences(text))]
    chosen = sorted((entry for entry in weighed if entry[0] > 0), reverse=True)[:most]
    return [cut(each) for _, _, each in sorted(chosen, key=lambda entry: -entry[1])]


def cut(sentence: str, longest: int = LONGEST) -> str:
    """Shortens a sentence to `longest` characters, at a blank or comma if there is one in its last third."""
    if len(sentence) <= longest:
        return sentence
    head = sentence[: longest - 1]
    at = max(head.rfind(mark) for mark in (" ", "，", "、", ","))
    return (head[:at] if at > longest * 2 // 3 else head).rstrip(" ,，、") + "…"


def _first_line(block: re.Match[str]) -> str:
    lines = [line.strip() for line in block[0].splitlines()[1:] if line.strip(" `")]
    return f"\n`{lines[0]}` …\n" if lines else "\n"

"""The sentences that a person wrote themselves in a message: without pasted code, logs, quotations and payloads.

A message to an agent is a few own words around material: a stack trace, a diff, a JSON record, the text to be
translated.  The material may say "always" and "I prefer" and means nothing for its paster.  It is told by form, line
by line, and by grammar: what follows "translate this:" is the object of a request.

A sentence ends at 。！？!? or a line break, or at a full stop before white space that belongs to no abbreviation; a
semicolon ends none, because the reason of a decision stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxrepo.memory.extraction.speech import QUOTE, Sentence

MOST_CHARACTERS = 20_000
"""Of a longer message only the beginning and the end are read."""

LONGEST = 800
"""Characters of a sentence that is judged."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PASTED = re.compile(
    r"""\s*(?:
      >                                                     # a quotation
    | [$%#] \s | >>> | \.\.\. \s | PS [ ] | [A-Z]:\\[^ ]*> | \w+@[\w.-]+[:~$]     # a prompt of a shell
    | \[? \d{4}-\d\d-\d\d [T ] \d\d:\d\d                     # a log, by its time
    | \[? \d\d:\d\d:\d\d
    | \[? (?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE) \]? (?:[ :\]\-]|$)
    | (?:npm|yarn|pip|cargo|docker|make(?:\[\d+\])?|gradle|mvn|go|fatal|error|warning)
      (?: [ ](?:ERR!|WARN|error|warning) | : ) [ ]
    | (?:curl|wget|sudo|kubectl|ssh|scp|brew|apt(?:-get)?|docker|git|pip3?|poetry|cargo)
      [ ] (?:-|install|run|clone|add|commit|push|pull|checkout|get|apply|build|http)
    | Traceback[ ]\( | File[ ]" | at[ ][\w.$<>]+\( | Caused[ ]by: | \w*(?:Error|Exception|Warning)\b[^ ]*: | panic:
    | diff[ ]--git | @@ | [+-]{3}[ ][ab]/ | index[ ][0-9a-f]{7} | [+-](?=\S*[({;=])
    | [{}\[\]()] | </?[\w!] | \| | ^[-=*_+]{3,}\s*$ | "[\w-]+":
    | (?:import|from|def|class|return|const|let|var|function|public|private|static|void|func|fn|package|export|async
        |elif|except|finally|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH)
      [ ] .* (?:[({;:=}]|\bimport\b|\bFROM\b|\bINTO\b|\bTABLE\b|\bSET\b)
    | (?:import|from)[ ][\w.]+\s*$
    | (?:for|while|if|else|try|with)\b [^.!?。]* [:{] \s*$
    | [\w.\[\]]+ \s* (?:[+*/|&-]?=|:=|=>) \s* \S+ .*          # an assignment
    | [\w.]+\([^)]*\) [;,]? \s* (?:\#.*|//.*)? $             # a call
    | (?://|/\*|\#!) | On[ ]branch[ ] | [MADRU?]{1,2}[ ]{1,2}[\w./-]+$ | .*[;{]\s*$
    )""",
    re.VERBOSE,
)
_ITEM = re.compile(r"\s*(?:[-*•·‣–]\s+|\(?\d{1,2}[.)、]\s*(?=\D)|[（(]?[一二三四五六七八九十][、）)]\s*)")
_HEADING = re.compile(r"\s*#{1,6}\s+\S")
_PAYLOAD = re.compile(
    r"(?:\b(?:translate|translation|summari[sz]e|rewrite|rephrase|paraphrase|proofread|polish|correct|edit|improve"
    r"|shorten"
    r"|fix|check|review|explain|analy[sz]e|parse|format|convert|extract|classify|say|write|draft|read|reply to|answer"
    r"|summary|grammar|sentence|paragraph|text|email|message|snippet|following|below|this|log|error|output|code|got"
    r"|says?"
    r"|wrote|sent|reads?|here(?:'s| is| are))\b[^:：\n.!?。！？]{0,80}"
    r"|(?:翻译|总结|概括|改写|润色|校对|修改|改成|改得|解释|分析|检查|格式化|转换|提取|分类|缩写|扩写|回复|写|读|看"
    r"|发来|收到|报错"
    r"|说的是|原文|内容|下面|以下|如下|这段|这句|这封|日志|代码)[^:：\n.!?。！？]{0,40})[:：]\s*$",
    re.IGNORECASE,
)
_RULE_LIKE = re.compile(
    r"\b(?:always|never|from now on|going forward|remember|rules?)\b|以后|今后|记住|规则|约定|规范", re.IGNORECASE
)
_QUOTED = re.compile(
    r"`[^`\n]{1,200}`|“[^”\n]{1,300}”|\"[^\"\n]{1,300}\"|「[^」\n]{1,300}」|『[^』\n]{1,300}』|《[^》\n]{1,60}》"
    r"|‘[^’\n]{2,300}’"
    r"|(?<![\w'’])'[^'\n]{2,200}'(?![\w])"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|mr|mrs|ms|dr|prof|st|no|nr|fig|sec|vol|inc|ltd|co|jr|sr|dept|min|max|est"
    r"|resp"
    r"|[a-z])$",
    re.IGNORECASE,
)
_END = re.compile(r"[。！？!?…]+[”\"'’）)」』]*|\.+[\"'”’)]*(?=\s|$|[\u4e00-\u9fff])")


def sentences(message: str) -> list[Sentence]:
    """The own sentences of a message in their order; what runs on for longer than `LONGEST` was not typed."""
    return [sentence for sentence in _sentences(own_words(message)) if len(sentence.text) <= LONGEST]


def own_words(message: str) -> str:
    """The message without fenced, quoted and pasted lines and without the payload of a request."""
    if len(message) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2
        message = f"{message[:half]}\n{message[-half:]}"
    text = _INLINE_FENCE.sub("\n", _FENCE.sub("\n", message.replace("\r\n", "\n").replace("\r", "\n")))
    kept: list[str] = []
    for line in text.split("\n"):
        if _HEADING.match(line) is not None or (line.strip() and _PASTED.match(line) is None):
            kept.append(line)
            if _PAYLOAD.search(line) is not None and _RULE_LIKE.search(line) is None:
                break
        elif not line.strip():
            kept.append("")
    return "\n".join(kept)


def masked(text: str) -> str:
    """The text with quotations and inline code as `QUOTE`, for judging; offsets move."""
    return _QUOTED.sub(f" {QUOTE} ", text)


def _sentences(text: str) -> Iterator[Sentence]:
    for line in text.split("\n"):
        mark = _ITEM.match(line)
        rest = line[mark.end() :] if mark else line
        for part in _split(rest):
            inline, payload = _without_payload(part)
            yield Sentence(inline, masked(inline), mark is not None)
            if payload:
                return


def _without_payload(part: str) -> tuple[str, bool]:
    """A sentence up to the colon behind which the object of a request stands, and whether there was one."""
    for colon in re.finditer(r"[:：](?=\s*\S)", part):
        head = part[: colon.end()]
        if len(head) > LONGEST:
            break
        if _PAYLOAD.search(head) and _REQUEST.match(head) and not _RULE_LIKE.search(head):
            return head, True
    return part, False


_REQUEST = re.compile(
    r"\s*(?:(?:please|pls|ok|hey|hi|now|and|can you|could you|would you|will you|help me|i need you to"
    r"|i want you to)[ ,]+)*"
    r"(?:translate|summari[sz]e|rewrite|rephrase|paraphrase|proofread|polish|correct|edit|improve|shorten|fix|check"
    r"|review"
    r"|explain|analy[sz]e|parse|format|convert|extract|classify|say|write|draft|read|reply|answer|look|tell|send|how"
    r"|what)\b"
    r"|\s*(?:请|麻烦|帮我|帮忙|请帮我|能不能|可以)?(?:把|将|给|翻译|总结|概括|改写|润色|校对|解释|分析|检查|格式化"
    r"|转换|提取|分类|看|写|回复)",
    re.IGNORECASE,
)


def _split(line: str) -> Iterator[str]:
    """The sentences of one line, with their final marks."""
    quoted = [found.span() for found in _QUOTED.finditer(line)]
    start = 0
    for end in _END.finditer(line):
        if any(a < end.start() < b - 1 for a, b in quoted):
            continue
        head = line[start : end.start()]
        if end.group().startswith(".") and (_ABBREVIATION.search(head) or not head.strip()):
            continue
        if part := line[start : end.end()].strip():
            yield part
        start = end.end()
    if part := line[start:].strip():
        yield part

"""What a fact is about: named things, and simple relations between them.

English names are told by their capitals inside a sentence, code by its form, quoted terms by their quotes.  Chinese has
no capitals; there the words that may not be part of a name (particles, pronouns, prepositions, verbs of these
patterns) are taken out, and what stays between them is the noun phrase.  What a person already has a page for
(`known`) is found wherever its name stands, so a graph grows together.

Rejected: jieba and pkuseg (a dictionary of seconds to load or a model to download, for a list of a few names), and
spaCy.  Entities only help to find and to walk; a wrong one costs little, a missing one is added by hand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

MOST = 8
"""Entities of one fact."""

USER = "user"
"""The person themselves, as subject of a relation."""


class Relation(NamedTuple):
    """`subject` stands in `verb` to `object`; both are words of the text or `USER`."""

    subject: str
    verb: str
    object: str


_QUOTED = re.compile(
    r"`([^`\n]{2,60})`|“([^”\n]{2,40})”|\"([^\"\n]{2,40})\"|「([^」\n]{1,40})」|《([^》\n]{1,40})》"
    r"|(?<!\w)'([^'\n]{2,40})'(?!\w)"
)
_CODE = re.compile(
    r"(?:https?://)?(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|dev|cn|de|internal|local|example|app|ai|co)(?:[:/][\w./:-]*)?"
    r"|[\w-]+(?:/[\w.-]+)+|\b[\w-]+\.(?:py|md|js|ts|go|rs|java|sql|ya?ml|json|toml|sh|cfg|ini|txt|csv|html|css|lock"
    r"|pdf)\b"
    r"|\b[A-Za-z]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b[A-Za-z]+-[A-Za-z]*\d[\w-]*\b"
    r"|\b[a-z]+-[a-z]+-[a-z0-9-]+\b",
    re.ASCII,
)
_NAME = re.compile(
    r"[A-Z][\w+#]*(?:[.'-][A-Za-z0-9]\w*)*(?: (?:(?:of|and|for|de|van|von) )?[A-Z][\w+#]*(?:[.-][A-Za-z0-9]\w*)*"
    r"| \d+(?:\.\d+)*(?![\w:%])){0,3}",
    re.ASCII,
)
_ACTS = re.compile(
    r" (?:owns|leads|manages|maintains|handles|approves|covers|works|is (?:the|our|responsible|in charge))\b"
)
_NO_NAME_WORDS = """
i i'm i've i'd i'll ok fyi btw ps the a an and or but so if when whenever while no not yes never always all every
each any please don't do we we're we'll we've our my your you he she it it's they this that these those there here
from to in on at for by with as of is are was use let let's stop keep call make only before after until since
because also then now today tomorrow yesterday remember note actually correction final monday tuesday wednesday
thursday friday saturday sunday january february march april may june july august september october november
december jan feb mar apr jun jul aug sep sept oct nov dec found confirmed decision going starting dark option plan
its their both most invoices tests answers what which who how why good thanks great sorry wrong nope root one two
three
"""
_NO_NAME = frozenset(_NO_NAME_WORDS.split())
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_KEPT = (
    "用户名|用户|用例|用途|地址|地区|地图|上海|上线|上限|上传|中文|中国|中心|中间件|会议室|会议|会员|站会|周会|例会"
    "|年会|对账|对接|对象|过程|过滤器|能力|性能|有效期|下线|下限|下载|前端|前缀|后端|后台|后缀"
    "|外网|内网|选项|里程碑|得分|在线|成都|要求|需求|说明书|说明|无线|通知|给付|不动产|为例|变更|更新|说唱|叫车"
    "|每日站会|改版|换手率|从属|到期日|和平|向量库|向量|被动语态|请假|再保险|只读|先锋|最大值|最小值|都市|也门|还款"
    "|就业|着色器|到货|于洋"
)
_APART = (
    "的时候|一下儿?|以后|今后|往后|每次|每当|所有|任何|必须|务必|不要|不用|不能|不得|禁止|使用|采用|选用|改成|改为"
    "|换成|换为|改用|搬到|迁移?到|切换?到|升级到|已经|现在|目前|因为|由于|所以|如果|但是|不过|而且|或者|以及|还是"
    "|就是"
    "|不是|而是|应该|可以|需要|喜欢|讨厌|习惯|偏好|倾向|过敏|怕|爱|负责人?是?|决定|选定|选择|选了?|定了|确认|确定"
    "|发现|查到|导致|造成|引起|原因|原来|结论|记住|记得|注意|我们|你们|他们|咱们|大家|自己|这个|那个|这种|这些|那些"
    "|什么|怎么"
    "|之前|以前|之后|时候|一律|统一|部署|运行|存放|放在|存在|位于|支持|监听|提供|维护|审批|签字|签|处理|开始|结束"
    "|推荐|提醒|另外|顺便|对了|补充|更正|其实|实际上?|最多|至少|最少|不超过|不少于|只能|一定|尽量|优先|默认|避免"
    "|别再|希望|觉得"
    "|认为|点餐|安排|回答|回复|说话|聊天|写成|写作|叫做|称呼|工作|上班|住在|来自|从事|担任|今天|明天|昨天|后天|下周"
    "|本周|这周|周[一二三四五六日末天]|星期[一二三四五六日天]|[上下]个?月|月底|月初|年底|明年|今年|去年|每[天周月年]"
    "|[一二三四五六七八九十两几\\d]+(?:个|条|次|天|周|月|年|点半?|号|位|种|人|份|遍|倍|套|层|楼)"
)
_SPLIT = re.compile(
    rf"({_KEPT})|(?:{_APART}"
    rf"|[的地得了着过在是为由归和与跟及或把被让给对向从到于就都也还又很太不没别要会能我你他她它这那用改换叫有无每各请"
    rf"再只先最更吧呢吗啊哦嘛才将并且而但等里上下中])"
)
_NO_PHRASE_WORDS = """
时间 东西 事情 问题 情况 方面 部分 一些 一点 全部 其他 别的 没有 知道 明白 收到 好的 谢谢 可能 不会 成本 太高 改完 版本
之类 后面 前面 左右 时候 比较 非常 特别 推送 注意 点餐
"""
_NO_PHRASE = frozenset(_NO_PHRASE_WORDS.split())
_EDGE = re.compile(
    r"^(?:跑|做|写|看|吃|喝|走|买|查|发|带|找|问|讲|交|出|收|放|开|关|搞|弄|来|去|按|选|定|上|吃|喝|养|学|教"
    r"|带)(?=[\u4e00-\u9fff]{2,})"
)

_THING_EN = (
    r"(?:the |our |my |a |an )?([\w./+#-]+(?: (?!(?:and|or|but|because|since|for|to|in|on|at|with|when|as|so|if|over"
    r"|than|instead|rather|not|only|very|from|by)\b)[\w./+#-]+){0,2})"
)
_EN_RELATIONS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("prefers", USER, re.compile(rf"\bi (?:\w+ly )?(?:prefer|like|love|enjoy) {_THING_EN}", re.IGNORECASE)),
    (
        "avoids",
        USER,
        re.compile(
            rf"\bi(?:'m| am)? (?:hate|dislike|can't stand|don't (?:like|eat|drink|use)|allergic to|avoid) {_THING_EN}",
            re.IGNORECASE,
        ),
    ),
    ("uses", USER, re.compile(rf"\bi (?:\w+ly )?use {_THING_EN}", re.IGNORECASE)),
    (
        "works on",
        USER,
        re.compile(rf"\bi (?:work (?:on|at|for|in)|own|lead|manage|maintain) {_THING_EN}", re.IGNORECASE),
    ),
    ("lives in", USER, re.compile(rf"\bi (?:live|am based|moved) (?:in|to) {_THING_EN}", re.IGNORECASE)),
    (
        "replaces",
        "",
        re.compile(
            rf"\b(?:use|with|to|chose|prefer|adopt) {_THING_EN},? (?:instead of|rather than|over|not) {_THING_EN}",
            re.IGNORECASE,
        ),
    ),
    ("replaces", "reversed", re.compile(rf"\b(?:from) {_THING_EN} to {_THING_EN}", re.IGNORECASE)),
    (
        "owns",
        "",
        re.compile(
            r"^(?:the )?([\w.+#-]+(?: [\w.+#-]+){0,2}?) (?:owns|leads|manages|maintains|handles|is responsible for"
            r"|is in charge of) " + _THING_EN,
            re.IGNORECASE,
        ),
    ),
    (
        "owns",
        "reversed",
        re.compile(
            r"(?:the |our )?([\w.+#-]+(?: [\w.+#-]+){0,2}?) (?:is|are) (?:owned|led|managed|maintained|handled) by "
            + _THING_EN,
            re.IGNORECASE,
        ),
    ),
    (
        "runs on",
        "",
        re.compile(
            r"(?:the |our )?([\w.+#-]+(?: [\w.+#-]+){0,2}?) (?:runs? (?:on|in)|(?:is|are) (?:hosted|deployed"
            r"|stored) (?:on|in|at)|lives? (?:on|in)|listens on) " + _THING_EN,
            re.IGNORECASE,
        ),
    ),
    (
        "depends on",
        "",
        re.compile(
            r"(?:the |our )?([\w.+#-]+(?: [\w.+#-]+){0,2}?) (?:depends on|requires|uses|supports) (?:only )?"
            + _THING_EN,
            re.IGNORECASE,
        ),
    ),
)
_THING_ZH = (
    r"([A-Za-z0-9][\w .+#/-]*|[\u4e00-\u9fff]{1,8}?)(?=$|[，,。；;、！!\s]|和|跟|与|过敏|不耐|的|了|来|吧|做|而|，"
    r"|管|负责|维护|审|签|。)"
)
_ZH_RELATIONS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("avoids", USER, re.compile(r"对([^，,。对我]{1,8})(?:过敏|不耐受|敏感|反感)")),
    ("avoids", USER, re.compile(r"(?:不喜欢|讨厌|不吃|不喝|受不了|反感)" + _THING_ZH)),
    ("prefers", USER, re.compile(r"(?<!不)(?:喜欢|偏好|偏爱|爱吃|爱喝|习惯用|更想要)(?:吃|喝|用|看|听)?" + _THING_ZH)),
    ("works on", USER, re.compile(r"我(?:主要|现在)?负责" + _THING_ZH)),
    (
        "lives in",
        USER,
        re.compile(r"我(?:现在)?(?:住在?|搬到了?|在(?=[^，,。]{2,6}(?:上班|工作|住)))([^，,。了上工住]{2,6})"),
    ),
    (
        "replaces",
        "reversed",
        re.compile(
            r"(?:从|把|别再用)\s*([A-Za-z][\w.+#-]*|[\u4e00-\u9fff]{2,6}?)\s*(?:换成|换到|迁移?到|切换?到|改成|升级到"
            r"|改用|了，.{0,8}用)了?\s*" + _THING_ZH
        ),
    ),
    (
        "replaces",
        "",
        re.compile(
            r"用\s*([A-Za-z][\w.+#-]*|[\u4e00-\u9fff]{2,6}?)\s*(?:而不是|，不用|，不要用|代替|替代|取代)\s*" + _THING_ZH
        ),
    ),
    (
        "owns",
        "reversed",
        re.compile(
            r"([A-Za-z\u4e00-\u9fff]{2,10}?)的?(?:负责人|对接人|联系人|owner)(?:是|换成了?|改成|为)" + _THING_ZH
        ),
    ),
    ("owns", "reversed", re.compile(r"([A-Za-z\u4e00-\u9fff]{2,10}?)(?:由|归)" + _THING_ZH)),
    (
        "runs on",
        "",
        re.compile(r"([A-Za-z\u4e00-\u9fff]{2,10}?)(?:部署在|跑在|运行在|放在|存在|位于|托管在)\s*" + _THING_ZH),
    ),
)


def entities(text: str, known: Collection[str] = ()) -> list[str]:
    """Names of what a text is about, at most `MOST`, in the order of their first mention.

    Args:
        known: names that are in use already; those that stand in the text come first.
    """
    places: dict[str, int] = {}
    lower = text.lower()
    for name in known:
        at = lower.find(name.lower()) if len(name) > 1 else -1
        if at >= 0 and not _inside_word(lower, at, len(name)):
            places[name] = at - len(text)
    taken = [(text.lower().find(name.lower()), len(name)) for name in places]
    for at, name in (*_quoted(text), *_code(text), *_names(text), *_phrases(text)):
        if name.lower() in {each.lower() for each in places} or any(a <= at < a + size for a, size in taken):
            continue
        places[name] = at
        taken.append((at, len(name)))
    return sorted(places, key=places.__getitem__)[:MOST]


def relations(text: str) -> list[Relation]:
    """Simple relations that the text states."""
    found: list[Relation] = []
    for table in (_EN_RELATIONS, _ZH_RELATIONS):
        for verb, role, pattern in table:
            for match in pattern.finditer(text):
                groups = [_trimmed(group) for group in match.groups() if group]
                if role == USER and groups:
                    found.append(Relation(USER, verb, groups[0]))
                elif len(groups) == 2 and all(groups):
                    subject, thing = reversed(groups) if role == "reversed" else groups
                    if subject.lower() not in _NO_NAME and thing.lower() not in _NO_NAME and subject != thing:
                        found.append(Relation(subject, verb, thing))
    return list(dict.fromkeys(relation for relation in found if len(relation.object) > 1))[:MOST]


def _trimmed(name: str) -> str:
    return name.strip(" .,;:!?'\"`，。；：！？")


def _inside_word(text: str, at: int, size: int) -> bool:
    """Whether a Latin name found at a place is only a part of a word."""
    before, after = text[at - 1 : at], text[at + size : at + size + 1]
    latin = text[at].isascii() and text[at].isalnum()
    return latin and ((before.isascii() and before.isalnum()) or (after.isascii() and after.isalnum()))


def _quoted(text: str) -> Iterator[tuple[int, str]]:
    for match in _QUOTED.finditer(text):
        yield match.start(), next(group for group in match.groups() if group).strip()


def _code(text: str) -> Iterator[tuple[int, str]]:
    for match in _CODE.finditer(text):
        yield match.start(), match.group().rstrip(".,:/")


def _names(text: str) -> Iterator[tuple[int, str]]:
    """Capitalised words; the first of a sentence only if its form or its company tells a name."""
    for match in _NAME.finditer(text):
        words = match.group().split(" ")
        at = match.start()
        while words and words[0].lower() in _NO_NAME:
            at += len(words[0]) + 1
            words = words[1:]
        while words and (words[-1].lower() in _NO_NAME or words[-1] in ("of", "and", "for")):
            words = words[:-1]
        name = " ".join(words).rstrip(".'-")
        before = text[:at].rstrip()
        opens = not before or before[-1] in ".!?。！？:\n"
        plain = opens and len(words) == 1 and not re.search(r"[A-Z\d+#.]", name[1:])
        if len(name) < 2 or (plain and not _ACTS.match(text, at + len(name))):
            continue
        yield at, name


def _phrases(text: str) -> Iterator[tuple[int, str]]:
    """Chinese noun phrases: what stays between words that belong to none."""
    for run in _HAN.finditer(text):
        part, start = "", run.start()
        position = 0
        for match in _SPLIT.finditer(run.group()):
            part += run.group()[position : match.start()]
            if match[1]:
                part += match[1]
            else:
                yield from _phrase(part, start)
                part = ""
            position = match.end()
            if not part:
                start = run.start() + position
        yield from _phrase(part + run.group()[position:], start)


def _phrase(part: str, at: int) -> Iterator[tuple[int, str]]:
    lead = _EDGE.match(part)
    name = part[lead.end() :] if lead else part
    if 2 <= len(name) <= 8 and name not in _NO_PHRASE:
        yield at + (lead.end() if lead else 0), name

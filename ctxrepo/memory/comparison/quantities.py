"""Numbers, times, dates and versions in a fact, each with its kind, so that 三点, 3pm and 15:00 are one value.

Two facts that differ in a quantity of one kind speak about the same attribute; two that differ in kinds do not.
Numbers that name something (`INV-1001`, `#1234`, `db-2`) are identifiers and never a value.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Quantity(NamedTuple):
    """A value: its kind (`weekday`, `time`, `date`, `month`, `relative`, `version`, `number:<unit>`) and its form."""

    kind: str
    key: str


_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_HAN_NUMBER = re.compile(
    r"[零〇一二两三四五六七八九十百千万亿]+(?=点|楼|层|次|个|天|年|月|日|号|分|秒|小时|元|块|人|周|版|岁|遍|名|位)"
)
_FROM_TWO = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_FROM_THIRD = ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 2
    )
} | {word: f"{number}th" for number, word in enumerate(_FROM_THIRD, 3)}
_WORDS = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_WAN = re.compile(r"(\d+(?:\.\d+)?)\s*([万亿千])")

_WEEKDAYS = {name: str(at) for at, name in enumerate("一二三四五六日", 1)} | {"天": "7", "末": "6+7"}
_ENGLISH_WEEKDAYS = {name: str(at) for at, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 1)}
_MONTHS = {
    name: str(at)
    for at, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)
}
_UNITS = {
    form: unit
    for unit, forms in {
        "s": "seconds second secs sec s 秒 秒钟",
        "min": "minutes minute mins min 分钟 分",
        "h": "hours hour hrs h 小时 个小时",
        "d": "days day d 天",
        "w": "weeks week 周 个星期",
        "mo": "months 个月",
        "y": "years year 年",
        "gb": "gb gib g",
        "mb": "mb mib",
        "tb": "tb",
        "ms": "ms milliseconds 毫秒",
        "%": "% percent",
        "eur": "eur euro euros €",
        "usd": "usd dollars dollar $",
        "元": "元 块 块钱 人民币 rmb cny",
        "次": "times 次 遍",
        "人": "people persons 人 个人 名",
        "位": "位 digits characters chars",
        "楼": "楼 层 floor floors",
        "km": "km 公里",
        "kg": "kg 公斤",
        "个": "个",
    }.items()
    for form in forms.split()
}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*"
_PARTS = {
    "早上": "am",
    "早晨": "am",
    "上午": "am",
    "凌晨": "am",
    "中午": "noon",
    "下午": "pm",
    "晚上": "pm",
    "傍晚": "pm",
}
_PATTERN = re.compile(
    rf"""
    (?P<weekday>(?:周|星期|礼拜)(?P<wd>[一二三四五六日天末])(?!期))
  | (?P<enweekday>\b(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|satur|sun)days?\b)
  | (?P<iso>\b\d{{4}}-\d{{1,2}}-\d{{1,2}}\b)
  | (?P<date>(?P<hm>\d{{1,2}})\s*月\s*(?P<hd>\d{{1,2}})\s*[日号]
      |\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH})\b
      |\b(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:))
  | (?P<time>(?P<part>早上|早晨|上午|凌晨|中午|下午|晚上|傍晚)?\s*(?P<hour>\d{{1,2}})
      (?:[:：](?P<minute>\d\d)(?:\s*(?P<ap>am|pm)\b)?|\s*(?P<ap2>am|pm)\b|\s*点(?:钟|整)?(?P<half>半)?(?:(?P<hmin>\d{{1,2}})分)?))
  | (?P<daypart>早上|早晨|上午|凌晨|中午|下午|晚上|傍晚|\bmornings?\b|\bafternoons?\b|\bevenings?\b)
  | (?P<relative>今天|明天|后天|昨天|月底|年底|\bday\ after\ tomorrow\b|\btomorrow\b|\byesterday\b|\btoday\b)
  | (?P<day>\d{{1,2}}\s*日|(?<=[月个旬])\s*\d{{1,2}}\s*号|\d{{1,2}}\s*号(?![\u4e00-\u9fff])
      |\d{{1,2}}\s*号(?=[之前后起到至])|\b\d{{1,2}}(?:st|nd|rd|th)\b(?!\s*floor))
  | (?P<month>\d{{1,2}}\s*月(?!份?内)|\b(?:january|february|march|april|june|july|august|
      september|october|november|december)\b)
  | (?P<ident>\#\d+|第\s*\d+|\d+\s*号|\b[a-z]+(?:[-_][a-z]+)*[-_]?\d[\w.-]*\b)
  | (?P<number>\d+(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)*)(?:st|nd|rd|th\b)?\s*(?P<unit>(?:{_UNIT})(?![a-z]))?
    """,
    re.VERBOSE | re.IGNORECASE,
)


def arabic(text: str) -> str:
    """Chinese numerals before a measure word, and 万, as digits: 五万元 → 50000元, 三点 → 3点."""
    text = _WORDS.sub(lambda found: _NUMBER_WORDS[found[0].lower()], text)
    scaled = _WAN.sub(lambda found: _plain(float(found[1]) * _SCALES[found[2]]), text)
    return _HAN_NUMBER.sub(_read_han, scaled)


def quantities(text: str) -> list[tuple[int, int, Quantity]]:
    """(start, end, quantity) of every quantity and identifier with a digit in `text`, a result of `arabic`."""
    found = []
    for hit in _PATTERN.finditer(text):
        quantity = _quantity(hit, text)
        if quantity is not None:
            found.append((hit.start(), hit.end(), quantity))
    return found


def _quantity(hit: re.Match[str], text: str) -> Quantity | None:
    whole = hit[0].strip().lower()
    if hit["weekday"]:
        return Quantity("weekday", f"weekday:{_WEEKDAYS[hit['wd']]}")
    if hit["enweekday"]:
        return Quantity("weekday", f"weekday:{_ENGLISH_WEEKDAYS[whole[:3]]}")
    if hit["iso"]:
        _, month, day = whole.split("-")
        return Quantity("date", f"date:{int(month)}-{int(day)}")
    if hit["date"]:
        month = hit["hm"] or _MONTHS[(hit["m1"] or hit["m2"]).lower()[:3]]
        day = hit["hd"] or hit["d1"] or hit["d2"]
        return Quantity("date", f"date:{int(month)}-{int(day)}")
    if hit["time"]:
        return _time(hit)
    if hit["daypart"]:
        return Quantity("daypart", f"daypart:{_PARTS.get(whole, 'am' if whole.startswith('morning') else 'pm')}")
    if hit["relative"]:
        return Quantity("relative", f"relative:{_RELATIVE.get(whole, whole)}")
    if hit["day"]:
        return Quantity("day", f"day:{re.sub(r'[^0-9]', '', whole)}")
    if hit["month"]:
        digits = re.sub(r"[^0-9]", "", whole)
        return Quantity("month", f"month:{int(digits) if digits else _MONTHS[whole[:3]]}")
    if hit["ident"]:
        version = re.fullmatch(r"v(\d+(?:\.\d+)*)", whole)
        return Quantity("version", f"version:{version[1]}") if version else Quantity("ident", whole)
    return _number(hit, text)


def _number(hit: re.Match[str], text: str) -> Quantity:
    number = hit["number"].replace(",", "")
    if hit["unit"]:
        unit = _UNITS[hit["unit"].lower()]
        return Quantity(f"number:{unit}", f"{_plain(float(number)) if number.count('.') < 2 else number}{unit}")
    before = text[: hit.start()].rstrip()
    named = len(before) < hit.start() and before[-1:].isascii() and before[-1:].isalpha()
    word = re.search(r"[A-Za-z]+$", before)
    if named and word and not _BEFORE_VALUES.fullmatch(word[0]) and (word[0][0].isupper() or "." in number):
        return Quantity("version", f"version:{number}")
    if len(number) >= _LONG and "." not in number and not _SAID.search(before):
        return Quantity("ident", number)
    return Quantity("version" if number.count(".") > 1 else "number", number)


def _time(hit: re.Match[str]) -> Quantity:
    hour = int(hit["hour"])
    minute = int(hit["minute"] or hit["hmin"] or (30 if hit["half"] else 0))
    late = (hit["ap"] or hit["ap2"] or "").lower() == "pm" or _PARTS.get(hit["part"] or "") == "pm"
    if late and hour < 12:
        hour += 12
    return Quantity("time", f"time:{hour}:{minute:02}")


_LONG = 6  # digits from which a bare number names something, unless a verb of being says it is a value
_SAID = re.compile(r"(?:\b(?:is|was|are|to|equals)|[=:：是为到])\s*$", re.IGNORECASE)
_BEFORE_VALUES = re.compile(r"(?i:is|are|was|were|to|of|at|by|for|in|on|than|over|above|under|below|least|most|about)")
_RELATIVE = {"今天": "0", "today": "0", "明天": "1", "tomorrow": "1", "后天": "2", "day after tomorrow": "2"} | {
    "昨天": "-1",
    "yesterday": "-1",
}


def _read_han(found: re.Match[str]) -> str:
    total, part, digit = 0, 0, 0
    for char in found[0]:
        if char in _DIGITS:
            digit = _DIGITS[char]
            continue
        scale = _SCALES[char]
        if scale >= 10_000:
            total, part, digit = total + (part + digit or 1) * scale, 0, 0
        else:
            part, digit = part + (digit or 1) * scale, 0
    return str(total + part + digit)


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)

"""When a sentence says it holds: "until Friday", "from August on", "从下周起", "到月底为止".

Times are read relative to the day on which it was said; a weekday is the next one, a month without year the next
such month.  A deadline is no end of validity: what is due on Friday is still true on Saturday.  What cannot be read
for sure is left to the words of the fact, which keep it anyway.

Rejected: a date library such as dateparser (it finds dates in version numbers and reads "may" as a month).
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import NamedTuple


class Validity(NamedTuple):
    """First and last day, `YYYY-MM-DD`; None = not said."""

    start: str | None = None
    end: str | None = None


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_POINT = (
    rf"(?:\d{{4}}-\d\d-\d\d|tomorrow|today|(?:the )?end of (?:the |this |next )?(?:day|week|month|quarter|year"
    rf"|{_MONTH})|next (?:week|month|quarter|year|{_DAY})"
    rf"|(?:this |on )?{_DAY}|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|{_MONTH}(?: \d{{4}})?|the \d{{1,2}}(?:st|nd|rd|th)"
    rf"|\d{{4}}\b)"
)
_UNTIL = re.compile(
    rf"(?<!not )\b(?:until|till|up to|through|thru|expires?(?: on| in)?|ends? on|valid (?:to|till|until"
    rf"|through))\s+(?:the\s+)?(?P<at>{_POINT})",
    re.IGNORECASE,
)
_FROM = re.compile(
    rf"\b(?:starting(?: from| on| in)?|effective(?: from)?|as of|as from|beginning(?: on| in| from)?"
    rf"|from)\s+(?P<at>{_POINT})",
    re.IGNORECASE,
)
_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_ZH_POINT = (
    rf"(?:\d{{4}}-\d\d-\d\d|(?:下+个?|这个?|本)?(?:周|星期|礼拜)[一二三四五六日天末]?|下个?月(?:底|初|末)?|(?:本"
    rf"|这个)?月(?:底|末)|年底|年末|明年|明天|后天|今天|(?:\d{{4}} ?年 ?)?{_NUMBER} ?月(?: ?{_NUMBER} ?[日号]"
    rf"|[底初末]|份)?|{_NUMBER} ?[日号])"
)
_ZH_UNTIL = re.compile(
    rf"(?:(?:到|至|直到|截止到?|截至|有效期到?至?)\s*(?P<at>{_ZH_POINT})\s*(?:为止|之前|以前|前|结束|截止|都|，|,|。"
    rf"|才|$)|(?P<before>{_ZH_POINT})\s*(?:之前|以前|前)(?=[都不别先禁，,]))"
)
_ZH_FROM = re.compile(
    rf"(?:从|自)\s*(?P<at>{_ZH_POINT})\s*[^，,。]{{0,4}}?(?:起|开始|以后|之后|往后)|(?P<plain>{_ZH_POINT})\s*(?:起"
    rf"|开始)"
)
_ZH_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")}


def validity(text: str, today: date) -> Validity:
    """Reads when a sentence says it holds.

    Args:
        today: the day on which it was said.
    """
    start = end = None
    if (found := _UNTIL.search(text)) is not None:
        end = _english(found["at"].lower(), today, last=True)
    if (found := _FROM.search(text)) is not None:
        start = _english(found["at"].lower(), today, last=False)
    if (found := _ZH_UNTIL.search(text)) is not None:
        before = found["before"]
        point = _chinese(before or found["at"], today, last=True)
        if point and (before or found.group().rstrip("，,。").endswith(("之前", "以前", "前"))):
            point = _day_before(before or found["at"], point, today)
        end = point or end
    if (found := _ZH_FROM.search(text)) is not None:
        start = _chinese(found["at"] or found["plain"], today, last=False) or start
    if start and end and start > end:
        start = None
    return Validity(start.isoformat() if start else None, end.isoformat() if end else None)


def _day_before(said: str, end: date, today: date) -> date:
    """Before a named day means until the day before; "before the end of the month" includes the end."""
    return end if said.endswith(("底", "末")) or end <= today else end - timedelta(days=1)


def _english(said: str, today: date, *, last: bool) -> date | None:
    said = said.removeprefix("this ").removeprefix("on ").removeprefix("the ").replace(",", "").replace(".", "")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", said):
        return _iso(said)
    if said in ("today", "tomorrow"):
        return today + timedelta(days=said == "tomorrow")
    if said.startswith("end of "):
        period = said.removeprefix("end of ").removeprefix("the ").removeprefix("this ")
        ahead = period.startswith("next ")
        return _end_of(period.removeprefix("next "), today, ahead=ahead)
    if said.startswith("next "):
        period = said.removeprefix("next ")
        return _weekday(period, today) if period in _DAYS else _next(period, today, last=last)
    if said in _DAYS:
        return _weekday(said, today)
    if re.fullmatch(r"\d{4}", said):
        return _clamped(int(said), 12 if last else 1, 31 if last else 1)
    month = next((number for number, name in enumerate(_MONTHS, 1) if re.search(rf"\b{name}", said)), None)
    numbers = [int(number) for number in re.findall(r"\d+", said)]
    year = next((number for number in numbers if number > 31), None)
    day = next((number for number in numbers if number <= 31), None)
    if month is None:
        return _day_of_month(day, today) if day else None
    return _dated(year, month, day, today, last=last)


def _chinese(said: str, today: date, *, last: bool) -> date | None:
    said = said.replace(" ", "")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", said):
        return _iso(said)
    if said in ("今天", "明天", "后天"):
        return today + timedelta(days=("今天", "明天", "后天").index(said))
    if said in ("年底", "年末"):
        return date(today.year, 12, 31)
    if said == "明年":
        return date(today.year + 1, 12 if last else 1, 31 if last else 1)
    if said.endswith(("月底", "月末")) and said[0] in "月本这":
        return _month_end(today.year, today.month)
    if said.startswith("下") and "月" in said:
        year, month = (today.year, today.month + 1) if today.month < 12 else (today.year + 1, 1)
        whole = last or said.endswith(("底", "末"))
        return _month_end(year, month) if whole else date(year, month, 1)
    if (week := re.match(r"(下*)(?:个|这个|本|这)?(?:周|星期|礼拜)([一二三四五六日天末]?)", said)) and "月" not in said:
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=len(week[1]))
        if not week[2]:
            return monday + timedelta(days=6 if last else 0)
        day = monday + timedelta(days=6 if week[2] == "末" else "一二三四五六日".find(week[2].replace("天", "日")))
        return day if day >= today else day + timedelta(weeks=1)
    dated = re.fullmatch(rf"(?:(\d{{4}})年)?(?:({_NUMBER})月)?(?:({_NUMBER})[日号])?([底初末份])?", said)
    if dated is None or not (dated[2] or dated[3]):
        return None
    day_said = _number(dated[3]) if dated[3] else None
    if not dated[2]:
        return _day_of_month(day_said, today) if day_said else None
    whole = last or dated[4] in ("底", "末")
    return _dated(int(dated[1]) if dated[1] else None, _number(dated[2]), day_said, today, last=whole)


def _number(said: str) -> int:
    if said.isdigit():
        return int(said)
    tens, ten, ones = said.rpartition("十")
    return (_ZH_DIGITS.get(tens, 1) * 10 if ten else 0) + _ZH_DIGITS.get(ones, 0)


def _iso(said: str) -> date | None:
    try:
        return date.fromisoformat(said)
    except ValueError:
        return None


def _weekday(name: str, today: date) -> date:
    ahead = (_DAYS.index(name) - today.weekday()) % 7
    return today + timedelta(days=ahead or 7)


def _next(period: str, today: date, *, last: bool) -> date | None:
    if period == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=1)
        return monday + timedelta(days=6 if last else 0)
    if period == "year":
        return date(today.year + 1, 12 if last else 1, 31 if last else 1)
    if period in ("month", "quarter"):
        step = 1 if period == "month" else 3 - (today.month - 1) % 3
        year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
        return _month_end(year, month + 1) if last and period == "month" else date(year, month + 1, 1)
    return None


def _end_of(period: str, today: date, *, ahead: bool) -> date | None:
    if period == "day":
        return today
    if period == "week":
        return today - timedelta(days=today.weekday()) + timedelta(days=6, weeks=int(ahead))
    if period == "year":
        return date(today.year + ahead, 12, 31)
    if period == "quarter":
        year, month = divmod(today.year * 12 + (today.month - 1) // 3 * 3 + 2 + 3 * ahead, 12)
        return _month_end(year, month + 1)
    if period == "month":
        year, month = divmod(today.year * 12 + today.month - 1 + ahead, 12)
        return _month_end(year, month + 1)
    month_named = next((number for number, name in enumerate(_MONTHS, 1) if period.startswith(name)), None)
    return _dated(None, month_named, None, today, last=True) if month_named else None


def _dated(year: int | None, month: int, day: int | None, today: date, *, last: bool) -> date | None:
    if not 1 <= month <= 12:
        return None
    if year is not None:
        return _clamped(year, month, day or (31 if last else 1))
    this = _clamped(today.year, month, day or 31)
    target = today.year if this is not None and this >= today else today.year + 1
    return _clamped(target, month, day or (31 if last else 1))


def _day_of_month(day: int, today: date) -> date | None:
    if not 1 <= day <= 31:
        return None
    if day >= today.day:
        return _clamped(today.year, today.month, day)
    year, month = divmod(today.year * 12 + today.month, 12)
    return _clamped(year, month + 1, day)


def _clamped(year: int, month: int, day: int) -> date | None:
    if not (1 <= year <= 9999 and 1 <= day <= 31):
        return None
    return date(year, month, min(day, monthrange(year, month)[1]))


def _month_end(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])

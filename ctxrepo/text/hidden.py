"""Characters that a reader does not see but a program reads: zero-width, bidirectional, tag and control characters,
and halves of a surrogate pair, which no file can hold.

They make a review meaningless: what a person approves is not what an agent is told.  They are refused in what is
newly written and shown wherever text is reviewed.  Some of them are also how people write, and those pass: the joiner
inside an emoji or between letters of a script that joins, one variation selector behind the character it varies, the
flags of England, Scotland and Wales.  A long run of variation selectors behind one emoji is how text is smuggled, so
a second passes nowhere.  The soft hyphen counts as hidden: it splits words for a search and shows nowhere.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SUBDIVISION_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f")
_JOINERS = "\u200c\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_JOINING_SCRIPTS = (range(0x0600, 0x0E00), range(0x1000, 0x10A0), range(0x1780, 0x18B0), range(0xA8E0, 0xA900))
_HAN = (range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x32000))


class Hidden(NamedTuple):
    """One hidden character."""

    at: int  # offset in the text
    char: str

    @property
    def name(self) -> str:
        """The code point and what Unicode calls it, such as `U+200B ZERO WIDTH SPACE`."""
        unnamed = "half of a surrogate pair" if unicodedata.category(self.char) == "Cs" else "control character"
        return f"U+{ord(self.char):04X} {unicodedata.name(self.char, unnamed)}"


def find_hidden(text: str) -> list[Hidden]:
    """Finds what a reader of the text would not see, line breaks and tabs aside."""
    if _SUSPECT.search(text) is None:
        return []
    flags = [match.span() for match in _SUBDIVISION_FLAG.finditer(text)]
    return [
        Hidden(match.start(), match.group())
        for match in _SUSPECT.finditer(text)
        if not _is_writing(text, match.start()) and not any(a < match.start() < b for a, b in flags)
    ]


def show_hidden(text: str) -> str:
    """Gives the text with every hidden character written out, such as `pass⟨U+200B⟩word`."""
    parts: list[str] = []
    last = 0
    for hidden in find_hidden(text):
        parts += text[last : hidden.at], f"⟨U+{ord(hidden.char):04X}⟩"
        last = hidden.at + 1
    return "".join(parts) + text[last:]


def is_hidden(char: str) -> bool:
    """Tells whether one character, taken alone, shows nothing."""
    return _SUSPECT.fullmatch(char) is not None


def _is_writing(text: str, at: int) -> bool:
    """Tells whether a suspect character belongs to what its neighbours write."""
    char = text[at]
    before = text[at - 1] if at else ""
    after = text[at + 1 : at + 2]
    if not before or (is_hidden(before) and before != "\ufe0f"):
        return False
    if char in _JOINERS:
        both_emoji = (_is_symbol(before) or before == "\ufe0f") and bool(after) and _is_symbol(after)
        return both_emoji or (_among(before, _JOINING_SCRIPTS) and bool(after) and _among(after, _JOINING_SCRIPTS))
    if is_hidden(before):
        return False
    if char in "\ufe0e\ufe0f":
        return _is_symbol(before) or before in "0123456789#*" or _among(before, _HAN)
    if "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return _among(before, _HAN)
    return False


def _is_symbol(char: str) -> bool:
    if ord(char) in _SKIN_TONES:
        return True
    return unicodedata.category(char) in ("So", "Sm") or (ord(char) > 0x2000 and unicodedata.category(char) == "Po")


def _among(char: str, blocks: tuple[range, ...]) -> bool:
    return any(ord(char) in block for block in blocks)

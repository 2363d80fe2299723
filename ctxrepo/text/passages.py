"""Cut a long text into passages of about 600 characters, so that a short answer is not buried in a long file.

tantivy's BM25 has a fixed length correction (b = 0.75) and one number for a whole document; passages give the
ranking something to point at. A cut is made at the strongest boundary in the second half of a passage: before
a heading, at a blank line, a line end, a sentence end (Chinese ones need no blank), a comma, a blank. Only
text that offers none of them is cut between two characters, and then never inside a run such as a URL, an
address or a version, nor inside an emoji or another character that is written with several code points.

Rejected: cutting by Markdown structure alone (a Chinese paragraph without blank lines became one giant
passage elsewhere), overlapping passages (the ranking looks at neighbours anyway), and a tokenizer's count
(characters are what `size` means to the person who sets it).
"""

from __future__ import annotations

import re

LONGEST_RUN = 2_000
"""Characters up to which a run without blanks is kept whole; longer ones are blobs and are cut."""

_LONGEST_CHARACTER = 40
_BREAKS = tuple(
    re.compile(pattern).finditer
    for pattern in (
        r"\n(?=#{1,6}[ \t])",
        r"\n[ \t]*\n\s*",
        r"\n",
        r"[.!?\u2026][\"')\]\u2019\u201d*_]*(?=\s)|[\u3002\uff01\uff1f\uff1b\u2026][\u2019\u201d\u300d\u300f\uff09\u3011]*",
        r"[,;:](?=\s)|[\uff0c\u3001\uff1a]",
        r"\s+",
    )
)
_RUN_BEFORE = re.compile(r"[\x21-\x7e\u00c0-\u024f]*\Z").search
_RUN_AFTER = re.compile(r"[\x21-\x7e\u00c0-\u024f]*").match
_HEADING = re.compile(r"\n*#{1,6}[ \t][^\n]*\s*\Z").match
_ZWJ = "\u200d"


def passages(text: str, size: int = 600) -> list[tuple[int, int]]:
    """Return the passages of `text` as half-open character ranges, in order, without overlap.

    Together they cover every character that is not white space; a passage neither begins nor ends with any.

    Args:
        text: the whole text, Markdown or not.
        size: characters of a passage at most; only an uncuttable run may be longer.

    Raises:
        ValueError: `size` is less than 1.
    """
    if size < 1:
        raise ValueError(f"A passage needs at least one character, not {size}.")
    found = []
    start, end = 0, len(text)
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end:
        cut = end if end - start <= size else _cut(text, start, size, end)
        stop = cut
        while text[stop - 1].isspace():
            stop -= 1
        found.append((start, stop))
        start = cut
        while start < end and text[start].isspace():
            start += 1
    return found


def _cut(text: str, start: int, size: int, end: int) -> int:
    """Where the passage that begins at `start` ends: after the strongest boundary of its second half."""
    low, high = start + size // 2, start + size
    window = text[low : high + 1]
    for breaks in _BREAKS:
        cut = 0
        for match in breaks(window):
            at = low + match.end()
            if low < at <= high and not _HEADING(text[start:at][-200:]):
                cut = at
        if cut:
            return cut
    return _whole(text, start, high, end)


def _whole(text: str, start: int, at: int, end: int) -> int:
    """The place nearest to `at` that splits neither a run of Latin characters nor a combined character."""
    before = _RUN_BEFORE(text, max(start, at - LONGEST_RUN), at)
    after = _RUN_AFTER(text, at, min(end, at + LONGEST_RUN))
    first = before.start() if before else at
    last = after.end() if after else at
    if first < at < last and last - first < LONGEST_RUN:
        return first if first > start else last
    for back in range(min(_LONGEST_CHARACTER, at - start - 1) + 1):
        if _between_characters(text, start, at - back):
            return at - back
    return at


def _between_characters(text: str, start: int, at: int) -> bool:
    """Whether a reader sees two characters left and right of `at`; `start` is a place where one begins."""
    before, after = text[at - 1], text[at]
    if before == _ZWJ or after == _ZWJ or _extends(after):
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        first = at
        while first > start and _is_flag_half(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 0
    return True


def _extends(char: str) -> bool:
    """Whether `char` belongs to the one before: a combining mark, a variation selector, a skin tone, a tag."""
    return (
        "\u0300" <= char <= "\u036f"
        or "\u3099" <= char <= "\u309a"
        or "\ufe00" <= char <= "\ufe0f"
        or char == "\u20e3"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"

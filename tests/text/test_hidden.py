"""What a reader does not see is found, and what people write passes."""

from __future__ import annotations

import pytest

from ctxrepo.text.hidden import find_hidden, show_hidden

WRITING = {
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "heart": "❤\ufe0f",
    "keycap": "1\ufe0f\u20e3",
    "rainbow flag": "🏳\ufe0f\u200d🌈",
    "skin tone": "👩🏽\u200d💻",
    "England": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Persian": "می\u200cخواهم",
    "Hindi": "क्\u200dष",
    "Han variant": "葛\U000e0100",
    "tabs and breaks": "a\tb\r\nc\n",
    "plain": "对辣菜过敏，聚餐要避开 – naïve café",
}
SMUGGLED = {
    "zero width space": ("pass\u200bword", "pass⟨U+200B⟩word"),
    "joiner between letters": ("ad\u200dmin", "ad⟨U+200D⟩min"),
    "override": ("abc\u202edef", "abc⟨U+202E⟩def"),
    "isolate": ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
    "tags": ("hi\U000e0041\U000e0042", "hi⟨U+E0041⟩⟨U+E0042⟩"),
    "tags behind a flag": ("🏴\U000e0067\U000e0062 \U000e0041", "🏴⟨U+E0067⟩⟨U+E0062⟩ ⟨U+E0041⟩"),
    "run of variation selectors": ("😀\ufe0f\ufe00\U000e0110", "😀\ufe0f⟨U+FE00⟩⟨U+E0110⟩"),
    "variation selector on a letter": ("a\ufe0f", "a⟨U+FE0F⟩"),
    "byte order mark inside": ("a\ufeffb", "a⟨U+FEFF⟩b"),
    "escape": ("\x1b[8mhidden", "⟨U+001B⟩[8mhidden"),
    "Hangul filler": ("a\u3164b", "a⟨U+3164⟩b"),
    "soft hyphen": ("pass\xadword", "pass⟨U+00AD⟩word"),
    "line separator": ("a\u2028b", "a⟨U+2028⟩b"),
}


@pytest.mark.parametrize("text", WRITING.values(), ids=WRITING)
def test_writing_passes(text: str) -> None:
    """Emoji, scripts that join, and variants of one character are not hidden text."""
    assert find_hidden(text) == []
    assert show_hidden(text) == text


@pytest.mark.parametrize(("text", "shown"), SMUGGLED.values(), ids=SMUGGLED)
def test_hidden_characters_are_found_and_shown(text: str, shown: str) -> None:
    """A reviewer sees each of them, at its place."""
    assert show_hidden(text) == shown
    assert all(text[hidden.at] == hidden.char for hidden in find_hidden(text))


def test_a_hidden_character_is_named() -> None:
    """The message says what it is, also for one without a name."""
    assert find_hidden("\u200b")[0].name == "U+200B ZERO WIDTH SPACE"
    assert find_hidden("\x07")[0].name == "U+0007 control character"
    assert show_hidden("half \ud83d") == "half ⟨U+D83D⟩", "a cut emoji can stand in JSON, but in no file"

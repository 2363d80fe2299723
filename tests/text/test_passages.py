from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.text.passages import LONGEST_RUN, passages


def cut(text: str, size: int = 600) -> list[str]:
    return [text[start:end] for start, end in passages(text, size)]


def test_a_short_text_is_one_passage_without_its_margins() -> None:
    """White space around a text belongs to no passage; a blank text has none."""
    assert passages("  hello\n") == [(2, 7)]
    assert passages(" \n\t ") == []
    assert passages("") == []


def test_a_heading_stays_with_what_it_heads() -> None:
    """A cut is made before a heading, never behind it."""
    text = "# One\n\n" + "word " * 20 + "\n\n# Two\n\n" + "other " * 20
    assert [part.split()[1] for part in cut(text, 140)] == ["One", "Two"]


def test_a_paragraph_end_is_preferred_to_a_sentence_end() -> None:
    """Of two boundaries in reach the stronger one wins, though the weaker lies later."""
    assert cut("First one here. And more.\n\nSecond. Third sentence is long", 40) == [
        "First one here. And more.",
        "Second. Third sentence is long",
    ]


def test_chinese_without_blank_lines_is_cut_at_sentence_ends() -> None:
    """A paragraph without blanks and line ends does not become one giant passage."""
    parts = cut("中文没有空行的段落，这里有逗号。" * 200)
    assert len(parts) > 4
    assert all(part.endswith("。") and len(part) <= 600 for part in parts)


@pytest.mark.parametrize(
    "whole",
    ["https://example.com/a/very/long/path?with=query&more=1", "first.last@mail.example.com", "v1.2.3-rc.4+build.567"],
)
@pytest.mark.parametrize("lead", ["见", "see ", "参见：", ""])
@pytest.mark.parametrize("size", [7, 19, 33])
def test_urls_addresses_and_versions_stay_whole(whole: str, lead: str, size: int) -> None:
    """However small the passages are, no cut goes through one."""
    text = f"{lead}{whole} " * 5 + f"，{whole}。"
    assert sum(part.count(whole) for part in cut(text, size)) == 6


@pytest.mark.parametrize("character", ["👨‍👩‍👧‍👦", "🇨🇳", "👍🏽", "❤️", "e\u0301", "か\u3099"])
def test_characters_of_several_code_points_stay_whole(character: str) -> None:
    """Families, flags, skin tones and accents are not taken apart."""
    parts = cut(character * 300, 50)
    assert len(parts) > 4
    assert all(part.replace(character, "") == "" for part in parts)


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "中", "\u200d", "🇨🇳", "e\u0301\u0301", "\n", "word ", "# h\n\n", "\u0301"],
)
def test_large_texts_take_linear_time(unit: str) -> None:
    """Half a million characters of anything are cut within seconds."""
    begin = time.process_time()
    parts = passages(unit * (500_000 // len(unit)))
    assert time.process_time() - begin < 5
    assert all(end - start <= 600 + LONGEST_RUN for start, end in parts)


@given(st.text(alphabet=st.sampled_from("ab. \n,。，中é#@/👍\u200d\U0001f1e8🏽"), max_size=200), st.integers(1, 40))
def test_passages_cover_every_character_once(text: str, size: int) -> None:
    """In order, without overlap, without blank ends, and nothing but white space between them."""
    last = 0
    for start, end in passages(text, size):
        assert last <= start < end
        assert not text[last:start].strip()
        assert text[start:end] == text[start:end].strip()
        last = end
    assert not text[last:].strip()


def test_a_size_below_one_is_refused() -> None:
    """Nothing can be cut into passages of no characters."""
    with pytest.raises(ValueError, match="at least one"):
        passages("text", 0)

"""Facts as values: where they hold, what their files are called, which folder takes them."""

from __future__ import annotations

import pytest

from ctxrepo.errors import Invalid, Refused
from ctxrepo.memory import screening
from ctxrepo.memory.facts import default_project, file_name, joined, month_folder, new_header, superseding

ULID = "01M5C439Q0FVFGNZXA20MNEY9S"


def test_only_a_preference_holds_everywhere_by_itself() -> None:
    """Whatever else was learnt stays with the project in which it was learnt."""
    kinds = ("preference", "rule", "decision", "correction", "fact", "experience", "task-state")

    assert [default_project(kind, "p") for kind in kinds] == ["*", *["p"] * 6]


def test_a_header_has_the_order_in_which_people_read_it() -> None:
    """What was not given is left out."""
    header = new_header(
        fact_id=ULID, kind="rule", now="2026-11-29T10:00:00Z", project="p", agent="*", source="cli",
        extra={"importance": 0.0, "session": None, "tags": [], "turn": 0},
    )  # fmt: skip

    assert list(header) == [
        "id", "kind", "status", "project", "agent", "created", "updated", "source", "importance", "turn",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Deploys go out on Tuesday", "deploys-go-out-on-tuesday-mney9s.md"),
        ("对辣菜过敏，聚餐要避开。", "对辣菜过敏-聚餐要避开-mney9s.md"),
        ("../../etc/passwd", "etc-passwd-mney9s.md"),
        ("a: b | c?", "a-b-c-mney9s.md"),
    ],
)
def test_a_file_is_named_after_its_words_and_the_end_of_its_id(text: str, name: str) -> None:
    """Readable, confined, and the tail is what people type."""
    assert file_name(text, ULID) == name


def test_a_file_of_nothing_but_signs_has_a_name() -> None:
    """The id alone is enough."""
    assert file_name("!?", ULID).endswith("-mney9s.md")


def test_the_month_folder_is_the_first_with_room() -> None:
    """`2026-11`, then `2026-11.2`, `.3` …"""
    full = {"facts/2026-11": 10, "facts/2026-11.2": 12}

    assert month_folder("2026-11-29T10:00:00Z", lambda folder: full.get(folder, 0), 10) == "facts/2026-11.3"
    assert month_folder("2026-12-01T10:00:00Z", lambda folder: full.get(folder, 0), 10) == "facts/2026-12"


def test_a_superseded_fact_names_its_successor_and_its_end() -> None:
    """It was true until then."""
    assert superseding(ULID, "2026-11-29T10:00:00Z") == {
        "status": "superseded",
        "superseded_by": ULID,
        "valid_until": "2026-11-29T10:00:00Z",
        "updated": "2026-11-29T10:00:00Z",
    }


def test_list_values_are_distinct_and_keep_their_order() -> None:
    """Blanks around them, empty ones and repetitions go."""
    assert joined([" b ", "a", "", "b", "  "]) == ["b", "a"]


def test_a_hidden_character_is_shown_where_it_stands() -> None:
    """The person sees which words to type again."""
    with pytest.raises(Invalid) as caught:
        screening.refuse_words("transfer to alice\u202eecila please")

    assert caught.value.details == ["transfer to alice⟨U+202E⟩ecila please"]


def test_emoji_and_joined_scripts_are_no_hidden_characters() -> None:
    """Families, flags, Persian and Devanagari pass."""
    screening.refuse_words("👨‍👩‍👧 like 🏴󠁧󠁢󠁥󠁮󠁧󠁿 and ❤️, می‌خواهم, क्‍ष")


def test_every_text_of_every_field_is_screened() -> None:
    """Lists too; numbers and nothing pass."""
    screening.refuse_unseen_fields({"importance": 0.5, "session": None, "tags": ["fine"], "turn": 3})
    with pytest.raises(Refused, match="The entities holds a secret"):
        screening.refuse_unseen_fields({"entities": ("fine", "AKIAABCDEFGHIJKLMNOP")})

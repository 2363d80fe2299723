"""Writing headers: only what changed, changes, and what was written is read back."""

from __future__ import annotations

import copy
import re

import frontmatter
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.asset.frontmatter import FrontmatterError, parse, render
from ctxrepo.asset.header import read_header, same
from ctxrepo.asset.rewrite import REFUSALS, read

HAND_MADE = """\
---
# the id is mine
id:   01KB7Q2M3N4P5Q6R7S8T9V0W1X   # keep the gap
'kind': "preference"
created: 2025-10-24

mine: {flow: yes,  other: [1,2]}
tags:
- food
- 饮食   # Chinese
version: 1.10
long: >-
  folded
  text
nested:
    deep:
          deeper: 012 # octal?
# the end
---
Body with  two spaces
and no final break"""

ODD_TEXTS = """\
no|~|null|true|012|12:30|1_000|1.0|2025-10-24|a: b|a #b|- a|*|&a|| x|x |---|0x1F|1e5|=|<<|[[x]]|'|"|\\|😀|%a|@a\
"""
TEXTS = st.one_of(
    st.text(
        st.characters(blacklist_categories=("Cs", "Cc", "Cn"), blacklist_characters="\u2028\u2029\ufeff\x85"),
        max_size=30,
    ),
    st.sampled_from([*ODD_TEXTS.split("|"), "a|b", "a\nb\n", "a\nb", "\n", "\ta", "a\n\n b\n"]),
)
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = TEXTS | NUMBERS | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
FIELDS = st.dictionaries(TEXTS, VALUES, max_size=5)


def test_one_changed_entry_changes_one_line() -> None:
    """Gaps, comments, quotes, flow style and odd indentation of all other lines survive to the byte."""
    rendered = render(parse(HAND_MADE), {"version": "1.11"})

    assert rendered == HAND_MADE.replace("version: 1.10", 'version: "1.11"')


def test_an_equal_value_is_no_change() -> None:
    """Setting what is set already gives the same bytes, however it is spelled."""
    parsed = parse(HAND_MADE)

    assert render(parsed, copy.deepcopy(parsed.fields)) == HAND_MADE


def test_comments_and_quotes_of_a_changed_entry_survive() -> None:
    """A new id keeps the comment beside it, a new kind keeps its quotes, a new item leaves the others' comments."""
    parsed = parse(HAND_MADE)

    rendered = render(parsed, {"id": "X", "kind": "rule", "tags": ["food", "饮食", "new"]})

    assert re.search(r"^id: X +# keep the gap$", rendered, re.MULTILINE)
    assert "'kind': \"rule\"\n" in rendered
    assert "tags:\n- food\n- 饮食   # Chinese\n- new\n" in rendered
    assert rendered.count("\n") == HAND_MADE.count("\n") + 1


def test_nested_state_changes_in_place() -> None:
    """A change deep inside a map leaves the comments of its neighbours."""
    text = "---\nphases:\n  - name: a  # first\n    status: open\nnested:\n  x: 1  # one\n  y: 2\n---\n"

    rendered = render(parse(text), {"nested": {"x": 1, "y": 3}})

    assert rendered == text.replace("y: 2", "y: 3")


def test_a_number_in_the_place_of_a_quoted_text_is_a_number() -> None:
    """The quotes of the old value are not those of the new one."""
    assert render(parse('---\nimportance: "0.5"\n---\n'), {"importance": 0.6}) == "---\nimportance: 0.6\n---\n"


def test_new_entries_come_last_and_removed_ones_go() -> None:
    """Adding and removing touch no other line."""
    rendered = render(
        parse("---\nid: x\nold:\n  - 1\n# note\ntitle: t\n---\nB\n"), {"tags": ["a", "b: c"]}, ["old", "none"]
    )

    assert rendered == '---\nid: x\n# note\ntitle: t\ntags:\n  - a\n  - "b: c"\n---\nB\n'


def test_tags_do_not_grow_signs_when_written_again_and_again() -> None:
    """Ten rewrites of an unchanged list give the list of the first."""
    text = render(None, {"tags": ["#a", "b"]}, body="x")

    for number in range(10):
        text = render(parse(text), {"n": number, "tags": parse(text).fields["tags"]})

    assert parse(text).fields == {"tags": ["#a", "b"], "n": 9}


def test_crlf_and_bom_of_the_original_survive() -> None:
    """A file from Windows stays one: new lines end as the others do."""
    text = "\ufeff---\r\nid: x\r\n---\r\nHello\r\n"

    assert render(parse(text), {"title": "T"}) == "\ufeff---\r\nid: x\r\ntitle: T\r\n---\r\nHello\r\n"
    assert render(parse("---\r\n---\r\nx"), {"id": "y"}) == "---\r\nid: y\r\n---\r\nx"
    assert render(parse("---\nid: x\n---\na\r\n"), {"n": 1}) == "---\nid: x\nn: 1\n---\na\r\n"
    assert render(parse(text), {}, body="New\nbody") == "\ufeff---\r\nid: x\r\n---\r\nNew\r\nbody\r\n"


def test_a_file_without_header_is_adopted_with_its_text_untouched() -> None:
    """The header is put above; the text keeps its line endings, and its missing final break."""
    assert render(parse("I like tea\r\nand cake"), {"id": "x"}) == "---\r\nid: x\r\n---\r\nI like tea\r\nand cake"
    assert render(parse("---\n\nA rule\n\n---\n"), {"id": "x"}) == "---\nid: x\n---\n---\n\nA rule\n\n---\n"
    assert render(parse("text"), {}) == "text"


def test_an_entry_that_ruamel_cannot_read_is_written_anew() -> None:
    """libyaml accepts a tab inside a text, ruamel does not; the entry can be changed all the same, and others too."""
    text = "---\nstatus: acti\tve\nid: x\n---\n"

    assert render(parse(text), {"status": "active"}) == "---\nstatus: active\nid: x\n---\n"
    assert render(parse(text), {"id": "y"}) == "---\nstatus: acti\tve\nid: y\n---\n"


def test_a_flow_header_is_rewritten_whole() -> None:
    """Where entries share a line, ruamel writes the header and the values hold."""
    parsed = parse("---\n{id: x, n: 012}\n---\n")

    assert parse(render(parsed, {"title": "t"})).fields == {"id": "x", "n": "012", "title": "t"}


def test_an_entry_whose_anchor_is_used_is_left_alone() -> None:
    """What cannot change alone is refused, rather than changing something else with it."""
    anchored = parse("---\na: &x [1, 2]\nb: *x\n---\n")

    with pytest.raises(FrontmatterError, match="a cannot be changed alone"):
        render(anchored, {"a": [1, 3]})
    assert parse(render(anchored, {}, ["a"])).fields == {"b": [1, 2]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"bytes", {1: "x"}])
def test_values_that_would_not_come_back_are_refused(value: object) -> None:
    """Dates, bytes, nan and number keys are the caller's mistake, not a surprise in the file."""
    with pytest.raises(TypeError):
        render(None, {"x": value})


@given(FIELDS, st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r"), max_size=60))
def test_what_is_rendered_is_parsed_back(fields: dict[str, object], body: str) -> None:
    """parse(render(x)) == x for any header and body."""
    parsed = parse(render(None, fields, body=body))

    assert same(parsed.fields, fields)
    assert parsed.body == (body if not body or body.endswith("\n") else body + "\n")


@given(FIELDS, FIELDS)
def test_a_rewrite_gives_the_wanted_header(before: dict[str, object], changes: dict[str, object]) -> None:
    """Old fields stay, changed ones have their new values, and the body does not move."""
    text = render(None, before, body="body\n")

    parsed = parse(render(parse(text), changes))

    assert same(parsed.fields, before | changes)
    assert list(parsed.fields) == list(before | changes)
    assert parsed.body == "body\n"


@given(st.dictionaries(TEXTS, TEXTS, max_size=5))
def test_texts_stay_texts_for_readers_of_yaml_1_1(fields: dict[str, str]) -> None:
    """Whatever another reader could take for a number, a date or a boolean stands in quotes."""
    header = render(None, fields).removeprefix("---\n").removesuffix("---\n")

    assert (yaml.safe_load(header) or {}) == fields


def test_plain_python_frontmatter_reads_what_is_rendered() -> None:
    """A tool that knows nothing of this package sees the same header."""
    fields = {"id": "012", "created": "2025-10-24", "done": "no", "at": "12:30", "tags": ["a", "1.0"], "n": 0.5}

    assert frontmatter.loads(render(None, fields, body="x")).metadata == fields


@given(st.text(st.sampled_from("ab:# -\n[]{}\"'|>?&*!,\\~01.é辣"), max_size=40))
def test_both_readers_agree_on_any_header(header: str) -> None:
    """The fast reader and ruamel give the same values for whatever both accept; the fast one accepts nothing more."""
    try:
        fast = read_header(header).fields
    except FrontmatterError:
        return
    try:
        slow = read(header)
    except REFUSALS:
        return

    assert same(fast, slow)


@given(FIELDS)
def test_both_readers_agree_on_what_is_rendered(fields: dict[str, object]) -> None:
    """The fast reader and ruamel give the same values for every file of ours."""
    header = render(None, fields).removeprefix("---\n").removesuffix("---\n")

    assert same(read_header(header).fields, read(header))

"""Every problem of a file, with its line and field."""

from __future__ import annotations

import pytest

from ctxrepo.asset.check import check, refuse_errors, unreadable
from ctxrepo.asset.fields import instant
from ctxrepo.asset.frontmatter import FrontmatterError, parse, parse_plain
from ctxrepo.asset.kinds import KINDS, kind_of, values
from ctxrepo.errors import Invalid

ULID = "01KB7Q2M3N4P5Q6R7S8T9V0W1X"


def problems(kind: str, text: str, path: str = "f.md", *, new: bool = False) -> list[str]:
    """Checks a text and gives the problems as they are printed."""
    parsed = parse_plain(text) if path.endswith(".yaml") else parse(text)
    return [str(problem) for problem in check(kind, parsed, path, new=new)]


def test_a_hand_written_fact_without_header_is_fine() -> None:
    """Ids and dates come with the next snapshot, nobody has to write them."""
    assert problems("fact", "I like tea\n") == []
    assert (
        problems("fact", "---\ntags: food\nimportance: .9\nmine: [1, {a: b}]\ncreated: 2026-11-29\n---\nI like tea\n")
        == []
    )


def test_every_problem_is_reported_with_its_line() -> None:
    """One look shows all there is to mend."""
    text = f"""---
id: not-an-id
kind: preferences
importance: 2
tags:
  - a
  -
valid_from: 2026-11-29
valid_until: 2026-11-01
created: yesterday
session: [[x]]
supersedes: {ULID}
status: superseded
---

"""
    assert problems("fact", text) == [
        "f.md:2: id: must be a ULID (26 letters and digits); take the line out and one is made.",
        "f.md:3: kind: is 'preferences', not one of preference, rule, decision, correction, fact, experience, "
        "task-state. Did you mean 'preference'?",
        "f.md:4: importance: is 2, not between 0 and 1.",
        "f.md:7: tags: has nothing in item 2.",
        "f.md:9: valid_until: lies before valid_from.",
        "f.md:10: created: must be a date such as 2026-11-29 or 2026-11-29T10:00:00Z.",
        "f.md:11: session: must be text, not a list; put it in quotes.",
        "f.md:13: status: warning: is superseded, and superseded_by does not say by what.",
        "f.md:15: body: The file has no text below its header.",
    ]


@pytest.mark.parametrize(
    ("kind", "header", "expected"),
    [
        ("fact", "title: None", []),
        (
            "fact",
            "reason: None",
            ["reason: warning: is the word 'None', which a program writes where a value got lost."],
        ),
        ("fact", "reason:", []),
        ("fact", 'reason: ""', ["reason: warning: is empty; take the line out."]),
        ("entity", "aliases: [a]", ["title: warning: is missing: name of the thing."]),
        ("fact", f"id: {ULID}\nsupersedes: [{ULID}]", ["supersedes: names the file itself."]),
        (
            "fact",
            f"superseded_by: {ULID}",
            ["status: warning: is still current, though superseded_by names a successor."],
        ),
        ("fact", "Status: active", ["Status: warning: is kept as your own field. Did you mean 'status'?"]),
        ("fact", "importance: true", ["importance: must be a number."]),
        ("fact", "turn: 1.5", ["turn: must be a whole number."]),
        ("rules", "rules:\n  - x: when a do b", ["rules: must hold texts, and item 1 is a map; put it in quotes."]),
        ("document", "effective_from: 2026-11-29\neffective_until: 2026-11-29", []),
        ("document", "created: 2026-11-30\nupdated: 2026-11-29", ["updated: warning: lies before created."]),
        ("task", "title: t\nphases:\n  - a", ["phases: must be a map of `key: value` lines."]),
    ],
)
def test_rules_of_fields(kind: str, header: str, expected: list[str]) -> None:
    """Each rule, on the smallest header that breaks it."""
    found = problems(kind, f"---\n{header}\n---\ntext\n")

    assert [line.split(" ", 1)[1] for line in found] == expected


def test_a_second_header_is_reported() -> None:
    """A stub put above a note's own header hides it from readers; the note is still its body."""
    doubled = "---\nid:\n---\n---\ntitle: The real one\n---\nText\n"

    assert problems("document", doubled) == [
        "f.md:4: body: A second header stands right below the first and counts as text; merge the two."
    ]
    assert problems("document", "---\nid:\n---\n---\n\nA rule, then text: with a colon\n\n---\n") == []


def test_a_header_below_an_empty_line_is_warned_of() -> None:
    """We read it, Obsidian and others do not."""
    assert problems("fact", "\n---\ntags: [a]\n---\nText\n") == [
        "f.md:1: warning: The header must begin in the first line, or other tools do not see it."
    ]


def test_hidden_characters_are_refused_in_new_files_and_shown_in_old_ones() -> None:
    """What stands already must not block an unrelated commit, what is new must not come in."""
    text = "---\ntags: [a\u200bb]\n---\nobey\u202e me\n"

    assert problems("fact", text) == [
        "f.md:2: tags: warning: holds the hidden character U+200B ZERO WIDTH SPACE.",
        "f.md:4: body: warning: holds the hidden character U+202E RIGHT-TO-LEFT OVERRIDE.",
    ]
    assert problems("fact", text, new=True)[0] == "f.md:2: tags: holds the hidden character U+200B ZERO WIDTH SPACE."
    assert len(problems("fact", "x" + "\u200b" * 100)) == 6


def test_secrets_are_refused_in_new_files_and_named_in_old_ones() -> None:
    """The problem says where and what kind, and does not repeat the secret."""
    text = "---\ntags: [a]\n---\n生产库\n密码是hunter2\n"

    assert problems("fact", text) == [
        "f.md:5: body: warning: holds a secret (password); name the place where it is kept."
    ]
    assert problems("fact", text, new=True)[0].startswith("f.md:5: body: holds a secret (password)")


def test_an_unreadable_file_is_one_problem() -> None:
    """The line and the mend are in it, and raising is left to the boundary."""
    with pytest.raises(FrontmatterError) as caught:
        parse("---\ntitle: a: b\n---\n")

    problem = unreadable(caught.value, "k/d.md")
    assert str(problem) == "k/d.md:2: The value of 'title' holds a colon; put it in quotes: `title: \"a: b\"`."
    with pytest.raises(Invalid, match=r"k/d.md has an error; nothing was written\."):
        refuse_errors([problem])


GOOD_SKILL = """---
name: query-order
description: Look up an order. Use when asked for one; not for refunds.
metadata:
  version: "1.0"
---
Do it.
"""


DESCRIPTION = "Look up an order. Use when asked for one; not for refunds."


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("name: query-order", "name: status-query", ["two must be equal", "warning: should begin with a verb"]),
        ("name: query-order\n", "", ["name: is missing"]),
        ("name: query-order", "name: Query_Order", ["only a-z, 0-9 and `-`", "two must be equal"]),
        ("name: query-order", "name: query--order", ["nor hold `--`", "two must be equal"]),
        (DESCRIPTION, "不用于退款" + "a" * 1020, ["has 1,025 characters; at most 1,024"]),
        (DESCRIPTION, "查订单。不用于退款。", []),
        (DESCRIPTION, "Look up an order.", ["warning: does not say when not to use it"]),
        ("Look up an order", "Look up an <order>", ["warning: holds `<` or `>`"]),
        ("metadata:", "model: opus\nmetadata:", ["model: warning: is known to some hosts only"]),
        ("metadata:", "owner: me\nmetadata:", ["owner: is not in the Agent Skills format"]),
        ("metadata:", "allowed-tools:\n  - Bash\nmetadata:", ["must be one text", "must be text, not a list"]),
        ('version: "1.0"', "version: 1.0", ['metadata.version: warning: must be text; write `version: "1.0"`']),
        ('version: "1.0"', "version: [1]", ["metadata: must be text, not a list"]),
        ("metadata:", f"compatibility: {'x' * 501}\nmetadata:", ["has 501 characters; at most 500"]),
        ("Do it.", "Do it.\n" * 501, ["body: warning: has over 500 lines"]),
    ],
)
def test_skills(old: str, new: str, expected: list[str]) -> None:
    """The specification's rules are errors, hosts' fields and house rules are warnings."""
    found = problems("skill", GOOD_SKILL.replace(old, new, 1), "skills/query-order/SKILL.md")

    assert len(found) == len(expected), found
    assert all(any(fragment in line for line in found) for fragment in expected), found


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("ctxrepo.yaml", "workspace"),
        ("access.yaml", "access"),
        ("memory/me/rules.md", "rules"),
        ("memory/me/facts/2026-11/x-abcdef.md", "fact"),
        ("memory/me/facts/by-hand.md", "fact"),
        ("memory/me/entities/tea.md", "entity"),
        ("memory/me/notes.md", None),
        ("memory/me/facts/2026-11/.x.md.swp", None),
        ("memory/me/facts/.obsidian/x.md", None),
        ("knowledge/billing/KB.md", "kb"),
        ("knowledge/billing/a/b/退款.md", "document"),
        ("knowledge/billing/originals/x.md", None),
        ("knowledge/KB.md", None),
        ("skills/query-order/SKILL.md", "skill"),
        ("skills/query-order/references/api.md", None),
        ("tasks/01K/TASK.md", "task"),
        ("tasks/01K/subtasks/a/TASK.md", "task"),
        ("tasks/archive/01K/TASK.md", "task"),
        ("tasks/01K/notes.md", None),
        ("README.md", None),
    ],
)
def test_the_path_tells_the_kind(path: str, kind: str | None) -> None:
    """Only what is an asset is checked and indexed as one."""
    assert kind_of(path) == kind


def test_values_are_typed_with_defaults_whatever_is_written() -> None:
    """A reader gets one shape: what does not fit counts as missing."""
    got = values(
        "fact",
        parse("---\nimportance: .9\nconfidence: high\ntags: one\nturn: 3\nid: " + ULID.lower() + "\n---\n").fields,
    )

    assert list(got) == [field.name for field in KINDS["fact"].fields]
    assert (got["importance"], got["confidence"], got["tags"], got["turn"], got["id"]) == (0.9, 0.8, ["one"], 3, ULID)
    assert (got["status"], got["project"], got["agent"], got["entities"]) == ("active", "*", "*", ())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01 00:00", 0.0),
    ],
)
def test_dates(text: str, seconds: float) -> None:
    """The forms of Obsidian and of RFC 3339, UTC unless said otherwise."""
    assert instant(text) == seconds


def test_a_date_as_an_end_includes_its_day() -> None:
    """Something valid until the 29th holds all of the 29th."""
    assert instant("1970-01-01", end=True) == 86_400.0
    assert instant("1970-01-01T00:01:00Z", end=True) == 60.0
    assert instant("9999-12-31", end=True) == instant("9999-12-31") + 86_400.0, "the calendar's last day has an end"


@pytest.mark.parametrize("text", ["2026-13-01", "29.11.2026", "2026", "20261129", "2026-W01-1", "now", 7, True])
def test_what_is_no_date_is_refused(text: object) -> None:
    """Neither numbers nor the rarer forms of ISO 8601 are guessed at."""
    with pytest.raises(ValueError, match="date"):
        instant(text)

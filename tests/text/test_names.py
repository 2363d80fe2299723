"""Names and paths stay inside, on every system, and look like nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.errors import Invalid
from ctxrepo.text.names import confined, confined_path, equivalent, inside, refuse_lookalike, slug

GOOD = [
    "me",
    "ada.lovelace",
    "ada_l",
    "小明",
    "Zoë",
    "o'brien",
    "a-b",
    "team 1",
    "x" * 64,
    "console",
    "com10",
    "auxiliary",
]
BAD = {
    "": "empty",
    " ": "empty",
    ".": "`.`",
    "..": "`..`",
    "../etc": "'/'",
    "a/b": "'/'",
    "a\\b": r"'\\\\'",
    "/abs": "'/'",
    "C:": "':'",
    "a:b": "':'",
    "a*": r"'\*'",
    "a?": r"'\?'",
    'a"b': "'\"'",
    "a|b": r"'\|'",
    "<a>": "'<'",
    "CON": "device",
    "con.txt": "device",
    "nul": "device",
    "COM1": "device",
    "lpt9.md": "device",
    "conin$": "device",
    "aux .txt": "device",
    "a.": "dot",
    "a ": "space",
    " a": "space",
    "-rf": "begins with `-`",
    ".hidden": r"begins with `\.`",
    "~root": "begins with `~`",
    "@group": "begins with `@`",
    "a\nb": "line break",
    "a\x00b": "U\\+0000",
    "a\x1bb": "U\\+001B",
    "a\u200bb": "ZERO WIDTH SPACE",
    "a\u202eb": "RIGHT-TO-LEFT OVERRIDE",
    "e\u0301": "NFC",
    "x" * 65: "longer than 64",
    "\ud800": "half of a surrogate pair",
    ".git": "begins with",
    "git~1": "reserved",
}


@pytest.mark.parametrize("name", GOOD)
def test_ordinary_names_pass(name: str) -> None:
    """Any script, inner dots, spaces and apostrophes are a person's name."""
    assert confined(name, "user") == name


@pytest.mark.parametrize(("name", "reason"), BAD.items(), ids=[repr(name)[:12] for name in BAD])
def test_names_that_lead_outside_or_break_a_system_are_refused(name: str, reason: str) -> None:
    """The message says which rule, and never carries the hidden character itself."""
    with pytest.raises(Invalid, match=reason) as caught:
        confined(name, "user")

    assert caught.value.exit_code == 4
    assert not {"\x00", "\x1b", "\u200b", "\u202e"} & set(caught.value.message)


def test_a_refused_name_comes_with_one_that_would_do() -> None:
    """The hint can be typed as it stands."""
    with pytest.raises(Invalid) as caught:
        confined("Ada/Lovelace", "user")

    assert caught.value.hint == "'ada-lovelace' would do."
    assert confined("ada-lovelace", "user")


def test_the_archive_of_tasks_is_no_task() -> None:
    """A task of that name would mix with finished ones."""
    with pytest.raises(Invalid, match="reserved"):
        confined("Archive", "task")
    assert confined("archive", "user") == "archive"


@pytest.mark.parametrize("name", ["github.com/acme/billing", "github.com/acme/.github", "billing-1f0c4e", "公司/项目"])
def test_project_identities_have_slashes(name: str) -> None:
    """They are compared, not opened."""
    assert confined(name, "project") == name


@pytest.mark.parametrize("name", ["", "*", "a/../b", "a//b", "a/", "a\\b", "a\u200bb", "x" * 256, " a", "a\nb"])
def test_odd_project_identities_are_refused(name: str) -> None:
    """`*` is a scope, not a project."""
    with pytest.raises(Invalid, match="project name"):
        confined(name, "project")


@pytest.mark.parametrize("path", ["a.md", "a/b/退款.md", "a/.obsidian/app.json", "with space/x.md"])
def test_relative_paths_pass(path: str) -> None:
    """Folders, dots in front and any script."""
    assert confined_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/passwd", "a/../../b", "..", "./a", "a//b", "a\\..\\b", "C:/x", "c:x", "mnt/c/C:\\Users\\x"),
        *(".git/config", "a/.GIT/x", "GIT~1/x", "a/con/b", "a/b.", "a\u200b/b", "x" * 513, "a/\x00"),
    ],
)
def test_paths_that_lead_outside_are_refused(path: str) -> None:
    """On any system the file may be checked out on."""
    with pytest.raises(Invalid, match="path"):
        confined_path(path)


def test_symlinks_that_lead_outside_are_not_followed(tmp_path: Path) -> None:
    """Whether the link is the file, a folder above it, or relative; links that stay inside are fine."""
    root, outside = tmp_path / "root", tmp_path / "root-but-not"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (root / "file").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "a" / "up").symlink_to("../..")
    (root / "ok").symlink_to("a")

    for path in ("file", "folder/x", "a/up/x", "../root-but-not/x", str(outside)):
        with pytest.raises(Invalid, match="leads outside"):
            inside(str(root), path)
    assert inside(str(root), "ok/new.md") == str(root / "a" / "new.md")
    assert inside(str(root), ".") == str(root)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Ada", "ada"),
        ("ａｄａ", "ada"),
        ("аda", "ada"),
        ("ΑDA", "ada"),
        ("ﬁn", "fin"),
        ("STRASSE", "straße"),
        ("ıvan", "ivan"),
    ],
)
def test_names_that_look_alike_are_equivalent(a: str, b: str) -> None:
    """Case, width, ligatures, and letters of another alphabet."""
    assert equivalent(a, b)


@pytest.mark.parametrize(
    ("a", "b"), [("user1", "userl"), ("ada", "adam"), ("张三", "张五"), ("rn", "m"), ("zoë", "zoe")]
)
def test_names_that_people_tell_apart_are_not(a: str, b: str) -> None:
    """A rule that refuses half of all names helps nobody."""
    assert not equivalent(a, b)


def test_a_new_name_that_looks_like_an_existing_one_is_refused_with_a_hint() -> None:
    """Both the existing name and the way out are named; the same name again is no clash."""
    with pytest.raises(Invalid) as caught:
        refuse_lookalike("Billing", ["ops", "billing"], "knowledge base")

    assert "'billing'" in caught.value.message
    assert caught.value.hint == "Use 'billing', or choose another name."
    refuse_lookalike("billing", ["ops", "billing"], "knowledge base")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("对辣菜过敏，聚餐要避开", "对辣菜过敏-聚餐要避开"),
        ("Never promise a refund date!", "never-promise-a-refund-date"),
        ("支付回调webhook失败", "支付回调webhook失败"),
        ("  --a__b//c..  ", "a-b-c"),
        ("Ünïcode ﬁne", "ünïcode-fine"),
        ("😀🎉", "note"),
        ("CON", "note-con"),
        ("../../etc/passwd", "etc-passwd"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-word-word"),
        ("नमस्ते", "नमस्ते"),
        ("a\u200bb\ufe0f", "a-b"),
    ],
)
def test_slugs_are_readable(text: str, expected: str) -> None:
    """Han stays, Latin is lower case, everything else is a dash."""
    assert slug(text) == expected


@given(st.text(max_size=200))
def test_a_slug_is_always_a_name(text: str) -> None:
    """Whatever the text, a file may be called so on every system."""
    name = slug(text)

    assert confined(name, "file") == name
    assert 1 <= len(name) <= 65
    assert slug(name) == name

"""The runner of transcripts: what it takes as a match, what it reports, what it rewrites."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.transcripts import parse, run


def nothing(kind: str, folder: Path) -> None:
    (folder / "kind").write_text(kind, encoding="utf-8")


def reports(tmp_path: Path, home: Path, text: str, name: str = "t.txt", *, update: bool = False) -> list[str]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return run(path, home, nothing, update=update)


@pytest.mark.parametrize(
    "text",
    [
        "$ echo hello\nhello\n",
        "$ true\n$ echo\n# done\n",
        "$ printf 'a\\n\\nb\\n'\na\n\nb\n\n\n",
        "$ echo one two three\none ... three\n",
        "$ echo one two three\n...\n",
        "$ seq 5\n1\n...\n5\n",
        "$ seq 2\n...\n1\n...\n2\n...\n",
        "$ echo problem >&2; exit 3\nproblem\n? 3\n",
        "$ echo out; echo err >&2; echo out\nout\nerr\nout\n",
        "$ cat <<END\n> 中文 $((1+1))\n>\n> END\n中文 2\n",
        "$ mkdir sub; cd sub\n$ pwd\n~/work/sub\n",
        "$ cat kind\nempty\n# folder: example\n$ cat kind\nexample\n$ ls; pwd\nkind\n~/example-workspace-2\n",
        "$ echo '$ x'; echo '# y'; echo '\\z'\n\\$ x\n\\# y\n\\z\n",
        "$ cat\n",
        "$ exec true\n$ cat kind\nempty\n",
        "$ echo '```'\n```\n",
        "prose that is no command\n",
        "",
    ],
)
def test_what_matches(tmp_path: Path, home: Path, text: str) -> None:
    """Output, wildcards, exit codes, continued commands, folders and escaped marks are understood."""
    assert reports(tmp_path, home, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "$ echo hello\nhallo\n",
        "$ echo hello\n",
        "$ true\nhello\n",
        "$ seq 3\n1\n3\n",
        "$ seq 3\n1\n2\n",
        "$ echo one two\none ... three\n",
        "$ false\n",
        "$ true\n? 1\n",
        "$ exit 2\n? 1\n",
        "$ echo a.c\na?c\n",
    ],
)
def test_what_does_not(tmp_path: Path, home: Path, text: str) -> None:
    """Other output, missing output and another exit code are reported with place and difference."""
    (report,) = reports(tmp_path, home, text)

    assert report.startswith("t.txt:1: $ ")
    assert "+++ came" in report


def test_markdown_runs_its_console_blocks_only(tmp_path: Path, home: Path) -> None:
    """Other blocks and prose are left alone, and all blocks share the folder until one asks for another."""
    text = (
        "# Title\n$ false\n```\n$ false\n```\n```console\n$ touch here\n```\nprose\n"
        "```console\n$ ls\nhere\nkind\n```\n<!-- folder: live -->\n```console\n$ cat kind\nlive\n```\n"
    )

    assert reports(tmp_path, home, text, "t.md") == []
    assert [step.command for step in parse(text, markdown=True)] == ["touch here", "ls", "cat kind"]


def test_update_writes_what_came_and_keeps_the_rest(tmp_path: Path, home: Path) -> None:
    """Only what differs is rewritten: wildcards that match stay, exit codes come and go, marks are escaped."""
    before = (
        "# title\n$ seq 3\n1\n...\n\n$ echo new\nold\nolder\n\n# c\n$ exit 4\n$ true\nx\n? 1\n\n"
        "$ echo '$ a'; echo '# b'\n"
    )
    after = (
        "# title\n$ seq 3\n1\n...\n\n$ echo new\nnew\n\n# c\n$ exit 4\n? 4\n$ true\n\n"
        "$ echo '$ a'; echo '# b'\n\\$ a\n\\# b\n"
    )

    assert reports(tmp_path, home, before, update=True) == []
    assert (tmp_path / "t.txt").read_text(encoding="utf-8") == after
    assert reports(tmp_path, tmp_path, after) == []


def test_update_follows_an_id_into_later_commands(tmp_path: Path, home: Path) -> None:
    """What an earlier command prints anew is typed anew; words that only look alike stay."""
    before = (
        "$ printf 'Added a1b2c3\\nid 00000000aa'\nAdded 9z9z9z\nid 1234567890\n$ echo 9z9z9z 1234567890 abcdef\nx\n"
    )
    after = (
        "$ printf 'Added a1b2c3\\nid 00000000aa'\nAdded a1b2c3\nid 00000000aa\n"
        "$ echo a1b2c3 00000000aa abcdef\na1b2c3 00000000aa abcdef\n"
    )

    assert reports(tmp_path, home, before, update=True) == []
    assert (tmp_path / "t.txt").read_text(encoding="utf-8") == after


def test_update_keeps_wildcards_that_still_fit(tmp_path: Path, home: Path) -> None:
    """Only what they do not cover is rewritten."""
    before = "$ printf 'in /some/where\\nnew\\n'\nin ...where\nold\n"

    assert reports(tmp_path, home, before, update=True) == []
    assert (tmp_path / "t.txt").read_text(encoding="utf-8") == before.replace("old", "new")


def test_time_passes_by_the_minute(tmp_path: Path, home: Path) -> None:
    """Each command knows its own moment, the same in every run."""
    text = "$ echo $CTXREPO_NOW\n2026-11-29T10:00:00Z\n$ echo $CTXREPO_NOW\n2026-11-29T10:01:00Z\n"

    assert reports(tmp_path, home, text) == []


def test_commands_see_an_empty_machine(tmp_path: Path, home: Path) -> None:
    """HOME is the given one, ctxrepo is the one under test, and no workspace is chosen for them."""
    text = (
        "$ echo $HOME ${CTXREPO_WORKSPACE-none}\n~ none\n"
        "$ git config user.name\nTest\n$ command -v ctxrepo\n.../ctxrepo\n"
    )

    assert reports(tmp_path, home, text) == []

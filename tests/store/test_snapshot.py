"""Edits from outside become commits; odd files are reported and stop nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxrepo.store.store import Store

FACT = "facts/2026-11/a-000001.md"


def test_all_edits_are_one_commit(mine: Store, git) -> None:
    """New, changed, deleted and renamed files are one commit with the trailer of a snapshot."""
    root = Path(mine.root)
    (root / FACT).write_text("changed\n")
    (root / "facts/2026-11/b-000002.md").rename(root / "renamed.md")
    (root / "new.md").write_text("new\n")

    report = mine.snapshot()

    assert sorted(report.paths) == [FACT, "facts/2026-11/b-000002.md", "new.md", "renamed.md"]
    assert git(mine.root, "log", "-1", "--format=%s|%(trailers:key=Ctx-Op,valueonly)").strip() == (
        "snapshot: 4 files edited outside|snapshot"
    )
    assert git(mine.root, "status", "--porcelain") == ""
    assert mine.snapshot().commit is None


def test_adoption_completes_a_file_in_the_same_commit(mine: Store, git) -> None:
    """A file written by hand gets what it lacks; disk and history agree, and the index is told."""
    seen: list[list[str]] = []
    mine.after_commit.append(lambda paths: seen.append(list(paths)))
    Path(mine.root, "hand.md").write_text("by hand\n")
    Path(mine.root, "done.md").write_text("id: 1\n")

    report = mine.snapshot(lambda path, data: None if data.startswith(b"id") else b"id: 2\n" + data)

    assert Path(mine.root, "hand.md").read_bytes() == b"id: 2\nby hand\n"
    assert git(mine.root, "show", "HEAD:hand.md") == "id: 2\nby hand\n"
    assert git(mine.root, "show", "HEAD:done.md") == "id: 1\n"
    assert git(mine.root, "rev-list", "--count", "HEAD~1..HEAD").strip() == "1"
    assert seen == [report.paths]


def test_a_settled_store_need_not_be_looked_at(mine: Store, git) -> None:
    """After a full snapshot the store is settled, also beyond our own writes, until an edit is noted or git is used."""
    assert not mine.settled()
    mine.snapshot()
    assert mine.settled()
    with mine.transaction("memory.add", actor="me") as tx:
        tx.write("ours.md", b"ours\n")
    assert mine.settled()

    mine.note_edits()
    assert not mine.settled()
    mine.snapshot(paths=["rules.md"])
    assert not mine.settled()
    Path(mine.root, FACT).write_text("changed\n")
    assert mine.snapshot().paths == [FACT]
    assert mine.settled()

    git(mine.root, "commit", "-q", "--allow-empty", "-m", "by hand")
    assert not mine.settled()
    Path(mine.root, "staged.md").write_text("x\n")
    git(mine.root, "add", "staged.md")
    assert not mine.settled()


def test_what_is_left_alone_keeps_a_store_unsettled(mine: Store) -> None:
    """A file that could not be committed is looked at again, and so is an edit noted while the snapshot was at work."""
    Path(mine.root, "nul.md").write_bytes(b"\0")
    mine.snapshot()
    assert not mine.settled()
    Path(mine.root, "nul.md").write_text("fine\n")

    def adopt(path: str, data: bytes) -> None:
        mine.note_edits()

    mine.snapshot(adopt)
    assert not mine.settled()
    mine.snapshot()
    assert mine.settled()


def test_odd_files_are_reported_and_the_rest_goes_on(mine: Store, git, tmp_path: Path) -> None:
    """NUL bytes, links, huge and unreadable files, foreign repositories: each is left alone with its reason."""
    root = Path(mine.root)
    (tmp_path / "secret").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "secret")
    (root / "nul.md").write_bytes(b"a\0b")
    with (root / "huge.md").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    git(tmp_path, "init", "-q", str(root / "nested"))
    (root / "nested/x.md").write_text("x")
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"latin\xe9.md")).write_text("x")
    (root / "good.md").write_text("good\n")

    report = mine.snapshot()

    assert report.paths == ["good.md"]
    reasons = dict(report.skipped)
    assert reasons["link.md"] == "it is a symbolic link"
    assert "NUL" in reasons["nul.md"]
    assert reasons["huge.md"] == "it is larger than 10 MB"
    assert reasons["nested/"] == "it is a git repository of its own"
    assert reasons[os.fsdecode(b"latin\xe9.md")] == "its name is not UTF-8"
    assert git(mine.root, "show", "--format=", "--name-only", "HEAD").split() == ["good.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files(mine: Store) -> None:
    """A file without read permission is reported, the rest is committed."""
    Path(mine.root, "closed.md").write_text("x")
    Path(mine.root, "closed.md").chmod(0)
    Path(mine.root, "good.md").write_text("good\n")

    report = mine.snapshot()

    assert report.paths == ["good.md"]
    assert report.skipped[0][0] == "closed.md"


def test_a_file_that_became_a_link_is_left_alone(mine: Store, tmp_path: Path) -> None:
    """A tracked file replaced by a link does not pull foreign content into the history."""
    (tmp_path / "secret").write_text("secret")
    Path(mine.root, FACT).unlink()
    Path(mine.root, FACT).symlink_to(tmp_path / "secret")

    report = mine.snapshot()

    assert report.commit is None
    assert report.skipped == [(FACT, "it is a symbolic link")]


def test_a_file_that_became_a_folder(mine: Store, git) -> None:
    """A path may change its kind by hand, both ways."""
    Path(mine.root, "x").write_text("file\n")
    mine.snapshot()
    Path(mine.root, "x").unlink()
    Path(mine.root, "x").mkdir()
    Path(mine.root, "x/y.md").write_text("below\n")
    mine.snapshot()
    assert git(mine.root, "ls-files", "x").split() == ["x/y.md"]

    Path(mine.root, "x/y.md").unlink()
    Path(mine.root, "x").rmdir()
    Path(mine.root, "x").write_text("file\n")
    mine.snapshot()

    assert git(mine.root, "ls-files", "x").split() == ["x"]
    assert git(mine.root, "status", "--porcelain") == ""


def test_half_staged_files_are_left_to_the_person(mine: Store, git) -> None:
    """What is staged with other content keeps its staged version; a plainly staged file is committed."""
    Path(mine.root, FACT).write_text("staged\n")
    Path(mine.root, "plain.md").write_text("plain\n")
    git(mine.root, "add", "-A")
    Path(mine.root, FACT).write_text("and edited\n")

    report = mine.snapshot()

    assert report.paths == ["plain.md"]
    assert report.skipped == [(FACT, "it is staged with other content")]
    assert git(mine.root, "show", f":{FACT}") == "staged\n"


def test_editors_droppings_are_no_edits(mine: Store) -> None:
    """Swap, backup and lock files of editors are never committed."""
    for name in (".x.md.swp", "x.md~", "4913", ".#x.md", "#x.md#", ".DS_Store"):
        Path(mine.root, name).write_text("x")

    assert mine.snapshot().commit is None


def test_the_teams_edits_are_not_ours(team: Store) -> None:
    """The team's store is never snapshotted."""
    with pytest.raises(RuntimeError):
        team.snapshot()


def test_ten_thousand_files_in_seconds(mine: Store, git) -> None:
    """A big import by hand is one commit, in seconds."""
    for folder in range(10):
        (Path(mine.root) / f"facts/2025-{folder:02}").mkdir(parents=True)
        for number in range(1000):
            (Path(mine.root) / f"facts/2025-{folder:02}/{number}.md").write_text(f"fact {folder} {number}\n")

    start = sum(os.times()[:4])
    report = mine.snapshot()

    assert sum(os.times()[:4]) - start < 15
    assert len(report.paths) == 10_000
    assert git(mine.root, "status", "--porcelain") == ""

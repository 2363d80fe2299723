"""The index follows the disk: every difference, nothing but the difference, and nothing that is no asset."""

from __future__ import annotations

import os
import random
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.index.conftest import Store, fact

Fill = Callable[[Iterable[str]], Store]
MONTH = "facts/2026-11"


def test_sync_finds_what_was_added_changed_and_removed(filled: Fill) -> None:
    """And says so, once."""
    store = filled(["alpha one", "beta two", "gamma three"])
    store.write(f"{MONTH}/3.md", "delta four")
    store.write(f"{MONTH}/1.md", "beta changed entirely")
    (store.root / MONTH / "2.md").unlink()
    report = store.sync()
    assert (report.added, report.changed, report.removed) == ([f"{MONTH}/3.md"], [f"{MONTH}/1.md"], [f"{MONTH}/2.md"])
    assert store.hits("gamma") == []
    assert store.hits("two") == []
    assert store.hits("entirely delta alpha") != []
    assert store.paths() == {f"{MONTH}/{n}.md" for n in (0, 1, 3)}
    assert not store.sync()


def test_one_changed_file_touches_only_its_own_documents(filled: Fill) -> None:
    """Three indexed files, one edited: the other two are still found (and were not even read)."""
    store = filled(["juniper tree", "larch tree", "willow tree"])
    keys = {entry.path: entry.key for entry in store.entries()}
    os.chmod(store.root / MONTH / "0.md", 0o600)
    store.write(f"{MONTH}/1.md", "larch forest")
    report = store.index.apply([f"{MONTH}/1.md"])
    assert report.changed == [f"{MONTH}/1.md"]
    assert sorted(store.hits("juniper willow larch")) == [f"{MONTH}/{n}.md" for n in range(3)]
    assert {entry.path: entry.key for entry in store.entries()} == keys


def test_a_file_renamed_by_hand_keeps_its_content_and_loses_its_old_name(filled: Fill) -> None:
    """Also when an editor saves by renaming over it, and when a whole folder moves."""
    store = filled(["mulberry"])
    (store.root / MONTH / "0.md").rename(store.root / MONTH / "renamed.md")
    store.sync()
    assert store.hits("mulberry") == [f"{MONTH}/renamed.md"]
    (store.root / MONTH).rename(store.root / "facts" / "2026-12")
    report = store.index.apply([MONTH, "facts/2026-12"])
    assert (report.removed, report.added) == ([f"{MONTH}/renamed.md"], ["facts/2026-12/renamed.md"])
    assert store.hits("mulberry") == ["facts/2026-12/renamed.md"]
    fresh = store.write("facts/2026-12/new.tmp", "mulberry jam")
    fresh.replace(store.root / "facts/2026-12/renamed.md")
    store.sync()
    assert store.hits("jam") == ["facts/2026-12/renamed.md"]


def test_a_touched_file_is_not_indexed_again(filled: Fill) -> None:
    """A checkout that only sets times costs a hash; afterwards the scan is satisfied."""
    store = filled(["one", "two"])
    os.utime(store.root / MONTH / "0.md", (1, 1))
    report = store.sync()
    assert not report
    assert report.touched == 1
    assert store.sync().touched == 0


def test_a_change_within_the_same_moment_is_seen(store: Store) -> None:
    """Size and time of modification are equal; a file that young is compared by content at the next scan."""
    target = store.root / MONTH / "x.md"
    target.parent.mkdir(parents=True)
    target.write_text("says aaaa")
    store.sync()
    stat = target.stat()
    with target.open("r+") as handle:
        handle.write("says bbbb")
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert store.sync().changed == [f"{MONTH}/x.md"]
    assert store.hits("bbbb") == [f"{MONTH}/x.md"]


def test_a_replaced_file_with_the_same_size_and_time_is_seen(filled: Fill) -> None:
    """`cp -p` of another file over it: the inode differs."""
    store = filled(["says aaaa"])
    target = store.root / MONTH / "0.md"
    stat = target.stat()
    other = store.root / "other"
    other.write_text("says bbbb")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(target)
    assert store.sync().changed == [f"{MONTH}/0.md"]


BROKEN = {
    "nul.md": (b"text\0text", "NUL"),
    "latin.md": ("Prüfung".encode("latin-1"), "UTF-8"),
    "utf16.md": ("Prüfung".encode("utf-16"), "UTF-16"),
    "open.md": (b"---\nkind: fact\nno end", "closing"),
    "yaml.md": (b"---\nkind: [fact\n---\nx", "brackets"),
    "list.md": (b"---\n- a\n- b\n---\nx", "map"),
    "bomb.md": (
        b"---\na: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 9)) for n in range(97, 106))
        + b"---\nx",
        "",
    ),
}


def test_files_that_cannot_be_read_are_reported_and_hide_nothing(store: Store) -> None:
    """Each names its reason; the healthy neighbour is found; mending the file is enough."""
    for name, (data, _) in BROKEN.items():
        store.write(f"{MONTH}/{name}", data)
    huge = store.write(f"{MONTH}/huge.md", "x")
    os.truncate(huge, 50_000_000)
    store.age(huge)
    store.write(f"{MONTH}/healthy.md", "healthy neighbour")
    started = time.monotonic()
    report = store.sync()
    assert time.monotonic() - started < 10
    problems = store.problems()
    assert set(problems) == {f"{MONTH}/{name}" for name in (*BROKEN, "huge.md")}
    assert set(report.problems) == set(problems)
    for name, (_, reason) in BROKEN.items():
        assert reason in problems[f"{MONTH}/{name}"]
    assert "50,000,000" in problems[f"{MONTH}/huge.md"]
    assert store.hits("healthy") == [f"{MONTH}/healthy.md"]
    assert not store.sync()
    store.write(f"{MONTH}/yaml.md", "mended words")
    store.sync()
    assert f"{MONTH}/yaml.md" not in store.problems()
    assert store.hits("mended") == [f"{MONTH}/yaml.md"]


def test_a_file_that_becomes_unreadable_is_no_longer_found(filled: Fill) -> None:
    """An index that kept the old text would quote what nobody can check."""
    store = filled(["zinnia", "tulip"])
    store.write(f"{MONTH}/0.md", b"zinnia \0")
    store.sync()
    assert store.hits("zinnia") == []
    assert store.hits("tulip") == [f"{MONTH}/1.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_tried_again(filled: Fill) -> None:
    """`chmod` changes no time of modification."""
    store = filled(["secret gardenia"])
    target = store.write(f"{MONTH}/locked.md", "locked gardenia")
    target.chmod(0)
    store.sync()
    assert "cannot be read" in store.problems()[f"{MONTH}/locked.md"]
    target.chmod(0o600)
    store.sync()
    assert sorted(store.hits("gardenia")) == [f"{MONTH}/0.md", f"{MONTH}/locked.md"]


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    """Neither to a file outside, nor to a folder, nor in a circle; each is reported."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "diary.md").write_text("private orchid")
    store.write(f"{MONTH}/own.md", "own orchid")
    (store.root / MONTH / "link.md").symlink_to(outside / "diary.md")
    (store.root / "facts" / "linked").symlink_to(outside)
    (store.root / "facts" / "circle").symlink_to(store.root / "facts")
    store.sync()
    assert store.hits("orchid") == [f"{MONTH}/own.md"]
    assert set(store.problems()) == {f"{MONTH}/link.md", "facts/linked", "facts/circle"}
    report = store.index.apply(
        [f"{MONTH}/link.md", "facts/linked/diary.md", "facts/circle/2026-11/own.md", "../outside"]
    )
    assert not report
    assert report.fault == ""
    assert store.hits("orchid") == [f"{MONTH}/own.md"]


def test_a_file_replaced_by_a_link_is_gone(filled: Fill, tmp_path: Path) -> None:
    """Its old text is not found, the target's neither."""
    store = filled(["hazel"])
    (tmp_path / "target.md").write_text("hazel elsewhere")
    target = store.root / MONTH / "0.md"
    target.unlink()
    target.symlink_to(tmp_path / "target.md")
    assert store.index.apply([f"{MONTH}/0.md"]).removed == [f"{MONTH}/0.md"]
    assert store.hits("hazel") == []


def test_hidden_folders_other_repositories_and_odd_things_are_no_assets(store: Store) -> None:
    """`.git`, `.obsidian`, a clone inside the store, pictures, pipes and sockets."""
    store.write(f"{MONTH}/note.md", "hawthorn")
    for path in ("facts/.trash/old.md", ".obsidian/x.md", f"{MONTH}/.note.md.swp", f"{MONTH}/pic.png", "readme.md"):
        store.write(path, "hawthorn")
    store.write("facts/clone/2020-01/x.md", "hawthorn")
    (store.root / "facts" / "clone" / ".git").mkdir()
    os.mkfifo(store.root / MONTH / "pipe.md")
    server = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(store.root / MONTH)
    server.bind("socket.md")
    os.chdir(here)
    (store.root / MONTH / "folder.md").mkdir()
    started = time.monotonic()
    store.sync()
    server.close()
    assert time.monotonic() - started < 5
    assert store.hits("hawthorn") == [f"{MONTH}/note.md"]
    assert store.problems() == {}


def test_names_that_are_not_utf8_are_reported(store: Store) -> None:
    """They can be no asset's path; the file beside them is found, the command line may even name them."""
    store.write(f"{MONTH}/ok.md", "elderberry")
    raw = os.fsencode(store.root / MONTH) + b"/caf\xe9.md"
    Path(os.fsdecode(raw)).write_text("elderberry")
    os.mkdir(os.fsencode(store.root / "facts") + b"/\xff")
    store.sync()
    assert store.hits("elderberry") == [f"{MONTH}/ok.md"]
    assert set(store.problems()) == {f"{MONTH}/caf\\xe9.md", "facts/\\xff"}
    name = os.fsdecode(b"caf\xe9.md")
    report = store.index.apply([f"{MONTH}/{name}"])
    assert report.fault == ""
    with store.index.catalog() as catalog:
        assert catalog.find(name) == []
    os.unlink(raw)
    os.rmdir(os.fsencode(store.root / "facts") + b"/\xff")
    store.sync()
    assert store.problems() == {}


def test_difficult_names_that_are_text_are_fine(store: Store) -> None:
    """Chinese, blanks, quotes, percent signs, emoji, and two names that differ only in their Unicode form."""
    names = [
        "对辣菜过敏.md",
        "a b 'c' \"d\".md",
        "100%_*.md",
        "😀.md",
        "caf\u00e9.md",
        "cafe\u0301.md",
        "x" * 200 + ".md",
    ]
    for name in names:
        store.write(f"{MONTH}/{name}", "blackthorn")
    store.sync()
    assert set(store.hits("blackthorn")) == {f"{MONTH}/{name}" for name in names}
    (store.root / MONTH / names[2]).unlink()
    assert store.index.apply([f"{MONTH}/{names[2]}"]).removed == [f"{MONTH}/{names[2]}"]
    assert len(store.hits("blackthorn")) == len(names) - 1


def test_a_header_without_text_takes_no_place_in_answers(store: Store) -> None:
    """The stub of an empty session is listed and never found; a file of blanks likewise."""
    store.write(f"{MONTH}/stub.md", fact("", kind="fact", session="hazelnut", entities="[hazelnut]"))
    store.write(f"{MONTH}/blank.md", " \n\n\t\n")
    store.write(f"{MONTH}/empty.md", b"")
    store.write(f"{MONTH}/real.md", "hazelnut")
    store.sync()
    assert store.hits("hazelnut") == [f"{MONTH}/real.md"]
    assert store.paths() == {f"{MONTH}/{name}.md" for name in ("stub", "blank", "empty", "real")}
    assert store.problems() == {}


def test_deletions_go_by_exact_path(filled: Fill) -> None:
    """`1.md` is not `11.md`, and what begins alike stays."""
    store = filled([f"rowan {n}" for n in range(12)])
    (store.root / MONTH / "1.md").unlink()
    store.sync()
    assert len(store.hits("rowan")) == 11
    assert f"{MONTH}/11.md" in store.hits("rowan")


def test_a_copied_file_is_reported_with_the_original_first(store: Store) -> None:
    """Both are indexed; the report of the sync that meets the copy names the id and both paths."""
    text = fact("spruce", id="01M09RDPM0S6X55NP1M2XAFMJQ")
    store.write(f"{MONTH}/original.md", text)
    store.write(f"{MONTH}/other.md", fact("fir", id="01M3JT45E04HHGY9VRF0ZK3XNS"))
    assert store.sync().duplicates == {}
    store.write(f"{MONTH}/a-copy.md", text)
    expected = {"01M09RDPM0S6X55NP1M2XAFMJQ": [f"{MONTH}/original.md", f"{MONTH}/a-copy.md"]}
    assert store.sync().duplicates == expected
    with store.index.catalog() as catalog:
        assert catalog.duplicates() == expected


def test_a_store_without_its_folder_is_empty_and_comes_back(filled: Fill) -> None:
    """The index is a cache: it follows, and it is no judge of whether files were lost."""
    store = filled(["cedar"])
    away = store.root.with_name("away")
    store.root.rename(away)
    assert store.sync().removed == [f"{MONTH}/0.md"]
    away.rename(store.root)
    store.sync()
    assert store.hits("cedar") == [f"{MONTH}/0.md"]


def test_a_missing_or_empty_store_has_an_empty_index(store: Store) -> None:
    """Searching it finds nothing and raises nothing."""
    assert store.sync().rebuilt
    assert store.hits("anything") == []
    assert store.sync().rebuilt == ""
    shutil.rmtree(store.root)
    assert store.sync().rebuilt == ""
    assert store.hits("anything") == []


def test_progress_is_told_for_long_runs(store: Store) -> None:
    """It only rises, and ends with everything."""
    for number in range(50):
        store.write(f"{MONTH}/{number}.md", f"aspen {number}")
    told: list[tuple[int, int]] = []
    store.index.sync(progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (50, 50)


def test_random_edits_always_end_equal_to_a_fresh_index(store: Store, tmp_path: Path) -> None:
    """Two hundred random operations, mixed sync and apply: the index is what one built from scratch would be."""
    source = random.Random(3)
    names = [f"facts/2026-{month:02}/{number}.md" for month in range(1, 4) for number in range(8)]
    for step in range(200):
        name = source.choice(names)
        target = store.root / name
        action = source.random()
        if action < 0.5:
            store.write(name, f"step{step} pine")
        elif action < 0.7 and target.exists():
            target.unlink()
        elif action < 0.8 and target.exists():
            other = store.root / source.choice(names)
            other.parent.mkdir(parents=True, exist_ok=True)
            target.replace(other)
            name = os.path.dirname(name)
        elif action < 0.85:
            store.write(name, b"\0broken")
        if source.random() < 0.5:
            store.index.apply([name])
        elif source.random() < 0.3:
            store.sync()
    store.sync()
    fresh = Store(tmp_path / "fresh")
    shutil.copytree(store.root, fresh.root, dirs_exist_ok=True)
    fresh.sync()
    assert sorted(store.hits("pine", k=500)) == sorted(fresh.hits("pine", k=500))
    assert store.problems() == fresh.problems()
    assert store.reader().num_docs == fresh.reader().num_docs
    assert {(e.path, e.title) for e in store.entries()} == {(e.path, e.title) for e in fresh.entries()}


def test_a_file_on_which_our_code_stumbled_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of one version does not keep a file out of search for good: the next scan reads it anew."""
    store.write("facts/2026-11/a.md", fact("the gardener waters tomatoes", kind="fact"))

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr("ctxrepo.index.source.describe", broken)
        store.sync()
        assert "could not be understood" in store.problems()["facts/2026-11/a.md"]
        assert store.hits("tomatoes") == []

    store.sync()

    assert store.problems() == {}
    assert store.hits("tomatoes") == ["facts/2026-11/a.md"]
    assert not store.sync()

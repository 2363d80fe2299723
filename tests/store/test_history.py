"""Reading the operation log, and undoing its entries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.errors import Conflict, NotFound, Refused, UsageFault
from ctxrepo.store import history
from ctxrepo.store.store import Store

A, B = "facts/2026-11/a-000001.md", "facts/2026-11/b-000002.md"


def write(store: Store, files: dict[str, bytes | None], op: str = "memory.update", **how: str) -> str:
    with store.transaction(op, actor="me", **how) as tx:
        for path, data in files.items():
            if data is None:
                tx.delete(path)
            else:
                tx.write(path, data)
    assert tx.commit_id
    return tx.commit_id


def test_log_tells_who_what_why(mine: Store, git) -> None:
    """An entry holds operation, actor, agent, session, reason, subject and paths; a person's commit its author."""
    write(mine, {A: b"1\n"}, "memory.add", agent="claude-code", session="s1", reason="因为用户说了", subject="记忆: 加")
    Path(mine.root, B).write_text("by hand\n")
    git(mine.root, "commit", "-qam", "my own words\n\nnot: a trailer block\nreally")

    by_hand, added, *older = history.log(mine)

    assert (by_hand.op, by_hand.actor, by_hand.subject, by_hand.paths) == ("", "Test", "my own words", [B])
    assert by_hand.trailers == []
    assert (added.op, added.actor, added.agent, added.session) == ("memory.add", "me", "claude-code", "s1")
    assert (added.reason, added.subject, added.paths) == ("因为用户说了", "记忆: 加", [A])
    assert [entry.op for entry in older] == ["memory.add", "init"]


def test_log_by_path_op_and_limit(mine: Store, git) -> None:
    """The log can be narrowed; a file's history goes on beyond a rename by hand."""
    Path(mine.root, A).rename(Path(mine.root, "renamed.md"))
    mine.snapshot()
    write(mine, {"renamed.md": b"later\n"})
    write(mine, {"x.md": b"x\n"}, "memoryless")

    assert [entry.op for entry in history.log(mine, paths=["renamed.md"])] == [
        "memory.update",
        "snapshot",
        "memory.add",
    ]
    assert [entry.op for entry in history.log(mine, op="memory")] == ["memory.update", "memory.add"]
    assert [entry.op for entry in history.log(mine, op="memory.add")] == ["memory.add"]
    assert len(history.log(mine, limit=2)) == 2
    assert history.log(mine, paths=["nowhere.md"]) == []
    assert history.log(mine, paths=["中文.md", B])[0].op == "memory.add"


def test_show_and_content(mine: Store) -> None:
    """One entry can be shown as a diff, by the beginning of its id; files can be read as they were."""
    commit = write(mine, {A: "新的\n".encode()})

    assert "+新的" in history.show(mine, commit[:10])
    assert "-likes tea" in history.show(mine, "HEAD", [A])
    assert history.show(mine, "HEAD", [B]) == ""
    assert history.content_at(mine, f"{commit}~1", A) == b"likes tea\n"
    assert history.content_at(mine, commit, "nowhere.md") is None
    assert history.entry(mine, commit).paths == [A]
    root = history.log(mine)[-1]
    assert "+rules" in history.show(mine, root.id)
    assert history.entry(mine, root.id).paths == ["rules.md"]


def test_names_of_commits(mine: Store) -> None:
    """Unknown names are NotFound, option-like ones too; an ambiguous beginning lists the candidates."""
    for name in ("nothing", "--all", "deadbeef", ""):
        with pytest.raises(NotFound):
            history.resolve(mine, name)
    ids = [write(mine, {A: b"%d\n" % number}) for number in range(3)]
    crowd = mine.git.run("rev-list", "--all").decode().split()
    for number in range(2000):
        beginnings = {commit[:4] for commit in crowd}
        if len(beginnings) < len(crowd):
            break
        crowd.append(write_object(mine, number))
    twins = next(c for c in crowd if [d[:4] for d in crowd].count(c[:4]) > 1)
    with pytest.raises(UsageFault) as caught:
        history.resolve(mine, twins[:4])
    assert twins in caught.value.details
    assert history.resolve(mine, ids[1]) == ids[1]


def write_object(store: Store, number: int) -> str:
    text = f"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a> {number} +0000\ncommitter a <a> 1 +0000\n\nx\n"
    return store.git.run("hash-object", "-t", "commit", "-w", "--stdin", data=text.encode()).decode().strip()


def test_undo_restores_what_was_before(mine: Store, git) -> None:
    """Undoing an update, an addition and a deletion in one commit; the new commit says what it undoes."""
    commit = write(mine, {A: b"changed\n", B: None, "new.md": b"new\n"}, subject="memory: three things")

    undone = history.undo(mine, commit[:8], actor="me", reason="a mistake").commit

    assert Path(mine.root, A).read_bytes() == b"likes tea\n"
    assert Path(mine.root, B).read_bytes() == b"no chili\n"
    assert not Path(mine.root, "new.md").exists()
    entry = history.entry(mine, "HEAD")
    assert (entry.id, entry.op, entry.subject, entry.reason) == (
        undone, "undo", "undo: memory: three things", "a mistake",
    )  # fmt: skip
    assert ("Ctx-Undo", commit) in entry.trailers
    assert git(mine.root, "diff", f"{commit}~1", "HEAD") == ""
    assert git(mine.root, "status", "--porcelain") == ""


def test_undo_of_undo_and_nothing_left(mine: Store) -> None:
    """An undo can be undone; undoing twice has nothing left to do."""
    commit = write(mine, {A: b"changed\n"})
    undone = history.undo(mine, commit, actor="me").commit
    assert undone
    assert history.undo(mine, commit, actor="me").commit is None

    history.undo(mine, undone, actor="me")

    assert Path(mine.root, A).read_bytes() == b"changed\n"


def test_undo_of_an_older_commit(mine: Store) -> None:
    """An older commit can be undone as long as its own paths were left alone since."""
    commit = write(mine, {A: b"changed\n"})
    write(mine, {B: b"other\n"})

    history.undo(mine, commit, actor="me")

    assert Path(mine.root, A).read_bytes() == b"likes tea\n"
    assert Path(mine.root, B).read_bytes() == b"other\n"


def test_undo_refuses_to_lose_a_later_change(mine: Store) -> None:
    """A later commit on the same path, or an edit on disk, is a Conflict and nothing is written."""
    commit = write(mine, {A: b"changed\n", B: b"changed too\n"})
    later = write(mine, {A: b"changed again\n"})
    head = mine.head().commit

    with pytest.raises(Conflict) as caught:
        history.undo(mine, commit, actor="me")
    assert A in caught.value.message
    assert (mine.head().commit, Path(mine.root, B).read_bytes()) == (head, b"changed too\n")

    Path(mine.root, A).write_text("by hand\n")
    with pytest.raises(Conflict):
        history.undo(mine, later, actor="me")
    assert Path(mine.root, A).read_text() == "by hand\n"


def test_undo_of_a_snapshot_and_of_a_persons_commit(mine: Store, git) -> None:
    """What a person did by hand can be undone like everything else."""
    Path(mine.root, A).unlink()
    snapshot = mine.snapshot().commit
    assert snapshot
    history.undo(mine, snapshot, actor="me")
    assert Path(mine.root, A).read_bytes() == b"likes tea\n"

    Path(mine.root, A).write_text("x\n")
    git(mine.root, "commit", "-qam", "by hand")
    history.undo(mine, "HEAD", actor="me")
    assert Path(mine.root, A).read_bytes() == b"likes tea\n"


def test_undo_refuses_merges_and_strangers(team: Store, git) -> None:
    """A merge is refused with a hint; a commit that the branch does not hold is not found."""
    git(team.root, "switch", "-qc", "side")
    side = write(team, {"side.md": b"side\n"})
    git(team.root, "switch", "-q", "main")
    with pytest.raises(NotFound):
        history.undo(team, side, actor="me")
    git(team.root, "merge", "-q", "--no-ff", "-m", "merge", "side")

    with pytest.raises(Refused) as caught:
        history.undo(team, "HEAD", actor="me")
    assert "revert -m 1" in (caught.value.hint or "")
    assert history.log(team)[0].paths == ["side.md"]
    assert history.undo(team, side, actor="me").commit


def test_undo_keeps_modes(mine: Store) -> None:
    """A script that lost its right to run gets it back."""
    with mine.transaction("t", actor="me") as tx:
        tx.write("run.sh", b"echo\n", executable=True)
    with mine.transaction("t", actor="me") as tx:
        tx.write("run.sh", b"echo\n", executable=False)

    history.undo(mine, "HEAD", actor="me")

    assert Path(mine.root, "run.sh").stat().st_mode & 0o100


def test_reading_ignores_an_inherited_repository(mine: Store, git, tmp_path: Path, monkeypatch) -> None:
    """Inside another repository's hook the history is still this store's."""
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "other/.git/objects"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))

    assert [entry.op for entry in history.log(mine)] == ["memory.add", "init"]
    write(mine, {A: b"x\n"})
    assert history.undo(mine, "HEAD", actor="me").commit


def test_a_log_after_gc_and_of_nothing(mine: Store, git, tmp_path: Path) -> None:
    """Packed commits are read as well; a repository without commits has an empty log."""
    git(mine.root, "gc", "-q")
    assert len(history.log(mine)) == 2

    git(tmp_path, "init", "-q", "empty")
    from ctxrepo.store.private import open_team

    assert history.log(open_team(tmp_path / "empty")) == []


def test_files_stay_closed(mine: Store) -> None:
    """Reading the history a hundred times leaves no file or process open."""
    code = (
        "import sys, os\nfrom ctxrepo.store import private, history\n"
        "store = private.open_private(private.open_team(sys.argv[1]), 'memory/me')\n"
        "history.log(store)\nbefore = len(os.listdir('/proc/self/fd'))\n"
        "for _ in range(100): history.log(store)\n"
        "print(len(os.listdir('/proc/self/fd')) - before)\n"
    )
    team = str(Path(mine.root).parents[1])
    done = subprocess.run([sys.executable, "-c", code, team], capture_output=True, text=True, check=True,
                          cwd=Path(__file__).parents[2])  # fmt: skip

    assert done.stdout.strip() == "0"

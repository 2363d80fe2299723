"""A purged text is in no object, reflog or file; all else is as it was; a kill leaves the old or the new state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from ctxrepo.errors import Conflict, CtxError, Refused
from ctxrepo.store import exported, purge
from ctxrepo.store.files import etag
from ctxrepo.store.store import Store

ROOT = Path(__file__).parents[2]
TEXT = "the vault opens with 4711 turns"
WHERE = "facts/2026-11/vault-000009.md"


class WordSieve:
    """Drops files that begin with a mark, and takes one sentence out of everything else."""

    def __init__(self, text: str = TEXT, mark: bytes = b"SECRET\n") -> None:
        self.text, self.mark = text, mark
        self.paths: set[str] = set()

    def suspects(self, data: bytes) -> bool:
        return data.startswith(self.mark)

    def learn(self, path: str, data: bytes) -> None:
        self.paths.add(path)

    def places(self) -> Iterable[str]:
        return self.paths

    def drops(self, path: str, data: bytes) -> bool:
        return path in self.paths

    def cleaned(self, path: str, data: bytes) -> bytes:
        return data.replace(self.text.encode(), b"(gone)")

    def placed(self, path: str) -> str:
        return path

    def message(self, text: str, touched: bool) -> str:
        return text.replace(self.text, "(gone)")

    def leaks(self, data: bytes) -> bool:
        return self.text.encode() in data


def write(store: Store, path: str, data: bytes | None, subject: str = "memory: write") -> str | None:
    with store.transaction("memory.write", actor="me", subject=subject) as tx:
        tx.delete(path) if data is None else tx.write(path, data)
    return tx.commit_id


@pytest.fixture
def vault(mine: Store, git) -> Store:
    """A store whose history holds the text in a file that was edited and renamed, in a quotation and in a message."""
    write(mine, WHERE, f"SECRET\n{TEXT}\n".encode(), f"memory: add {TEXT}")
    write(mine, WHERE, f"SECRET\nnow {TEXT}, they say\n".encode(), "memory: update")
    write(mine, "facts/2026-11/quote-000010.md", f"A said: {TEXT}. B laughed.\n".encode())
    git(mine.root, "mv", WHERE, "facts/2026-11/a renamed \u6587\u4ef6.md")
    git(mine.root, "commit", "-qm", f"by hand: {TEXT}")
    write(mine, "facts/2026-11/last-000011.md", b"data 4\ncommit refs/heads/main\nnot a record\n")
    return mine


def objects(store: Store, git) -> str:
    listing = subprocess.run(
        ["git", f"--git-dir={store.git_dir}", "cat-file", "--batch-all-objects", "--batch"],
        capture_output=True, check=True,
    )  # fmt: skip
    return listing.stdout.decode("utf-8", "replace")


def everywhere(folder: str, words: str) -> list[str]:
    done = subprocess.run(["grep", "-rlaF", words, folder], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1]


def run(store: Store, **settings: object) -> purge.Receipt:
    return purge.rebuild(store, WordSieve(), subject="memory: purge 1 fact", actor="me", **settings)


def test_text_is_nowhere(vault: Store, git) -> None:
    """After a purge no object, reflog, index or file of the store holds the text, under whatever name it ever lay."""
    assert TEXT in objects(vault, git)
    receipt = run(vault)

    assert TEXT not in objects(vault, git)
    assert everywhere(vault.root, TEXT) == []
    assert everywhere(str(Path(vault.git_dir).parent), TEXT) == []
    assert everywhere(vault.state_dir, TEXT) == []
    assert git(vault.root, "status", "--porcelain") == ""
    assert git(vault.root, "fsck", "--full", "--strict") == ""
    assert receipt.files == ["facts/2026-11/a renamed \u6587\u4ef6.md"]
    assert len(receipt.versions) == 2
    assert not Path(vault.root, receipt.files[0]).exists()
    assert Path(vault.root, "facts/2026-11/quote-000010.md").read_text() == "A said: (gone). B laughed.\n"


def test_everything_else_keeps_its_history(vault: Store, git) -> None:
    """Authors, times, order and contents of other files are unchanged; a commit that became empty stays."""
    shape = ("log", "--reverse", "--format=%an %ae %at %cn %ct %s", "--name-status", "--", ":!facts/2026-11/quote*",
             ":!facts/2026-11/vault*", ":!facts/2026-11/a ren*")  # fmt: skip
    before = git(vault.root, *shape)
    count = int(git(vault.root, "rev-list", "--count", "HEAD"))
    kept = {path: git(vault.root, "rev-parse", f"HEAD:{path}") for path in ("rules.md", "facts/2026-11/last-000011.md")}
    receipt = run(vault)

    assert git(vault.root, *shape) == before
    assert int(git(vault.root, "rev-list", "--count", "HEAD")) == count + 1 == receipt.commits + 1
    assert {path: git(vault.root, "rev-parse", f"HEAD:{path}") for path in kept} == kept
    assert git(vault.root, "log", "-1", "--format=%s").strip() == "memory: purge 1 fact"
    assert git(vault.root, "log", "--format=%s").count("(gone)") == 2
    write(vault, "facts/2026-11/next-000012.md", b"and on it goes\n")
    assert git(vault.root, "status", "--porcelain") == ""


def test_branches_merges_tags_and_trailers_follow(vault: Store, git) -> None:
    """A merge stays a merge, other branches and tags are rewritten too, an id in a message follows its commit."""
    git(vault.root, "switch", "-qc", "side", "HEAD~3")
    Path(vault.root, "rules.md").write_text(f"side: {TEXT}\n")
    git(vault.root, "commit", "-qam", "side work")
    git(vault.root, "tag", "-am", f"about {TEXT}", "v1")
    git(vault.root, "switch", "-q", "main")
    git(vault.root, "merge", "-qm", "both", "side")
    last = git(vault.root, "rev-parse", "HEAD~1").strip()
    git(vault.root, "commit", "--allow-empty", "-qm", f"undo\n\nCtx-Undo: {last}")
    run(vault)

    assert TEXT not in objects(vault, git)
    assert len(git(vault.root, "rev-list", "--merges", "HEAD").split()) == 1
    assert git(vault.root, "rev-parse", "v1^{commit}") == git(vault.root, "rev-parse", "side")
    undone = git(vault.root, "log", "-2", "--format=%(trailers:key=Ctx-Undo,valueonly)").split()[0]
    assert undone != last
    assert git(vault.root, "log", "-1", "--format=%s", undone) == git(vault.root, "log", "-1", "--format=%s", "HEAD~3")


def test_refused_while_others_hold_it(vault: Store, git, tmp_path: Path) -> None:
    """A remote, a linked worktree or a stash stops it with nothing changed; told to go on, it says who holds it."""
    head = git(vault.root, "rev-parse", "HEAD")
    git(vault.root, "remote", "add", "origin", str(tmp_path / "elsewhere.git"))
    with pytest.raises(Refused, match="remote origin"):
        run(vault)
    git(vault.root, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert purge.holders(vault) == ["remote origin", "worktree linked"]
    assert git(vault.root, "rev-parse", "HEAD") == head

    receipt = run(vault, anyway=True)
    assert receipt.holders == ["remote origin", "worktree linked"]
    assert TEXT not in objects(vault, git)

    Path(vault.root, "rules.md").write_text("half done\n")
    git(vault.root, "stash")
    with pytest.raises(Refused, match="Stashed"):
        run(vault, anyway=True)


def test_staged_and_unsaved_work_is_not_lost(vault: Store, git) -> None:
    """Something staged, or an edit of a file that would change, is a conflict; other edits survive as they are."""
    Path(vault.root, "facts/2026-11/last-000011.md").write_text("edited by hand\n")
    git(vault.root, "add", "facts/2026-11/last-000011.md")
    with pytest.raises(Conflict, match="staged"):
        run(vault)
    git(vault.root, "reset", "-q")
    quote = Path(vault.root, "facts/2026-11/quote-000010.md")
    quote.write_text("A said something else.\n")
    with pytest.raises(Conflict, match="quote-000010"):
        run(vault)
    git(vault.root, "checkout", "-q", "--", str(quote))

    run(vault)
    assert Path(vault.root, "facts/2026-11/last-000011.md").read_text() == "edited by hand\n"
    assert git(vault.root, "status", "--porcelain") == " M facts/2026-11/last-000011.md\n"


def test_leaking_sieve_changes_nothing(vault: Store, git) -> None:
    """What a sieve missed is found by reading the new objects, before anything was exchanged."""

    class Careless(WordSieve):
        def cleaned(self, path: str, data: bytes) -> bytes:
            return data

    head = git(vault.root, "rev-parse", "HEAD")
    with pytest.raises(CtxError, match="would still hold"):
        purge.rebuild(vault, Careless(), subject="memory: purge", actor="me")
    assert git(vault.root, "rev-parse", "HEAD") == head
    assert os.listdir(Path(vault.git_dir).parent) == ["me.git"]
    assert not Path(vault.state_dir, purge.INTENT).exists()


def test_writers_wait_and_lose_nothing(vault: Store, git) -> None:
    """Writers that come while a purge runs wait for it; everything they report as done is there."""
    team = str(Path(vault.common_dir).parents[4])
    call = [sys.executable, "-m", "tests.store.writer", team, vault.name, "w", "30", "one"]
    writer = subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    for number in range(3):
        time.sleep(0.15)
        run(vault) if number == 0 else purge.rebuild(vault, WordSieve("port"), subject="again", actor="me")
    lines = writer.communicate(timeout=120)[0].decode().splitlines()
    assert writer.returncode == 0
    done = dict(line.split() for line in lines if len(line.split()) == 2)
    assert len(done) >= 29
    for path, wanted in done.items():
        assert etag(Path(vault.root, path).read_bytes()) == wanted
        assert git(vault.root, "rev-parse", f"HEAD:{path}").strip() == wanted
    assert TEXT not in objects(vault, git)
    assert git(vault.root, "fsck") == ""


def test_commits_by_hand_meanwhile_are_kept(vault: Store, git) -> None:
    """A person who commits while the history is rewritten wins: the rewriting begins anew on top of it."""
    real, calls = purge.rewrite, []

    def slow(*args: object, **kwargs: object) -> None:
        real(*args, **kwargs)
        if not calls:
            Path(vault.root, "rules.md").write_text("meanwhile\n")
            git(vault.root, "commit", "-qam", "meanwhile")
        calls.append(1)

    purge.rewrite = slow  # type: ignore[assignment]
    try:
        run(vault)
    finally:
        purge.rewrite = real
    assert len(calls) == 2
    assert "meanwhile" in git(vault.root, "log", "--format=%s")
    assert TEXT not in objects(vault, git)


def test_held_git_lock_is_a_conflict(vault: Store, git) -> None:
    """A git command of the person that holds the branch's lock stops it; the lock stays theirs."""
    lock = Path(vault.git_dir, "refs/heads/main.lock")
    lock.write_text("")
    with pytest.raises(Conflict, match=r"main\.lock"):
        run(vault)
    assert lock.exists()
    assert not Path(vault.git_dir, "index.lock").exists()
    lock.unlink()
    run(vault)


STEPS = ["_prepare", "rewrite", "_changes", "_check_unedited", "_swap", "_followed", "_beside", "_forget"]
CHILD = """
import os, sys
from tests.store.test_purge import WordSieve
from ctxrepo.store import private, purge
team = private.open_team(sys.argv[1])
store = private.open_private(team, "memory/me")
step, moment = sys.argv[2:]
real = getattr(purge, step)
calls = []
def dying(*args, **kwargs):
    calls.append(1)
    if moment == "before":
        os._exit(9)
    found = real(*args, **kwargs)
    if step != "_beside" or len(calls) > 1:
        os._exit(9)
    return found
setattr(purge, step, dying)
purge.rebuild(store, WordSieve(), subject="memory: purge 1 fact", actor="me")
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step(vault: Store, git, step: str, moment: str) -> None:
    """Whatever step it dies at, recovery leaves the old state whole or the new one, and a store that can be written."""
    old = git(vault.root, "rev-parse", "HEAD").strip()
    team = str(Path(vault.common_dir).parents[4])
    died = subprocess.run([sys.executable, "-c", CHILD, team, step, moment], cwd=ROOT, check=False, capture_output=True)
    assert died.returncode == 9, died.stderr.decode()
    with vault.lock:
        purge.finish_interrupted(vault)

    new = git(vault.root, "rev-parse", "HEAD").strip() != old
    early = STEPS.index(step) < STEPS.index("_swap") or (step == "_swap" and moment == "before")
    assert new is not (early or (step == "_beside" and moment == "before"))
    assert Path(vault.root, "facts/2026-11/a renamed \u6587\u4ef6.md").exists() is not new
    assert (TEXT in objects(vault, git)) is not new
    if new:
        assert everywhere(vault.root, TEXT) == everywhere(vault.state_dir, TEXT) == []
    assert os.listdir(Path(vault.git_dir).parent) == ["me.git"]
    assert not Path(vault.git_dir, purge.MARKER).exists()
    assert git(vault.root, "status", "--porcelain") == ""
    write(vault, "facts/2026-11/after-000013.md", b"still alive\n")
    assert git(vault.root, "fsck") == ""
    run(vault)
    assert TEXT not in objects(vault, git)


def test_without_an_atomic_exchange(vault: Store, git, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system cannot exchange two folders, two renames do it, and a kill between them is mended."""
    monkeypatch.setattr(purge, "exchange", lambda *_: False)
    run(vault)
    assert TEXT not in objects(vault, git)
    assert os.listdir(Path(vault.git_dir).parent) == ["me.git"]

    write(vault, WHERE, f"SECRET\n{TEXT}\n".encode())
    real = os.rename

    def dying(source: str, target: str) -> None:
        if target == vault.git_dir:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(purge.os, "rename", dying)
    monkeypatch.setattr(purge, "_take_back", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        run(vault)
    assert not Path(vault.git_dir).exists()
    monkeypatch.undo()
    with vault.lock:
        assert purge.finish_interrupted(vault)
    assert TEXT not in objects(vault, git)
    assert git(vault.root, "status", "--porcelain") == ""


def test_exchange(tmp_path: Path) -> None:
    """Two folders change places in one step, or the function says that it cannot."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "one").touch()
    done = purge.exchange(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b" / "one").exists() is done
    with pytest.raises(OSError, match="No such file"):
        purge.exchange(str(tmp_path / "a"), str(tmp_path / "nowhere"))


def test_ended_export_is_an_error(tmp_path: Path) -> None:
    """A stream that ends early, or holds an unknown record, is never taken for a whole history."""
    cut = b"feature done\nblob\nmark :1\ndata 10\nabc"
    for stream in (b"", cut, b"feature done\nnonsense\n", b"commit refs/heads/x\n"):
        (tmp_path / "stream").write_bytes(stream)
        with (tmp_path / "stream").open("rb") as file, pytest.raises(CtxError):
            list(exported.records(file))


def test_readers_beside_it(vault: Store, git) -> None:
    """Somebody who reads the history all the while finds a repository at every moment."""
    failures: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            said = git(vault.root, "log", "--format=%s", ok=False)
            if "not a git repository" in said:
                failures.append(said)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(4):
        write(vault, WHERE, f"SECRET\n{TEXT} {number}\n".encode())
        run(vault)
    stop.set()
    reader.join()
    assert failures == []
    assert json.loads(json.dumps(TEXT)) not in objects(vault, git)

"""Many writers at once, and writers that are killed: nothing acknowledged is lost, nothing blocks.

Acknowledgements are counted outside the killed process. The long forms run with `-m soak`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxrepo.errors import Refused
from ctxrepo.store import journal, operation, private
from ctxrepo.store.files import etag
from ctxrepo.store.store import Store

ROOT = Path(__file__).parents[2]


def start(store: Store, prefix: str, count: int, mode: str = "one") -> subprocess.Popen[bytes]:
    team = str(Path(store.common_dir).parents[4]) if store.private else store.root
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.writer", team, store.name, prefix, str(count), mode],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def acknowledged(lines: bytes) -> dict[str, str]:
    whole = lines[: lines.rfind(b"\n") + 1].decode().splitlines()
    return dict(line.split() for line in whole if line != "ready")


def check_all_there(store: Store, done: dict[str, str]) -> None:
    done = {path: current(store, path, wanted) for path, wanted in done.items()}
    for path, wanted in done.items():
        assert etag(Path(store.root, path).read_bytes()) == wanted, path
    held = store.git.run("ls-tree", "-r", "HEAD").decode().splitlines()
    blobs = {line.split("\t")[1]: line.split()[2] for line in held}
    assert {path: blobs.get(path) for path in done} == done


def current(store: Store, path: str, wanted: str) -> str:
    """What must be there: of a file that is rewritten again and again, the acknowledged state or the one after it."""
    if not path.startswith("shared/"):
        return wanted
    prefix = path[len("shared/") : -len(".md")]
    states = [etag(f"state {number} of {prefix}\n".encode() * 50) for number in range(200)]
    found = etag(Path(store.root, path).read_bytes())
    assert found in states[states.index(wanted) :][:2], path
    return found


def at_once(store: Store, git, processes: int, writes: int) -> None:
    before = len(git(store.root, "log", "--format=%h").split())
    running = [start(store, f"p{number}", writes) for number in range(processes)]
    done: dict[str, str] = {}
    for child in running:
        out, err = child.communicate(timeout=300)
        assert child.returncode == 0, err.decode()
        done |= acknowledged(out)

    assert len(done) == processes * writes
    check_all_there(store, done)
    assert len(git(store.root, "log", "--format=%h").split()) == before + processes * writes
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "fsck", "--full") == ""
    assert not Path(store.git_dir, "index.lock").exists()


def test_processes_at_once(mine: Store, git) -> None:
    """Four processes that write at once lose nothing and get no error."""
    at_once(mine, git, 4, 6)


@pytest.mark.soak
def test_eight_processes_times_fifty(mine: Store, git) -> None:
    """8 processes of 50 writes each: 400 files, 400 commits, no error, a sound repository, an empty status."""
    at_once(mine, git, 8, 50)


def test_a_person_commits_all_the_while(mine: Store, git) -> None:
    """Hand commits of everything, again and again beside our writes, lose nothing and stop nothing."""
    writers = [start(mine, f"p{number}", 6, mode) for number, mode in enumerate(("one", "many"))]
    rounds = 0
    while any(writer.poll() is None for writer in writers):
        git(mine.root, "add", "-A", ok=False)
        git(mine.root, "commit", "-qam", f"by hand {rounds}", ok=False)
        rounds += 1
    done: dict[str, str] = {}
    for writer in writers:
        out, err = writer.communicate()
        assert err == b""
        done |= acknowledged(out)

    assert rounds > 1
    assert len(done) == 6 + 18
    check_all_there(mine, done)
    mine.snapshot()
    assert git(mine.root, "status", "--porcelain") == ""
    assert git(mine.root, "log", "--format=%s").count("memory: add p") == 12
    assert "ctxrepo-tmp" not in git(mine.root, "log", "--name-only", "--format=")
    assert git(mine.root, "fsck") == "" or "dangling" in git(mine.root, "fsck")


def kill_writers(store: Store, git, kills: int, seed: int) -> None:
    """Kills writers at random moments: the process, or every process that it started as well."""
    chance = random.Random(seed)
    stale = 0
    everything: dict[str, str] = {}
    for number in range(kills):
        mode = chance.choice(["one", "many", "edit"])
        writer = start(store, f"k{number}", 10_000, mode)
        assert writer.stdout is not None
        os.read(writer.stdout.fileno(), 6)
        time.sleep(chance.uniform(0.001, 0.25))
        children = descendants(writer.pid) if chance.random() < 0.5 else []
        for pid in (writer.pid, *children):
            kill(pid)
        done = acknowledged(writer.stdout.read())
        writer.wait()
        assert writer.stderr is not None
        assert writer.stderr.read() == b""
        everything |= done
        wait_for_orphans(store)

        lock = Path(store.git_dir, "index.lock")
        if lock.exists() and chance.random() < 0.5:
            stale += 1
        elif not lock.exists() and chance.random() < 0.7:
            git(store.root, "commit", "-qam", f"by hand after kill {number}", ok=False)
            check_all_there(store, done)
        with store.transaction("memory.add", actor="me") as tx:
            tx.write(f"after/{number}.md", b"next command works\n")
        check_all_there(store, done)
        assert not lock.exists()
        assert not Path(store.state_dir, journal.NAME).exists()
    check_all_there(store, everything)
    assert stale <= max(1, kills // 20)
    store.snapshot()
    assert git(store.root, "status", "--porcelain") == ""
    assert "error" not in git(store.root, "fsck", "--full")
    assert not list(Path(store.root).rglob("*.ctxrepo-tmp"))


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def descendants(pid: int) -> list[int]:
    """The processes that `pid` has started, whatever their session."""
    found = []
    try:
        lists = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    for child in (int(word) for words in lists for word in words.split()):
        found += [child, *descendants(child)]
    return found


def wait_for_orphans(store: Store) -> None:
    """Waits until git processes that outlived their parent have ended."""
    needle = os.fsencode(store.git_dir)
    for _ in range(200):
        alive = False
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes()
            except OSError:
                continue
            alive = alive or (words.startswith(b"git\0") and needle in words)
        if not alive:
            return
        time.sleep(0.01)


def test_killed_writers(mine: Store, git) -> None:
    """A dozen random kills, then a person's `git commit -a`: everything acknowledged is there."""
    kill_writers(mine, git, 12, seed=1)


@pytest.mark.soak
def test_two_hundred_killed_writers(mine: Store, git) -> None:
    """200 random kills of the process or of all its processes, acknowledgements counted outside."""
    kill_writers(mine, git, 200, seed=2)


STEPS = ["save", "apply", "put", "move_branch"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("person", ["nothing", "commit -a", "edit"])
def test_a_kill_at_each_step(mine: Store, git, monkeypatch: pytest.MonkeyPatch, step, when, person) -> None:
    """Wherever the kill falls, the next call finds all of the operation or none of it, and a person's edit wins."""
    a, b = "facts/2026-11/a-000001.md", "facts/2026-11/new.md"
    child = os.fork()
    if child == 0:
        die_at(mine, step, when)
        with mine.transaction("memory.update", actor="me") as tx:
            tx.write(a, b"changed\n")
            tx.write(b, b"new\n")
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    if person == "commit -a":
        git(mine.root, "commit", "-qam", "by hand", ok=False)
    if person == "edit":
        Path(mine.root, a).write_text("by hand, later\n")

    again = Store(mine.root, mine.git_dir, mine.state_dir, mine.name, True)
    with again.transaction("memory.add", actor="me") as tx:
        tx.write("next.md", b"next\n")

    files = {path: (Path(mine.root, path).read_text() if Path(mine.root, path).exists() else None) for path in (a, b)}
    if person == "edit":
        assert files[a] == "by hand, later\n"
        assert files[b] in ("new\n", None)
    else:
        assert files in ({a: "changed\n", b: "new\n"}, {a: "likes tea\n", b: None})
    again.snapshot()
    assert git(mine.root, "status", "--porcelain") == ""
    for path, text in files.items():
        assert text is None or git(mine.root, "show", f"HEAD:{path}") == text
    assert not Path(mine.state_dir, journal.NAME).exists()
    assert not list(Path(mine.git_dir, "refs/ctxrepo").rglob("*/*"))
    assert sorted(os.listdir(mine.state_dir)) == ["lock", "staged.json"]


def die_at(store: Store, step: str, when: str) -> None:
    """Makes this process kill itself before or after a step of `carry_out`."""
    owner: object = {"save": journal, "apply": operation.files, "put": store.stage, "move_branch": store}[step]
    real = getattr(owner, step)

    def deadly(*args: object, **how: object) -> object:
        result = real(*args, **how) if when == "after" else None
        os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, step, deadly)


def test_a_kill_between_two_files(mine: Store, git, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a multi-file operation on disk is finished by the next call, as one commit."""
    child = os.fork()
    if child == 0:
        real = os.replace
        hits = []

        def replace(source: str, target: str) -> None:
            real(source, target)
            if str(target).endswith(".md"):
                hits.append(target)
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = replace
        with mine.transaction("memory.update", actor="me", subject="memory: both") as tx:
            tx.write("facts/2026-11/a-000001.md", b"one\n")
            tx.write("facts/2026-11/b-000002.md", b"two\n")
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert Path(mine.root, "facts/2026-11/a-000001.md").read_bytes() == b"one\n"
    assert Path(mine.root, "facts/2026-11/b-000002.md").read_bytes() == b"no chili\n"

    assert mine.recover() == ["facts/2026-11/a-000001.md", "facts/2026-11/b-000002.md"]

    assert Path(mine.root, "facts/2026-11/b-000002.md").read_bytes() == b"two\n"
    assert git(mine.root, "log", "-1", "--format=%s").strip() == "memory: both"
    assert git(mine.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("which", ["index.lock", "refs/heads/main.lock"])
def test_our_own_stale_lock_is_recognised_and_a_strangers_is_not(mine: Store, which: str) -> None:
    """A lock left between our two system calls goes with the next call; any other stays."""
    prepared = Path(mine.state_dir, "index-dead" if which == "index.lock" else "ref-dead")
    prepared.write_bytes(b"anything")
    lock = Path(mine.git_dir, which)
    os.link(prepared, lock)
    mine.recover()
    assert not lock.exists()
    assert not prepared.exists()

    lock.write_bytes(b"anything")
    mine.recover()
    assert lock.exists()


def test_a_stale_recovery_waits_for_a_merge_to_end(mine: Store, git) -> None:
    """While a merge is under way a killed operation stays in the journal; afterwards it is finished."""
    child = os.fork()
    if child == 0:
        die_at(mine, "put", "before")
        with mine.transaction("memory.add", actor="me") as tx:
            tx.write("x.md", b"x\n")
        os._exit(1)
    os.waitpid(child, 0)
    git(mine.root, "checkout", "-q", "--detach")
    with pytest.raises(Exception, match="detached"):
        mine.recover()
    assert Path(mine.state_dir, journal.NAME).exists()

    git(mine.root, "switch", "-q", "main")
    mine.recover()
    assert git(mine.root, "show", "HEAD:x.md") == "x\n"
    assert not Path(mine.state_dir, journal.NAME).exists()


def test_an_interrupted_operation_on_another_branch_is_left_to_the_person(team: Store, git) -> None:
    """When the person has switched branches since the kill, nothing is committed where it was not meant to be."""
    child = os.fork()
    if child == 0:
        die_at(team, "put", "before")
        with team.transaction("kb.create", actor="me") as tx:
            tx.write("x.md", b"x\n")
        os._exit(1)
    os.waitpid(child, 0)
    git(team.root, "switch", "-qc", "other")

    team.recover()

    assert git(team.root, "log", "-1", "--format=%s").strip() == "init: workspace"
    assert git(team.root, "status", "--porcelain") == "?? x.md\n"
    assert not Path(team.state_dir, journal.NAME).exists()


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupt_is_finished_later(mine: Store, git, step: str) -> None:
    """Ctrl-C in the middle is like a kill: the next call finishes the operation as a whole."""
    owner: object = {"save": journal, "apply": operation.files, "put": mine.stage, "move_branch": mine}[step]
    real = getattr(owner, step)

    def interrupted(*args: object, **how: object) -> None:
        setattr(owner, step, real)
        real(*args, **how)
        raise KeyboardInterrupt

    setattr(owner, step, interrupted)
    with pytest.raises(KeyboardInterrupt), mine.transaction("memory.add", actor="me") as tx:
        tx.write("x.md", b"x\n")
        tx.write("y.md", b"y\n")

    mine.recover()

    assert git(mine.root, "show", "--format=", "--name-only", "HEAD").split() == ["x.md", "y.md"]
    assert git(mine.root, "status", "--porcelain") == ""
    assert not Path(mine.git_dir, "index.lock").exists()


def test_a_damaged_store_is_not_recovered_into(team: Store, mine: Store, tmp_path: Path) -> None:
    """A killed operation is not finished while the store's folder is a stranger's link."""
    child = os.fork()
    if child == 0:
        die_at(mine, "apply", "before")
        with mine.transaction("memory.add", actor="me") as tx:
            tx.write("x.md", b"x\n")
        os._exit(1)
    os.waitpid(child, 0)
    (tmp_path / "elsewhere").mkdir()
    Path(mine.root).rename(tmp_path / "kept")
    Path(mine.root).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Refused):
        mine.recover()

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_killed_creation(tmp_path: Path) -> None:
    """A store whose creation is killed at random is completed by the next attempt."""
    code = (
        "import sys\nfrom ctxrepo.store import private\n"
        "team = private.create_team(sys.argv[1])\nprint('go', flush=True)\n"
        "private.create_private(team, 'tasks', {'a.md': b'a'}, actor='me')\nprint('done', flush=True)\n"
    )
    for number in range(5):
        folder = tmp_path / f"t{number}"
        child = subprocess.Popen([sys.executable, "-c", code, str(folder)], cwd=ROOT, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.006 * number)
        kill(child.pid)
        child.wait()
        team = private.create_team(folder)
        store = private.create_private(team, "tasks", {"a.md": b"a"}, actor="me")
        assert Path(store.root, "a.md").read_bytes() == b"a"
        assert store.outside_edits() == []

"""The watcher: every way of saving is seen, nothing is missed for long, and it stops when told."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxrepo.errors import Refused
from ctxrepo.index.heartbeat import BEAT, LOCK, is_watching, watcher
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.index.writer import StoreIndex
from ctxrepo.text.analyzer import query_terms
from ctxrepo.watch import WatchedStore, Watcher
from ctxrepo.watch.jobs import MANY, SETTLE, SETTLE_MOST, Job
from tests.support.live import eventually

EVERYTHING = Scope(places=None, agents=None, now=None)


class Bench:
    """A private store, its index, and a watcher in a thread that keeps the one up with the other."""

    def __init__(self, base: Path) -> None:
        self.root = base / "memory" / "me"
        self.month = self.root / "facts" / "2026-11"
        self.month.mkdir(parents=True)
        self.local = base / "local"
        self.index = StoreIndex(str(self.root), str(base / "state"), prefix="memory/me")
        self.looks: list[list[str] | None] = []
        self.rests: list[float] = []
        self.said: list[str] = []
        self.stores = [WatchedStore("memory/me", str(self.root))]
        self.fail: Exception | None = None
        self.watcher: Watcher | None = None
        self.thread: threading.Thread | None = None

    def on_change(self, _store: str, paths: list[str] | None) -> bool:
        self.looks.append(paths)
        if self.fail is not None:
            raise self.fail
        return bool(self.index.sync() if paths is None else self.index.apply(paths))

    def start(self, *, poll: bool = False, quiet: float = 30.0) -> None:
        self.watcher = Watcher(
            lambda: self.stores,
            str(self.local),
            self.on_change,
            lambda _: self.rests.append(time.monotonic()),
            self.said.append,
            quiet=quiet,
            poll=poll,
        )
        self.thread = threading.Thread(target=self.watcher.run)
        self.thread.start()
        assert eventually(lambda: is_watching(str(self.local)))
        time.sleep(0.1)

    def stop(self) -> None:
        if self.watcher is not None and self.thread is not None:
            self.watcher.stop()
            self.thread.join(10)
            assert not self.thread.is_alive()

    def finds(self, words: str) -> list[str]:
        """Names of the files that hold all of these words."""
        try:
            reader = Reader(self.index.folder)
            found = reader.candidates(query_terms(words), EVERYTHING, 20)
            texts = [reader.stored(address) for address in found.addresses]
        except Exception:
            return []
        wanted = set(query_terms(words))
        return sorted(
            os.path.basename(str(text["path"])) for text in texts if wanted <= set(query_terms(str(text["text"])))
        )

    def seen(self, words: str, *names: str) -> bool:
        return eventually(lambda: self.finds(words) == sorted(names))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.stop()


def _in_place(path: Path, text: str) -> None:
    path.write_text(text)


def _beside_and_rename(path: Path, text: str) -> None:
    fresh = path.with_name(path.name + ".tmp")
    fresh.write_text(text)
    fresh.replace(path)


def _from_outside_and_rename(path: Path, text: str) -> None:
    fresh = path.parents[4] / "draft"
    fresh.write_text(text)
    fresh.replace(path)


def _delete_and_create(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text)


def _vim(path: Path, text: str) -> None:
    """What `:w` does with its defaults: swap file, probe 4913, backup by rename, new file, backup gone."""
    swap = path.with_name(f".{path.name}.swp")
    swap.write_bytes(b"b0VIM 9.0")
    probe = path.with_name("4913")
    probe.touch()
    probe.unlink()
    backup = path.with_name(path.name + "~")
    if path.exists():
        path.rename(backup)
    path.write_text(text)
    backup.unlink(missing_ok=True)
    swap.unlink()


def _vscode(path: Path, text: str) -> None:
    """Truncate, then write in place, in two steps."""
    with path.open("w") as handle:
        handle.flush()
        time.sleep(0.01)
        handle.write(text)


SAVES = [_in_place, _beside_and_rename, _from_outside_and_rename, _delete_and_create, _vim, _vscode]


@pytest.mark.parametrize("save", SAVES, ids=lambda save: save.__name__.strip("_"))
def test_every_way_of_saving_is_found(bench: Bench, save: Callable[[Path, str], None]) -> None:
    """A new note and its later edit are found, the old text is not, and nobody else is lost."""
    (bench.month / "other.md").write_text("bystander stays")
    bench.start()
    note = bench.month / "note.md"
    save(note, "first version")
    assert bench.seen("first version", "note.md")
    save(note, "second edition")
    assert bench.seen("second edition", "note.md")
    assert bench.finds("first version") == []
    assert bench.finds("bystander stays") == ["other.md"]


def test_finds_what_was_there_before_it_started(bench: Bench) -> None:
    """The first look is a full one, and the heartbeat begins only after it."""
    (bench.month / "old.md").write_text("older than the watcher")
    bench.start()
    assert bench.finds("older than the watcher") == ["old.md"]
    assert bench.looks[0] is None


def test_deleting_and_moving_are_followed(bench: Bench) -> None:
    """A deleted file is gone, a renamed one has its new name, a moved folder takes its files along."""
    for name in ("a", "b", "c"):
        (bench.month / f"{name}.md").write_text(f"walnut {name}")
    bench.start()
    (bench.month / "a.md").unlink()
    (bench.month / "b.md").rename(bench.month / "renamed.md")
    assert bench.seen("walnut", "c.md", "renamed.md")
    moved = bench.root / "facts" / "2026-12"
    bench.month.rename(moved)
    assert eventually(lambda: {e.path for e in _entries(bench)} == {f"facts/2026-12/{n}.md" for n in ("c", "renamed")})
    (moved / "late.md").write_text("walnut moved later")
    assert bench.seen("walnut moved later", "late.md")
    shutil.rmtree(moved)
    assert bench.seen("walnut")


def _entries(bench: Bench) -> list[object]:
    with bench.index.catalog() as catalog:
        return list(catalog.entries())


def test_a_checkout_of_thousands_of_files_is_a_few_looks(bench: Bench) -> None:
    """A folder of 2,000 files that appears file by file costs a few looks, not one per file, and all are found."""
    bench.start()
    before = len(bench.looks)
    folder = bench.root / "facts" / "2026-01"
    folder.mkdir()
    for number in range(2_000):
        (folder / f"n{number}.md").write_text(f"checkout {number}")
    assert eventually(lambda: len(_entries(bench)) == 2_000, 30)
    assert len(bench.looks) - before < 40


def test_swap_files_backups_and_hidden_folders_are_none_of_its_business(bench: Bench) -> None:
    """What an editor or git keeps beside the notes does not wake it."""
    bench.start()
    before = len(bench.looks)
    for name in (".note.md.swp", "note.md~", "4913", "picture.png"):
        (bench.month / name).write_text("x")
    (bench.root / ".obsidian").mkdir()
    (bench.root / ".obsidian" / "workspace.md").write_text("x")
    time.sleep(0.6)
    assert [path for paths in bench.looks[before:] for path in paths or ["everything"]] in ([], [".obsidian"])


def test_our_own_writes_do_not_echo(bench: Bench) -> None:
    """Indexing reads files; that must not look like a change, or it would never end."""
    bench.start()
    (bench.month / "note.md").write_text("echo")
    assert bench.seen("echo", "note.md")
    time.sleep(0.5)
    before = len(bench.looks)
    time.sleep(1.0)
    assert len(bench.looks) == before


def test_a_store_that_appears_vanishes_and_returns(bench: Bench, tmp_path: Path) -> None:
    """Stores are asked for again and again; a folder replaced by another one is watched anew."""
    bench.start()
    (bench.month / "one.md").write_text("persimmon")
    assert bench.seen("persimmon", "one.md")
    away = tmp_path / "away"
    bench.root.rename(away)
    assert eventually(lambda: not _entries(bench))
    away.rename(bench.root)
    assert bench.seen("persimmon", "one.md")
    (bench.month / "two.md").write_text("persimmon twice")
    assert bench.seen("persimmon twice", "two.md")
    second = tmp_path / "memory" / "you"
    bench.stores.append(WatchedStore("memory/you", str(second)))
    (second / "facts" / "2026-11").mkdir(parents=True)
    assert eventually(lambda: "memory/you" in json.loads((bench.local / BEAT).read_text())["stores"])


def test_rest_is_reported_once_after_quiet_and_never_for_a_store_that_is_gone(bench: Bench, tmp_path: Path) -> None:
    """`on_quiet` comes once per burst of changes; files gone wholesale are no edit to commit."""
    bench.start(quiet=0.6)
    assert eventually(lambda: len(bench.rests) <= 1)
    time.sleep(1.0)
    bench.rests.clear()
    for number in range(4):
        (bench.month / "note.md").write_text(f"keystroke {number}")
        last = time.monotonic()
        time.sleep(0.2)
    assert eventually(lambda: bool(bench.rests), 5)
    assert bench.rests[0] - last >= 0.55
    time.sleep(1.0)
    assert len(bench.rests) == 1
    bench.root.rename(tmp_path / "away")
    assert eventually(lambda: not _entries(bench))
    time.sleep(1.2)
    assert len(bench.rests) == 1


def test_a_failing_callback_is_logged_and_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception does not end the watcher; meanwhile it is not trusted; later it catches up."""
    monkeypatch.setattr("ctxrepo.watch.jobs.RETRY_FIRST", 0.3)
    bench.start()
    bench.fail = RuntimeError("the disk is full of bees")
    (bench.month / "note.md").write_text("honey")
    assert eventually(lambda: "full of bees" in _log(bench))
    assert bench.thread is not None
    assert bench.thread.is_alive()
    bench.fail = None
    assert bench.seen("honey", "note.md")


def _log(bench: Bench) -> str:
    path = bench.local / "watch.log"
    return path.read_text() if path.exists() else ""


def test_without_events_it_looks_by_itself(bench: Bench) -> None:
    """Polling finds edits, deletions and rests as well, only later."""
    bench.start(poll=True, quiet=0.2)
    note = bench.month / "note.md"
    note.write_text("polled")
    assert bench.seen("polled", "note.md")
    assert eventually(lambda: bool(bench.rests))
    note.unlink()
    assert bench.seen("polled")
    assert watcher(str(bench.local)) == {**(watcher(str(bench.local)) or {}), "mode": "poll"}


def test_no_inotify_instance_falls_back_with_a_message(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system gives no more inotify instances, the person is told and edits are found all the same."""

    def refuse(*_: object) -> None:
        raise OSError(24, "inotify instance limit reached")

    monkeypatch.setattr("watchdog.observers.inotify_c.InotifyFD._create_inotify_fd", refuse)
    bench.start()
    assert "looked through every few seconds" in bench.said[0]
    (bench.month / "note.md").write_text("found without events")
    assert bench.seen("found without events", "note.md")


LIMITED = """
import os, sys, threading, time
sys.path.insert(0, {here!r})
from pathlib import Path
from tests.test_watch import Bench
bench = Bench(Path({base!r}))
for number in range(8):
    (bench.root / "facts" / f"2020-{{number:02}}").mkdir()
bench.start()
(bench.root / "facts" / "2020-07" / "deep.md").write_text("under the unwatched folder")
print(bench.seen("under the unwatched folder", "deep.md"), bench.said)
bench.stop()
"""


def test_a_real_limit_of_watches_falls_back_too(tmp_path: Path) -> None:
    """With five watches for ten folders, watchdog is silent about the rest; we count, say so, and poll."""
    here = str(Path(__file__).parents[1])
    script = LIMITED.format(here=here, base=str(tmp_path))
    limit = 'echo 5 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", limit, "sh", sys.executable, "-c", script]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": here}
        )
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "unshare" in done.stderr or "max_inotify_watches" in done.stderr:
        pytest.skip("no user namespaces here")
    assert "limit of file watches is reached" in done.stdout, done.stderr
    assert done.stdout.startswith("True")


def test_an_overflow_of_the_queue_becomes_a_full_look(bench: Bench) -> None:
    """watchdog warns when the kernel dropped events; the note that no event told of is found."""
    bench.start()
    assert bench.watcher is not None
    before = len(bench.looks)
    import logging

    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; filesystem events were lost")
    assert eventually(lambda: None in bench.looks[before:])
    assert "overflowed" in _log(bench)


def test_signals_call_for_a_full_look(bench: Bench, tmp_path: Path) -> None:
    """A moved branch changes what is reviewed although no file changed; a lock file beside it is nothing."""
    refs = tmp_path / "refs"
    refs.mkdir()
    bench.stores = [WatchedStore("memory/me", str(bench.root), ("",), (str(refs),))]
    bench.start()
    before = len(bench.looks)
    (refs / "main.lock").write_text("x")
    time.sleep(0.6)
    assert len(bench.looks) == before
    (refs / "main.lock").rename(refs / "main")
    assert eventually(lambda: None in bench.looks[before:])


def test_one_watcher_per_workspace(bench: Bench) -> None:
    """A second one refuses and the first goes on; when it has stopped, another may begin."""
    bench.start()
    second = Watcher(lambda: bench.stores, str(bench.local), bench.on_change, lambda _: None)
    with pytest.raises(Refused, match="Another watcher"):
        second.run()
    assert is_watching(str(bench.local))
    bench.stop()
    assert not is_watching(str(bench.local))
    bench.start()


def test_a_heartbeat_without_its_lock_is_not_trusted(tmp_path: Path) -> None:
    """Neither a file that a killed watcher left, nor a lock whose holder does not move, counts as watching."""
    assert not is_watching(str(tmp_path / "nowhere"))
    (tmp_path / LOCK).touch()
    (tmp_path / BEAT).write_text("{}")
    assert not is_watching(str(tmp_path))
    assert watcher(str(tmp_path)) is None
    import fcntl

    with (tmp_path / LOCK).open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert is_watching(str(tmp_path))
        old = time.time() - 60
        os.utime(tmp_path / BEAT, (old, old))
        assert not is_watching(str(tmp_path))


CHILD = """
import sys
sys.path.insert(0, {here!r})
from pathlib import Path
from tests.test_watch import Bench
from ctxrepo.watch import Watcher
bench = Bench(Path({base!r}))
Watcher(lambda: bench.stores, str(bench.local), bench.on_change, lambda _: None).run()
print("ended in order")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_end_it(tmp_path: Path, number: int) -> None:
    """SIGTERM and SIGINT end it in order, SIGKILL at once; after each nobody believes that it still runs."""
    here = str(Path(__file__).parents[1])
    script = CHILD.format(here=here, base=str(tmp_path))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    local = str(tmp_path / "local")
    assert eventually(lambda: is_watching(local))
    child.send_signal(number)
    output, _ = child.communicate(timeout=10)
    assert ("ended in order" in output) == (number != signal.SIGKILL)
    assert child.returncode == (-number if number == signal.SIGKILL else 0)
    assert not is_watching(local)


def test_handles_and_memory_do_not_grow(bench: Bench) -> None:
    """Three hundred edits and thirty replaced folders leave as many open files and threads as before."""
    bench.start()
    note = bench.month / "note.md"

    def rounds(count: int) -> tuple[int, int]:
        for number in range(count):
            note.write_text(f"round {number}")
            if number % 10 == 0:
                folder = bench.root / "facts" / "2026-10"
                folder.mkdir()
                (folder / "x.md").write_text("x")
                shutil.rmtree(folder)
            time.sleep(0.005)
        assert bench.seen(f"round {count - 1}", "note.md")
        time.sleep(0.3)
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    before = rounds(20)
    after = rounds(300)
    assert after[0] <= before[0] + 3
    assert after[1] <= before[1] + 1


def test_a_job_waits_for_the_last_of_a_burst_but_not_for_ever() -> None:
    """Few paths settle after 0.03 s of silence or 0.2 s in all; many become everything and may take longer."""
    job = Job(everything=False, due=1e9)
    assert job.settled() == float("inf")
    job.note("a.md", 10.0)
    job.note("b.md", 10.01)
    assert job.settled() == pytest.approx(10.01 + SETTLE)
    for step in range(100):
        job.note("a.md", 10.0 + step / 100)
    assert job.settled() == pytest.approx(10.0 + SETTLE_MOST)
    assert job.take(11.0) == ["a.md", "b.md"]
    for number in range(MANY + 1):
        job.note(f"{number}.md", 20.0)
    assert job.settled() > 20.0 + SETTLE_MOST
    assert job.take(21.0) is None
    job.failed(30.0)
    assert job.ready(1.0) == pytest.approx(32.0)
    job.failed(32.0)
    assert job.ready(1.0) == pytest.approx(36.0)

"""The index is a cache: whatever happens to it, the next sync makes it right, and nobody is disturbed meanwhile."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ctxrepo.index import generation as generations
from ctxrepo.index import place
from ctxrepo.index.generation import IndexBusy
from ctxrepo.index.place import IndexUnavailable
from ctxrepo.index.reader import Reader
from ctxrepo.text.analyzer import query_terms
from tests.index.conftest import EVERYTHING, Store

Fill = Callable[[Iterable[str]], Store]
MONTH = "facts/2026-11"
HERE = str(Path(__file__).parents[2])


def _generation(store: Store) -> Path:
    found = place.current(store.index.folder)
    assert found is not None
    return Path(found)


def _segment_files(store: Store, suffix: str) -> list[Path]:
    return sorted((_generation(store) / place.TANTIVY).glob(f"*{suffix}"))


def _lose_current(store: Store) -> None:
    os.unlink(os.path.join(store.index.folder, place.CURRENT))


def _lose_everything(store: Store) -> None:
    shutil.rmtree(store.index.folder)


def _foreign_version(store: Store) -> None:
    Path(store.index.folder, place.CURRENT).write_text("0.0-abcdef\n")
    Path(store.index.folder, "0.0-abcdef").mkdir()


def _escaping_name(store: Store) -> None:
    Path(store.index.folder, place.CURRENT).write_text(f"{place.stamp()}-/../../..\n")


def _empty_folder(store: Store) -> None:
    shutil.rmtree(_generation(store))
    _generation(store).mkdir()


def _garbage_meta(store: Store) -> None:
    (_generation(store) / place.TANTIVY / "meta.json").write_bytes(b"\xff\x00garbage")


def _empty_meta(store: Store) -> None:
    (_generation(store) / place.TANTIVY / "meta.json").write_bytes(b"")


def _cut_segments(store: Store) -> None:
    for path in _segment_files(store, ".idx"):
        os.truncate(path, path.stat().st_size // 2)


def _lose_a_segment(store: Store) -> None:
    for path in _segment_files(store, ".store"):
        path.unlink()


def _garbage_catalog(store: Store) -> None:
    for name in ("catalog.db-wal", "catalog.db-shm"):
        (_generation(store) / name).unlink(missing_ok=True)
    (_generation(store) / place.CATALOG).write_bytes(b"SQLite format 3\0" + os.urandom(5_000))


def _cut_catalog(store: Store) -> None:
    for name in ("catalog.db-wal", "catalog.db-shm"):
        (_generation(store) / name).unlink(missing_ok=True)
    os.truncate(_generation(store) / place.CATALOG, 6_000)


def _empty_catalog(store: Store) -> None:
    for name in ("catalog.db-wal", "catalog.db-shm"):
        (_generation(store) / name).unlink(missing_ok=True)
    (_generation(store) / place.CATALOG).write_bytes(b"")


def _lose_catalog(store: Store) -> None:
    for path in _generation(store).glob("catalog.db*"):
        path.unlink()


def _garbage_scopes(store: Store) -> None:
    (_generation(store) / place.SCOPES).write_text("{")


def _older_catalog(store: Store) -> None:
    """As a backup program would: the catalog of yesterday beside the search index of today."""
    saved = store.root.parent / "saved"
    shutil.copytree(_generation(store), saved)
    store.write(f"{MONTH}/late.md", "raspberry late")
    store.sync()
    for path in _generation(store).glob("catalog.db*"):
        path.unlink()
    for path in saved.glob("catalog.db*"):
        shutil.copy(path, _generation(store) / path.name)
    (store.root / MONTH / "late.md").unlink()


FAULTS = [
    _lose_current,
    _lose_everything,
    _foreign_version,
    _escaping_name,
    _empty_folder,
    _garbage_meta,
    _empty_meta,
    _cut_segments,
    _lose_a_segment,
    _garbage_catalog,
    _cut_catalog,
    _empty_catalog,
    _lose_catalog,
    _garbage_scopes,
    _older_catalog,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_a_damaged_index_is_built_anew_without_asking(filled: Fill, fault: Callable[[Store], None]) -> None:
    """One sync, and the answers are those of before; only one generation is left."""
    store = filled(["raspberry one", "blackberry two", "raspberry three"])
    fault(store)
    assert store.sync().rebuilt
    assert sorted(store.hits("raspberry")) == [f"{MONTH}/0.md", f"{MONTH}/2.md"]
    assert store.paths() == {f"{MONTH}/{n}.md" for n in range(3)}
    assert len(store.generations()) == 1
    assert not store.sync().rebuilt


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_a_write_after_the_damage_heals_too(filled: Fill, fault: Callable[[Store], None]) -> None:
    """`apply` never raises: it rebuilds, or says that it is behind and the next sync does."""
    store = filled(["raspberry one", "blackberry two", "raspberry three"])
    fault(store)
    store.write(f"{MONTH}/3.md", "raspberry four")
    report = store.index.apply([f"{MONTH}/3.md"])
    if report.fault:
        assert store.index.is_behind()
        store.sync()
    assert sorted(store.hits("raspberry")) == [f"{MONTH}/{n}.md" for n in (0, 2, 3)]
    assert not store.index.is_behind()


@pytest.mark.parametrize("suffix", [".term", ".idx", ".store", ".fast", ".fieldnorm"])
def test_flipped_bytes_never_reach_the_caller_as_a_crash(filled: Fill, suffix: str) -> None:
    """What sizes cannot show is met when it is read: an answer or `IndexUnavailable`, and the latter is healed."""
    store = filled([f"raspberry number{n} 覆盆子" for n in range(200)])
    source = random.Random(1)
    for path in _segment_files(store, suffix):
        data = bytearray(path.read_bytes())
        for _ in range(1 + len(data) // 50):
            data[source.randrange(len(data))] ^= 0xFF
        path.write_bytes(data)
    try:
        reader = store.reader()
        found = reader.candidates(query_terms("raspberry number7 覆盆子"), EVERYTHING, 20)
        for address in found.addresses:
            reader.stored(address)
        reader.column("created", found.addresses)
    except IndexUnavailable:
        assert store.index.is_behind()
        assert store.sync().rebuilt
        assert len(store.hits("覆盆子", k=300)) == 200


def test_there_is_no_answer_without_an_index_and_a_hint_how_to_get_one(store: Store) -> None:
    """A reader never builds; it says what to run."""
    with pytest.raises(IndexUnavailable) as caught:
        store.reader()
    assert caught.value.hint == "ctxrepo sync"
    with pytest.raises(IndexUnavailable), store.index.catalog():
        pass


def test_what_is_wrong_with_the_machine_is_not_taken_for_damage(filled: Fill) -> None:
    """A process without free file handles gets no answer, and costs nobody a rebuild; nor does a wrong column."""
    store = filled(["bilberry"])
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from ctxrepo.index.reader import Reader\n"
        "from ctxrepo.index.place import IndexUnavailable\n"
        "for limit in range(12, 2, -1):\n"
        "  resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))\n"
        "  try:\n    Reader(sys.argv[2])\n"
        "  except IndexUnavailable as err:\n    print(err)"
    )
    command = [sys.executable, "-c", code, HERE, store.index.folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Too many open files" in done.stdout
    reader = store.reader()
    with pytest.raises(ValueError, match="no column 'colour'"):
        reader.column("colour", reader.candidates(query_terms("bilberry"), EVERYTHING, 1).addresses)
    assert not store.index.is_behind()
    assert not store.sync()


def test_readers_keep_what_they_opened_while_it_is_replaced(filled: Fill) -> None:
    """An open reader answers from the old generation after a rebuild, and from the new one after `refresh`."""
    store = filled(["gooseberry old"])
    reader = store.reader()
    store.write(f"{MONTH}/1.md", "gooseberry new")
    assert store.index.rebuild().rebuilt
    assert len(store.generations()) == 1
    old = reader.candidates(query_terms("gooseberry"), EVERYTHING, 5)
    assert [reader.stored(address)["text"] for address in old.addresses] == ["gooseberry old"]
    reader.refresh()
    assert len(reader.candidates(query_terms("gooseberry"), EVERYTHING, 5)) == 2


def test_searching_while_somebody_writes(filled: Fill) -> None:
    """A watcher's writes never fail a search, and what was there is found in every answer."""
    store = filled([f"currant {n}" for n in range(30)])
    done = threading.Event()
    writers_faults: list[str] = []

    def write() -> None:
        for number in range(40):
            store.write(f"facts/2026-12/{number}.md", f"currant late {number}")
            writers_faults.append(store.index.apply([f"facts/2026-12/{number}.md"]).fault)
            if number % 15 == 14:
                store.index.rebuild()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    reader = store.reader()
    answers = []
    while not done.is_set():
        answers.append(len(Reader(store.index.folder).candidates(query_terms("currant"), EVERYTHING, 200)))
        reader.refresh()
        answers.append(len(reader.candidates(query_terms("currant"), EVERYTHING, 200)))
    thread.join()
    assert set(writers_faults) == {""}
    assert min(answers) >= 30
    assert len(store.hits("currant", k=200)) == 70


def test_segments_do_not_pile_up(filled: Fill) -> None:
    """A hundred writes one by one leave few segments, and few files on disk."""
    store = filled(["lingonberry"])
    for number in range(100):
        store.write(f"{MONTH}/0.md", f"lingonberry {number}")
        assert store.index.apply([f"{MONTH}/0.md"]).fault == ""
    assert store.reader().num_segments <= 9
    assert store.reader().num_docs == 1
    assert len(os.listdir(_generation(store) / place.TANTIVY)) < 120


@pytest.mark.parametrize("follow", ["sync", "apply"])
def test_a_generation_full_of_deleted_documents_is_replaced(
    filled: Fill, monkeypatch: pytest.MonkeyPatch, follow: str
) -> None:
    """Deleting and adding again for years must not let the index grow for ever, whoever follows the changes."""
    monkeypatch.setattr(generations, "_DEAD", 0)
    store = filled([f"elder {n}" for n in range(40)])
    paths = [f"{MONTH}/{number}.md" for number in range(30)]
    for path in paths:
        (store.root / path).unlink()
    if follow == "apply":
        assert len(store.index.apply(paths).removed) == 30
    assert "deleted documents" in store.sync().rebuilt
    assert not generations.is_bloated(str(_generation(store)))
    assert store.reader().num_docs == 10
    assert len(store.generations()) == 1
    assert not store.sync()


def test_leftovers_of_killed_builders_are_swept(filled: Fill) -> None:
    """Half-built generations do not add up."""
    store = filled(["quince"])
    for number in range(3):
        shutil.copytree(_generation(store), Path(store.index.folder) / f"{place.stamp()}-dead{number}")
    store.write(f"{MONTH}/1.md", "quince")
    store.sync()
    assert len(store.generations()) == 1
    assert len(store.hits("quince")) == 2


def test_a_held_lock_is_waited_for_and_then_reported(filled: Fill) -> None:
    """`sync` raises in time, `apply` reports; both leave the work for the next one."""
    store = filled(["medlar"])
    with generations.locked(store.index.folder, 0):
        assert not store.index.sync(wait=0.05)
        store.write(f"{MONTH}/1.md", "medlar")
        with pytest.raises(IndexBusy):
            store.index.sync(wait=0.05)
        report = store.index.apply([f"{MONTH}/1.md"], wait=0.05)
        assert "IndexBusy" in report.fault
        assert store.index.is_behind()
    assert not store.sync().rebuilt
    assert not store.index.is_behind()
    assert len(store.hits("medlar")) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_state_folder_is_an_error_of_the_machine(store: Store) -> None:
    """No permission is not taken for damage."""
    store.state.mkdir()
    store.state.chmod(0o500)
    with pytest.raises(OSError, match="ermission"):
        store.sync()
    store.state.chmod(0o700)


def test_a_full_disk_leaves_the_old_index_in_place(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild that cannot be written is removed; readers go on with what there was."""
    store = filled(["sloe"])
    before = store.generations()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ctxrepo.index.generation.replace", full)
    with pytest.raises(OSError, match="No space"):
        store.index.rebuild()
    store.write(f"{MONTH}/1.md", "sloe gin")
    monkeypatch.undo()
    assert store.generations() == before
    assert store.hits("sloe") == [f"{MONTH}/0.md"]


FIRST = """
import sys
sys.path.insert(0, {here!r})
from ctxrepo.index.writer import StoreIndex
from ctxrepo.index.reader import Reader, Scope
index = StoreIndex({root!r}, {state!r}, prefix="memory/me")
report = index.sync()
found = Reader(index.folder).candidates(["spruce"], Scope(places=None, agents=None, now=None), 500)
print(bool(report.rebuilt), len(found))
"""


def test_many_processes_may_open_it_for_the_first_time_at_once(store: Store) -> None:
    """One builds, the others wait and find everything."""
    for number in range(300):
        store.write(f"{MONTH}/{number}.md", f"spruce {number}")
    script = FIRST.format(here=HERE, root=str(store.root), state=str(store.state))
    children = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    answers = [child.communicate(timeout=60) for child in children]
    assert [error for _, error in answers] == [""] * 6
    assert sorted(output.split() for output, _ in answers) == [["False", "300"]] * 5 + [["True", "300"]]
    assert len(store.generations()) == 1


WRITES = """
import sys
sys.path.insert(0, {here!r})
from pathlib import Path
from ctxrepo.index.writer import StoreIndex
index = StoreIndex({root!r}, {state!r}, prefix="memory/me")
month = Path({root!r}) / "facts" / "2026-11"
for number in range(25):
    path = month / f"{{sys.argv[1]}}-{{number}}.md"
    path.write_text("crowberry")
    report = index.apply([f"facts/2026-11/{{path.name}}"], wait=60)
    assert not report.fault, report.fault
"""


def test_writers_side_by_side_lose_nothing(filled: Fill) -> None:
    """Four processes, twenty-five writes each: a hundred documents, one generation, nothing left to do."""
    store = filled(["crowberry"])
    script = WRITES.format(here=HERE, root=str(store.root), state=str(store.state))
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(number)], stderr=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    assert [child.communicate(timeout=120)[1] for child in children] == [""] * 4
    assert len(store.hits("crowberry", k=200)) == 101
    assert not store.sync()


STORM = """
import random, sys, time
sys.path.insert(0, {here!r})
from pathlib import Path
from ctxrepo.index.writer import StoreIndex
index = StoreIndex({root!r}, {state!r}, prefix="memory/me")
source = random.Random(int(sys.argv[1]))
month = Path({root!r}) / "facts" / "2026-11"
print("up", flush=True)
while True:
    name = f"{{source.randrange(12)}}.md"
    if source.random() < 0.25:
        (month / name).unlink(missing_ok=True)
    else:
        (month / name).write_text(f"cranberry version{{source.randrange(3)}}")
    if source.random() < 0.7:
        index.apply([f"facts/2026-11/{{name}}"])
    else:
        index.sync()
"""


@pytest.mark.parametrize("seed", range(12))
def test_kill_9_at_any_moment_leaves_nothing_to_repair_by_hand(filled: Fill, seed: int) -> None:
    """After the kill and one sync, the index equals the disk: no ghost, no duplicate, no stale lock."""
    store = filled(["cranberry first"])
    script = STORM.format(here=HERE, root=str(store.root), state=str(store.state))
    child = subprocess.Popen([sys.executable, "-c", script, str(seed)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    time.sleep(0.05 + seed * 0.037)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    # what a person may do between the kill and the next command
    first = store.root / MONTH / "0.md"
    first.unlink(missing_ok=True)
    store.sync()
    expected = {
        f"{MONTH}/{path.name}": path.read_text() for path in (store.root / MONTH).iterdir() if path.suffix == ".md"
    }
    reader = store.reader()
    found = reader.candidates(query_terms("cranberry"), EVERYTHING, 100)
    stored = [reader.stored(address) for address in found.addresses]
    texts = [(str(each["path"]).removeprefix("memory/me/"), each["text"]) for each in stored]
    assert sorted(texts) == sorted((path, text) for path, text in expected.items() if text)
    assert store.paths() == set(expected)
    assert not store.sync()


@pytest.mark.parametrize("moment", ["batch.tantivy_document", "generation.fingerprint"])
def test_a_batch_torn_between_its_commits_is_taken_up_again(
    filled: Fill, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Also when the file was put back meanwhile, so that its state is the one that the catalog knows."""
    store = filled(["original words"])
    target = store.root / MONTH / "0.md"
    saved = store.root / "saved"
    os.link(target, saved)
    store.write(f"{MONTH}/new.tmp", "different words").replace(target)

    def torn(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"ctxrepo.index.{moment}", torn)
    with pytest.raises(KeyboardInterrupt):
        store.sync()
    monkeypatch.undo()
    saved.replace(target)
    report = store.sync()
    assert report.rebuilt == ""
    assert store.hits("original") == [f"{MONTH}/0.md"]
    assert store.hits("different") == []

"""What the index costs at 100,000 files: to build, to keep, to ask, and how soon an edit is found.

Ratios are taken against the plain thing in the same run, so that a slow or busy machine does not decide.
"""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tantivy

from ctxrepo.index.heartbeat import is_watching
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.index.writer import StoreIndex
from ctxrepo.text.analyzer import query_terms
from ctxrepo.watch import WatchedStore, Watcher

from .corpus import memory_store, queries

pytestmark = pytest.mark.bench

COUNT = 100_000
SEGMENTS = 8
HERE = str(Path(__file__).parents[2])
COLUMNS = ("group", "turn", "kind", "created", "importance", "confidence", "length")
SCOPE = Scope(places={"*", "github.com/acme/shop"}, agents={"*", "claude-code"}, now=1_795_946_400.0)
NARROW = Scope(places={"local/garden"}, agents={"*", "codex"}, now=1_795_946_400.0)


class Large:
    """A store of `COUNT` facts with an index of at least `SEGMENTS` segments.

    Its files are links to the cached corpus: new ones may be made, old ones only replaced.
    """

    def __init__(self, base: Path) -> None:
        self.root = base / "memory" / "me"
        self.state = base / "state"
        self.index = StoreIndex(str(self.root), str(self.state), prefix="memory/me")
        source = memory_store(COUNT) / "facts"
        months = sorted(os.listdir(source))
        stops = [0, 19, 38, 57, 76, 95, 96, 97, 98, 99, 100]  # sizes that tantivy does not merge into one
        for begin, end in itertools.pairwise(stops):
            for month in months[begin:end]:
                shutil.copytree(source / month, self.root / "facts" / month, copy_function=os.link)
            self.index.sync()
        self.reader = Reader(self.index.folder)
        assert self.reader.num_docs == COUNT
        assert self.reader.num_segments >= SEGMENTS


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Large:
    return Large(tmp_path_factory.mktemp("large"))


def generation_of(large: Large) -> Path:
    return next(path for path in Path(large.index.folder).iterdir() if path.is_dir())


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[float, float, str], None]]:
    """Prints one line: ratio or figure first, then the reach, then what it is."""

    def line(figure: float, reach: float, what: str) -> None:
        with capsys.disabled():
            print(f"\n| {figure:.2f} | {reach:g} | {what} |", end="")

    yield line
    with capsys.disabled():
        print()


def milliseconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The best of some rounds, wall clock."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best * 1000


def cpu(work: Callable[[], object], rounds: int) -> float:
    """CPU milliseconds of this process, the least of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best * 1000


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def raw(searcher: tantivy.Searcher, schema: tantivy.Schema, terms: list[str], k: int) -> int:
    """What tantivy takes for the same terms and k, without scope, columns or texts."""
    clauses = [
        (tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term, index_option="freq")) for term in terms
    ]
    return len(searcher.search(tantivy.Query.boolean_query(clauses), k, count=False).hits)


def ours(reader: Reader, terms: list[str], scope: Scope, k: int) -> int:
    """The search of a recall, except for ranking: hits in scope, every column of them, ten texts."""
    found = reader.candidates(terms, scope, k)
    for name in COLUMNS:
        reader.column(name, found.addresses)
    return len([reader.stored(address) for address in found.addresses[:10]])


@pytest.mark.parametrize("k", [100, 200])
@pytest.mark.parametrize(("scope", "name"), [(SCOPE, "half of the store"), (NARROW, "3 % of it")])
def test_search(large: Large, table: Callable[[float, float, str], None], scope: Scope, name: str, k: int) -> None:
    """p50 at most 1.5 times raw tantivy with the same terms and k; p99 at most 20 ms; both cold and warm queries."""
    index = tantivy.Index.open(str(generation_of(large) / "tantivy"))
    searcher, schema = index.searcher(), index.schema
    asked = [query_terms(text) for text in queries(300)]
    first = []
    for terms in asked:
        begun = time.perf_counter()
        ours(large.reader, terms, scope, k)
        first.append((time.perf_counter() - begun) * 1000)
    ratio, middle, bare = float("inf"), 0.0, 0.0
    for _ in range(3):  # of three passes the one that other work on this machine disturbed least
        plain = [milliseconds(lambda terms=terms: raw(searcher, schema, terms, k)) for terms in asked]
        full = [milliseconds(lambda terms=terms: ours(large.reader, terms, scope, k)) for terms in asked]
        if statistics.median(full) / statistics.median(plain) < ratio:
            middle, bare = statistics.median(full), statistics.median(plain)
            ratio = middle / bare
    table(ratio, 1.5, f"search p50 {middle:.2f} ms / raw {bare:.2f} ms, k {k}, scope {name}")
    table(percentile(first, 0.99), 20, f"search p99 in ms, k {k}, each query for the first time, scope {name}")
    assert ratio <= 1.5
    assert percentile(first, 0.99) <= 20


FIRST = """
import resource, sys, time
sys.path.insert(0, {here!r})
from ctxrepo.index.writer import StoreIndex
begun, cpu = time.perf_counter(), time.process_time()
report = StoreIndex({root!r}, {state!r}, prefix="memory/me").sync(progress=lambda done, total: None)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(len(report.added) / (time.perf_counter() - begun), len(report.added) / (time.process_time() - cpu), peak)
"""


def test_first_index(tmp_path: Path, table: Callable[[float, float, str], None]) -> None:
    """At least 2,500 files a second of one core, and at most 600 MB."""
    script = FIRST.format(here=HERE, root=str(memory_store(COUNT)), state=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    wall, rate, peak = map(float, done.stdout.split())
    table(rate, 2_500, f"files a second of CPU, first index of {COUNT:,} ({wall:.0f} by the clock of this machine)")
    table(peak, 600, "MB of memory at the most")
    assert rate >= 2_500
    assert peak <= 600


def walk(root: Path) -> int:
    """`os.walk` and `os.stat`, the least that anybody can do who looks for changes."""
    return sum(os.stat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(root) for name in names)


def test_sync_with_nothing_changed(large: Large, table: Callable[[float, float, str], None]) -> None:
    """At most twice the CPU of `os.walk` and `os.stat` over the same tree, and nothing is found."""
    large.index.sync()
    found = []
    taken = cpu(lambda: found.append(bool(large.index.sync())), 7)
    plain = cpu(lambda: walk(large.root), 7)
    table(
        taken / plain,
        2,
        f"sync, nothing changed: {taken:.0f} ms / {plain:.0f} ms of os.walk + os.stat, {COUNT:,} files",
    )
    assert not any(found)
    assert taken / plain <= 2


def test_one_write_followed(large: Large, tmp_path: Path, table: Callable[[float, float, str], None]) -> None:
    """One file's way into the index costs at most twice the CPU of tantivy alone for one document, merges included."""
    month = large.root / "facts" / "2031-01"
    month.mkdir()
    shutil.copytree(generation_of(large) / "tantivy", tmp_path / "tantivy")
    index = tantivy.Index.open(str(tmp_path / "tantivy"))

    def alone(number: int) -> None:
        writer = index.writer(heap_size=15_000_000, num_threads=1)
        document = tantivy.Document()
        document.add_text("body", f"one more fact {number} 又 一 条")
        writer.delete_documents_by_term("file", 10**9 + number)
        writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    taken, plain = [], []
    for number in range(40):
        (month / f"{number}.md").write_text(f"one more fact {number} 又一条")
        before = time.process_time()
        report = large.index.apply([f"facts/2031-01/{number}.md"])
        middle = time.process_time()
        alone(number)
        taken.append((middle - before) * 1000)
        plain.append((time.process_time() - middle) * 1000)
        assert report.added
    shutil.rmtree(month)
    large.index.sync()
    ratio = statistics.median(taken) / statistics.median(plain)
    what = f"one write followed: {statistics.median(taken):.1f} ms / {statistics.median(plain):.1f} ms of tantivy alone"
    table(ratio, 2, f"{what}, at most {max(taken):.0f} / {max(plain):.0f}")
    assert ratio <= 2


def test_an_edit_is_found_soon(large: Large, tmp_path: Path, table: Callable[[float, float, str], None]) -> None:
    """From the end of a save to the first search that finds it, watcher running: p95 at most 300 ms."""
    month = large.root / "facts" / "2032-01"
    month.mkdir()

    def follow(_: str, paths: list[str] | None) -> bool:
        return bool(large.index.sync() if paths is None else large.index.apply(paths))

    seen = [0]

    def found(term: str) -> bool:
        """Whether a search finds it now; asked two hundred times a second, so it looks again only after a commit."""
        changed = (generation_of(large) / "tantivy" / "meta.json").stat().st_mtime_ns
        if changed != seen[0]:
            large.reader.refresh()
            seen[0] = changed
        return bool(large.reader.doc_freqs([term])[0])

    stores = [WatchedStore("memory/me", str(large.root))]
    watcher = Watcher(lambda: stores, str(tmp_path), follow, lambda _: None)
    thread = threading.Thread(target=watcher.run)
    thread.start()
    while not is_watching(str(tmp_path)):
        time.sleep(0.05)
    waited = []
    try:
        for number in range(60):
            target = month / f"{number % 10}.md"
            text = f"edit{number} found 找到"
            if number % 2:
                target.with_suffix(".tmp").write_text(text)
                target.with_suffix(".tmp").replace(target)
            else:
                target.write_text(text)
            begun = time.perf_counter()
            while not found(f"edit{number}"):
                assert time.perf_counter() - begun < 20
                time.sleep(0.005)
            waited.append((time.perf_counter() - begun) * 1000)
            time.sleep(0.03 * (number % 7))
    finally:
        watcher.stop()
        thread.join()
    shutil.rmtree(month)
    large.index.sync()
    table(percentile(waited, 0.95), 300, f"ms from edit to searchable, p95 (p50 {statistics.median(waited):.0f})")
    assert percentile(waited, 0.95) <= 300


COLD = """
import sys, time
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.text.analyzer import query_terms
reader = Reader({folder!r})
scope = Scope(places={{"*", "github.com/acme/shop"}}, agents={{"*", "claude-code"}}, now=time.time())
found = reader.candidates(query_terms(sys.argv[1]), scope, 200)
for name in {columns!r}:
    reader.column(name, found.addresses)
assert len([reader.stored(address) for address in found.addresses[:10]]) == 10
"""


def test_a_cold_process(large: Large, tmp_path: Path, table: Callable[[float, float, str], None]) -> None:
    """Start, open, search, read ten: the index's part of the recall hook, at most 3.3 times a bare start.

    Compiled modules are kept, as an installed package keeps them.
    """
    script = tmp_path / "cold.py"
    script.write_text(COLD.format(folder=large.index.folder, columns=COLUMNS))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"), "PYTHONPATH": HERE}

    def spent(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=True, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    prompt = "数据库 cache 部署 deploy payload"
    spent(str(script), prompt)
    bare, full = [], []
    for _ in range(25):
        bare.append(spent("-c", "pass"))
        full.append(spent(str(script), prompt))
    ratio = statistics.median(full) / statistics.median(bare)
    what = f"cold process {statistics.median(full):.0f} ms / bare start {statistics.median(bare):.0f} ms"
    table(ratio, 3.3, f"{what}, {large.reader.num_segments} segments")
    assert ratio <= 3.3


def test_a_hundred_thousand_files_in_one_folder(tmp_path: Path, table: Callable[[float, float, str], None]) -> None:
    """Folders should stay small, but one that does not is only slower."""
    root = tmp_path / "memory"
    month = root / "facts" / "2026-11"
    month.mkdir(parents=True)
    for folder, _, names in os.walk(memory_store(COUNT)):
        for name in names:
            os.link(os.path.join(folder, name), month / name)
    index = StoreIndex(str(root), str(tmp_path / "state"), prefix="memory/me")
    begun = time.process_time()
    assert len(index.sync().added) == COUNT
    table(COUNT / (time.process_time() - begun), 2_500, "files a second of CPU, all in one folder")
    assert not index.sync()

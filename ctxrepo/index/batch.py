"""One batch of changes, applied to both halves of a generation.

The order keeps them together whatever kills the process: mark the rows, commit the search index, write the rows
(see `catalog`). Files are read one after another and never held together, so 100,000 of them need no more memory
than a few. Each file is compared by content before its documents are made anew: a `git checkout` that only
touched it, or the echo of our own write, costs a read and a hash.

tantivy's writer lives as long as the batch, with one thread and, for a few files, the smallest heap it allows. It
is waited for until its merges are done: without that a merge begun after every commit dies with the writer, and
the number of segments grows for ever (41 after 40 writes; 8 at most with it, for 10 ms each).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import tantivy

from ctxrepo.index import generation as generations
from ctxrepo.index import place
from ctxrepo.index.catalog import IN_FLIGHT, Catalog, FileState
from ctxrepo.index.documents import Description, Row
from ctxrepo.index.reader import scope_name
from ctxrepo.index.schema import tantivy_document
from ctxrepo.index.source import Content, Source

Progress = Callable[[int, int], None]
"""Called with (files done, files in all)."""

_SMALL_HEAP = 15_000_000  # bytes, the least that tantivy takes
_LARGE_HEAP = 64_000_000
_FEW = 200  # files up to which the small heap will do, and contents are compared before anything is marked
_CHUNK = 1_000
_REPORT_EVERY = 0.1  # seconds between two calls of a progress callback


@dataclass(slots=True)
class Outcome:
    """Paths in the store by what became of them."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    touched: int = 0
    problems: list[str] = field(default_factory=list)


class Batch:
    """Applies changes to one generation; the caller holds the index lock."""

    def __init__(self, generation: str, catalog: Catalog, source: Source, progress: Progress | None = None) -> None:
        self._generation = generation
        self._catalog = catalog
        self._source = source
        self._progress = progress
        self._reported = 0.0
        self._scopes = generations.load_scopes(generation)
        self._numbered = len(self._scopes)
        self._writer: tantivy.IndexWriter | None = None
        self._heap = _SMALL_HEAP
        self._first_new = 0
        self._rows: list[tuple[int, FileState, Row, str]] = []
        self.outcome = Outcome()

    def apply(self, paths: Sequence[str]) -> Outcome:
        """Bring the index to what is on disk at `paths`, whatever that is.

        Args:
            paths: paths in the store, each once; what is not there (any more) is taken out.
        """
        catalog = self._catalog
        if catalog.meta("in_flight") == "1":
            paths = list(dict.fromkeys([*paths, *catalog.doubted()]))
        if len(paths) <= _FEW:
            paths = [path for path in paths if not self._is_settled(path)]
        else:
            self._heap = _LARGE_HEAP
        if not paths and catalog.meta("in_flight") == "0":
            return self.outcome
        with catalog.writing():
            self._first_new = catalog.mark(paths)
            catalog.set_meta("in_flight", "1")
        try:
            with generations.system_faults(), catalog.writing():
                for start in range(0, len(paths), _CHUNK):
                    self._take(paths[start : start + _CHUNK], start, len(paths))
                self._commit()
                catalog.set_meta("fingerprint", generations.fingerprint(self._generation))
                catalog.set_meta("in_flight", "0")
        finally:
            self._writer = None
        return self.outcome

    def _is_settled(self, path: str) -> bool:
        """Whether index and disk agree on a file; a new state with the old content is noted on the way."""
        known = self._catalog.known([path]).get(path)
        content = self._source.read(path)
        if known is None or content is None:
            return known is None and content is None
        _, old = known
        fresh = self._state(path, content)
        if old.mtime_ns == IN_FLIGHT or (old.blob, old.reviewed) != (fresh.blob, fresh.reviewed):
            return False
        if old != fresh:
            with self._catalog.writing():
                self._catalog.touch(fresh)
            self.outcome.touched += 1
        return True

    def _state(self, path: str, content: Content, base: dict[str, str] | None = None) -> FileState:
        reviewed = True
        if self._source.shared:
            if base is None:
                base = self._catalog.base_blobs([path])
            reviewed = bool(content.blob) and base.get(path) == content.blob
        return FileState(path, *content.state, content.racy, content.blob, reviewed)

    def _take(self, paths: Sequence[str], done: int, total: int) -> None:
        known = self._catalog.known(paths)
        self._rows.clear()
        base = self._catalog.base_blobs(paths) if self._source.shared else {}
        for offset, path in enumerate(paths):
            self._report(done + offset, total)
            key, old = known[path]
            content = self._source.read(path)
            if content is None:
                self._remove(path, key, old)
                continue
            fresh = self._state(path, content, base)
            if key < self._first_new and (old.blob, old.reviewed) == (fresh.blob, fresh.reviewed):
                self._catalog.touch(fresh)
                self.outcome.touched += 1
                continue
            described = self._source.describe(path, content, fresh.reviewed)
            if described.stumbled:
                fresh = replace(fresh, blob="", racy=True)
            self._replace(path, key, old, fresh, described)
        self._catalog.put(self._rows)

    def _remove(self, path: str, key: int, old: FileState) -> None:
        self._catalog.delete(path)
        if key < self._first_new:
            self._forget(key)
        if old.inode:
            self.outcome.removed.append(path)

    def _replace(self, path: str, key: int, old: FileState, fresh: FileState, found: Description) -> None:
        self._rows.append((key, fresh, found.row, found.place))
        if key < self._first_new:
            self._forget(key)
        (self.outcome.changed if old.inode else self.outcome.added).append(path)
        if found.row.problem:
            self.outcome.problems.append(path)
        if not found.documents:
            return
        scope = self._scope(scope_name(found.row.cls, found.row.status, fresh.reviewed, found.place, found.agent))
        writer = self._opened()
        for document in found.documents:
            writer.add_document(tantivy_document(document, key, scope))

    def _forget(self, key: int) -> None:
        self._opened().delete_documents_by_term("file", key)

    def _scope(self, name: str) -> int:
        number = self._scopes.get(name)
        if number is None:
            number = self._scopes[name] = len(self._scopes) + 1
        return number

    def _opened(self) -> tantivy.IndexWriter:
        if self._writer is None:
            index = tantivy.Index.open(os.path.join(self._generation, place.TANTIVY))
            self._writer = index.writer(heap_size=self._heap, num_threads=1)
        return self._writer

    def _commit(self) -> None:
        if self._writer is None:
            return
        if len(self._scopes) != self._numbered:
            generations.save_scopes(self._generation, self._scopes)
        self._writer.commit()
        self._writer.wait_merging_threads()

    def _report(self, done: int, total: int) -> None:
        if self._progress is None:
            return
        now = time.monotonic()
        if done + 1 == total or now - self._reported >= _REPORT_EVERY:
            self._reported = now
            self._progress(done + 1, total)

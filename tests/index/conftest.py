"""A private store to index: files in, names of hits out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ctxrepo.index.catalog import Entry
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.index.writer import StoreIndex, SyncReport
from ctxrepo.text.analyzer import query_terms

EVERYTHING = Scope(places=None, agents=None, now=None, statuses=None, reviewed=False)


def fact(text: str, **fields: object) -> str:
    """A fact file with these header fields; without any, a file without header."""
    if not fields:
        return text
    header = "\n".join(f"{name}: {value}" for name, value in fields.items())
    return f"---\n{header}\n---\n{text}\n"


class Store:
    """A private store under test. Paths are inside it."""

    def __init__(self, base: Path, prefix: str = "memory/me") -> None:
        self.root = base / (prefix or "team")
        self.root.mkdir(parents=True)
        self.state = base / "state"
        self.prefix = prefix
        self.index = StoreIndex(str(self.root), str(self.state), prefix=prefix)

    def write(self, path: str, content: str | bytes) -> Path:
        """Write one file; its time of modification is of an hour ago, so that only its state tells of a change."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.age(target)
        return target

    def age(self, target: Path, seconds: float = 3600) -> None:
        stat = target.stat()
        os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns - int(seconds * 10**9)))

    def sync(self) -> SyncReport:
        return self.index.sync()

    def reader(self) -> Reader:
        return Reader(self.index.folder)

    def hits(self, question: str, scope: Scope = EVERYTHING, k: int = 50) -> list[str]:
        """Paths in the store of what a question finds, best first."""
        reader = self.reader()
        found = reader.candidates(query_terms(question), scope, k)
        prefix = f"{self.prefix}/" if self.prefix else ""
        return [str(reader.stored(address)["path"]).removeprefix(prefix) for address in found.addresses]

    def entries(self) -> list[Entry]:
        with self.index.catalog() as catalog:
            return catalog.entries()

    def paths(self) -> set[str]:
        return {entry.path for entry in self.entries()}

    def problems(self) -> dict[str, str]:
        with self.index.catalog() as catalog:
            return {problem.path: problem.message for problem in catalog.problems()}

    def generations(self) -> list[str]:
        return [name for name in os.listdir(self.index.folder) if (Path(self.index.folder) / name).is_dir()]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def filled(store: Store) -> Callable[[Iterable[str]], Store]:
    """The store with one fact per text, `facts/2026-11/0.md` and so on, synced."""

    def fill(texts: Iterable[str]) -> Store:
        for number, text in enumerate(texts):
            store.write(f"facts/2026-11/{number}.md", text)
        store.sync()
        return store

    return fill

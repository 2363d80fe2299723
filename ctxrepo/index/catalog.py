"""The other half of an index: which files there are, in which state they were read, and what they are called.

SQLite answers what a search engine does not: what changed on disk since (one ordered pass over 100,000 rows takes
0.1 s), which asset an id or the tail of it names, and lists by kind, status and project. It lies in the same
generation as the tantivy index and is thrown away with it.

**Both halves agree.** A batch first marks its rows (`mtime_ns = IN_FLIGHT`, a state no file can have) and commits,
then tantivy commits, then the rows get their new state together with tantivy's opstamp. A process killed in between
leaves marked rows, which the next scan takes for changed; an opstamp that fits neither means that the halves were
torn apart (power loss, a restored backup), and the index is rebuilt.

Rejected: rows as stored tantivy documents (no update of one column, no order, no LIKE), and `synchronous=FULL`: a
cache need not survive power loss, it must only notice it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ctxrepo.index.documents import Row

IN_FLIGHT = -1
_MANY = 500  # values in one IN list
_WAIT = 10.0  # seconds for another connection's short transaction

_SCHEMA = """
CREATE TABLE file (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, racy INTEGER NOT NULL,
    blob TEXT NOT NULL, reviewed INTEGER NOT NULL,
    class TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,
    place TEXT NOT NULL, project TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, turn INTEGER NOT NULL,
    created TEXT NOT NULL, updated TEXT NOT NULL, superseded_by TEXT NOT NULL,
    problem TEXT NOT NULL, problem_line INTEGER NOT NULL
);
CREATE INDEX file_id ON file (id) WHERE id <> '';
CREATE TABLE base (path TEXT PRIMARY KEY, blob TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outcast (path TEXT PRIMARY KEY, problem TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_PUT = """UPDATE file SET mtime_ns = ?, size = ?, inode = ?, racy = ?, blob = ?, reviewed = ?, class = ?, kind = ?,
status = ?, id = ?, title = ?, place = ?, project = ?, agent = ?, session = ?, turn = ?, created = ?, updated = ?,
superseded_by = ?, problem = ?, problem_line = ? WHERE key = ?"""

_MARK = """INSERT INTO file (path, mtime_ns, size, inode, racy, blob, reviewed, class, kind, status, id, title, place,
project, agent, session, turn, created, updated, superseded_by, problem, problem_line)
VALUES (?, -1, 0, 0, 0, '', 0, '', '', '', '', '', '', '', '', '', 0, '', '', '', '', 0)
ON CONFLICT (path) DO UPDATE SET mtime_ns = -1"""

_STATE = "key, path, mtime_ns, size, inode, racy, blob, reviewed"
_ENTRY = """key, path, class, kind, status, id, title, place, project, agent, session, turn, created, updated,
superseded_by, reviewed, problem, problem_line"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file as the catalog knows it. `path` is inside the store; texts are "" where the file says nothing.

    `reviewed` is True if the default branch holds the file as it is; a private store counts as reviewed.
    """

    key: int
    path: str
    cls: str
    kind: str
    status: str
    id: str
    title: str
    place: str
    project: str
    agent: str
    session: str
    turn: int
    created: str
    updated: str
    superseded_by: str
    reviewed: bool
    problem: str
    problem_line: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is there and is not searchable, and why. `line` is 0 where there is none."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read: what `stat` said, the git blob id of its content, whether the default branch has that.

    `racy` says that the file was so young when it was read that it can have changed since without another time
    of modification; the next scan reads it again.
    """

    path: str
    mtime_ns: int
    size: int
    inode: int
    racy: bool
    blob: str
    reviewed: bool


class Catalog:
    """One open catalog. Raises `sqlite3.Error` when the file is damaged; `writer` answers with a rebuild.

    Args:
        file: the database; made if missing.
    """

    def __init__(self, file: str) -> None:
        self._db = sqlite3.connect(file, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                self._db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        except sqlite3.Error:
            self._db.close()
            raise

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, rolled back on any error."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def meta(self, name: str) -> str | None:
        """A note that belongs to this generation."""
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def set_meta(self, name: str, value: str) -> None:
        """Write such a note."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def states(self) -> Iterator[tuple[str, int, int, int, int]]:
        """(path, mtime_ns, size, inode, racy) of every file, in no order."""
        return iter(self._db.execute("SELECT path, mtime_ns, size, inode, racy FROM file"))

    def known(self, paths: Sequence[str]) -> dict[str, tuple[int, FileState]]:
        """Key and state of those of `paths` that the catalog has."""
        found = {}
        for start in range(0, len(paths), _MANY):
            some = paths[start : start + _MANY]
            for row in self._db.execute(f"SELECT {_STATE} FROM file WHERE path IN ({_marks(some)})", some):  # noqa: S608
                key, path, mtime_ns, size, inode, racy, blob, reviewed = row
                found[path] = key, FileState(path, mtime_ns, size, inode, bool(racy), blob, bool(reviewed))
        return found

    def below(self, folder: str) -> list[str]:
        """Paths of the files in a folder, at any depth; `folder` has no slash at its end."""
        rows = self._db.execute("SELECT path FROM file WHERE path > ? AND path < ?", (folder + "/", folder + "0"))
        return [path for (path,) in rows]

    def mark(self, paths: Iterable[str]) -> int:
        """Note that these are about to change; new ones get a key, which is never given twice.

        Returns:
            The smallest key that this call may have given.
        """
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'file'").fetchone()
        self._db.executemany(_MARK, ((path,) for path in paths))
        return int(row[0]) + 1 if row else 1

    def doubted(self) -> list[str]:
        """Files that a killed writer had begun with; what the index holds of them is unknown, so their content too."""
        with self.writing():
            self._db.execute("UPDATE file SET blob = '?' WHERE mtime_ns = ?", (IN_FLIGHT,))
        return [path for (path,) in self._db.execute("SELECT path FROM file WHERE mtime_ns = ?", (IN_FLIGHT,))]

    def put(self, files: Iterable[tuple[int, FileState, Row, str]]) -> None:
        """Write files that were marked: key, state, row, and the place that its scope has."""
        self._db.executemany(
            _PUT,
            (
                (
                    state.mtime_ns, state.size, state.inode, state.racy, state.blob, state.reviewed,
                    row.cls, row.kind, row.status, row.id, row.title, place, row.project, row.agent, row.session,
                    row.turn, row.created, row.updated, row.superseded_by, row.problem, row.problem_line, key,
                )
                for key, state, row, place in files
            ),
        )  # fmt: skip

    def touch(self, state: FileState) -> None:
        """Write a file's state; what it says did not change."""
        self._db.execute(
            "UPDATE file SET mtime_ns = ?, size = ?, inode = ?, racy = ?, blob = ?, reviewed = ? WHERE path = ?",
            (state.mtime_ns, state.size, state.inode, state.racy, state.blob, state.reviewed, state.path),
        )

    def delete(self, path: str) -> None:
        """Forget a file."""
        self._db.execute("DELETE FROM file WHERE path = ?", (path,))

    def base_blobs(self, paths: Sequence[str]) -> dict[str, str]:
        """Blob ids that the default branch's tree holds at those of `paths` that it has."""
        found: dict[str, str] = {}
        for start in range(0, len(paths), _MANY):
            some = paths[start : start + _MANY]
            found |= dict(self._db.execute(f"SELECT path, blob FROM base WHERE path IN ({_marks(some)})", some))  # noqa: S608
        return found

    def replace_base(self, blobs: Mapping[str, str]) -> None:
        """Take the whole tree of the default branch."""
        self._db.execute("DELETE FROM base")
        self._db.executemany("INSERT INTO base VALUES (?, ?)", blobs.items())

    def move_base(self, changed: Mapping[str, str | None]) -> None:
        """Take what changed in the tree of the default branch; None = gone."""
        self._db.executemany("DELETE FROM base WHERE path = ?", ((path,) for path in changed))
        self._db.executemany(
            "INSERT INTO base VALUES (?, ?)", ((path, blob) for path, blob in changed.items() if blob is not None)
        )

    def misjudged(self, paths: Sequence[str] | None = None) -> list[str]:
        """Readable files whose `reviewed` is no longer what a comparison with the default branch's tree gives.

        Args:
            paths: look only at these; None = all.
        """
        question = (
            "SELECT file.path FROM file LEFT JOIN base ON base.path = file.path"
            " WHERE file.blob <> '' AND file.reviewed <> (base.blob IS file.blob)"
        )
        if paths is None or len(paths) > _MANY:
            rows = self._db.execute(question)
        else:
            rows = self._db.execute(f"{question} AND file.path IN ({_marks(paths)})", list(paths))
        return [path for (path,) in rows]

    def set_outcasts(self, found: Sequence[tuple[str, str]]) -> None:
        """Replace what a scan could not even look into: (path, reason)."""
        known = self._db.execute("SELECT path, problem FROM outcast ORDER BY path").fetchall()
        if known != sorted(dict(found).items()):
            with self.writing():
                self._db.execute("DELETE FROM outcast")
                self._db.executemany("INSERT INTO outcast VALUES (?, ?)", dict(found).items())

    def count(self) -> int:
        """How many files there are."""
        return int(self._db.execute("SELECT count(*) FROM file").fetchone()[0])

    def entry(self, path: str) -> Entry | None:
        """The file with exactly this path."""
        return next(self._select("path = ?", (path,)), None)

    def find(self, name: str) -> list[Entry]:
        """Files that `name` may mean: a path, an id, or else the beginning or the tail of an id, in any case.

        One hit is the answer; several are the candidates to show; a shorter name than four characters finds
        only exact ones, because it would name half the store.
        """
        if not name or name.encode(errors="replace").decode() != name:
            return []
        exact = list(self._select("path = ? OR (id <> '' AND id = ? COLLATE NOCASE)", (name, name)))
        if exact or len(name) < 4 or not name.replace("-", "").isalnum() or not name.isascii():
            return exact
        return list(self._select("id LIKE ? OR id LIKE ?", (f"{name}%", f"%{name}")))

    def entries(
        self,
        *,
        classes: Iterable[str] = (),
        kinds: Iterable[str] = (),
        statuses: Iterable[str] = (),
        places: Iterable[str] = (),
        agents: Iterable[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Entry]:
        """Readable files, newest first, that fit every given set of values (an empty set = no condition)."""
        conditions, values = ["class <> ''", "problem = ''"], []
        for column, wanted in (
            ("class", classes),
            ("kind", kinds),
            ("status", statuses),
            ("place", places),
            ("agent", agents),
        ):
            chosen = sorted(set(wanted))
            if chosen:
                conditions.append(f"{column} IN ({', '.join('?' * len(chosen))})")
                values += chosen
        order = " ORDER BY created DESC, key DESC LIMIT ? OFFSET ?"
        return list(self._select(" AND ".join(conditions) + order, (*values, -1 if limit is None else limit, offset)))

    def problems(self) -> list[Problem]:
        """Files that are not searchable, by path."""
        rows = self._db.execute("SELECT path, problem_line, problem FROM file WHERE problem <> ''").fetchall()
        rows += self._db.execute("SELECT path, 0, problem FROM outcast").fetchall()
        return [Problem(*row) for row in sorted(rows)]

    def duplicates(self, paths: Sequence[str] | None = None) -> dict[str, list[str]]:
        """Ids that more than one file claims, with the paths, the one that was known first in front.

        Args:
            paths: look only for the ids of these files; None = all.
        """
        if paths is None or len(paths) > _MANY:
            ids, values = "SELECT id FROM file WHERE id <> '' GROUP BY id HAVING count(*) > 1", []
        else:
            ids, values = f"SELECT id FROM file WHERE id <> '' AND path IN ({_marks(paths)})", list(paths)  # noqa: S608
        rows = self._db.execute(f"SELECT id, path FROM file WHERE id <> '' AND id IN ({ids}) ORDER BY id, key", values)  # noqa: S608
        found: dict[str, list[str]] = {}
        for ident, path in rows:
            found.setdefault(ident, []).append(path)
        return {ident: claimed for ident, claimed in found.items() if len(claimed) > 1}

    def _select(self, where: str, values: Iterable[object]) -> Iterator[Entry]:
        row: list[Any]
        for found in self._db.execute(f"SELECT {_ENTRY} FROM file WHERE {where}", tuple(values)):  # noqa: S608
            row = list(found)
            row[15] = bool(row[15])
            yield Entry(*row)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))

"""Where an index lies and which of its generations counts.

    <state>/index/current            one line: the name of the generation that readers open
    <state>/index/<stamp>-<random>/  tantivy/  catalog.db  scopes.json
    <state>/index/lock               held (flock) by the one process that writes
    <state>/index/behind             a write could not be followed: the next reader syncs even if a watcher runs
    <state>/index/damaged            a reader met a fault: the next sync builds everything anew

A rebuild makes a whole new generation and then replaces `current`, so a reader sees the old index or the new
one and never half of either; files that it has mapped stay readable after their removal. The stamp holds the
version of the schema and of the analyzer: an index of another version is as good as none.

Rejected: rebuilding in place (readers see a shrinking index, and a kill leaves half), and a symbolic link for
`current` (not everywhere, and no reader gains from it).

Readers on the recall hook's path import this module; it needs `os` alone.
"""

from __future__ import annotations

import os

from ctxrepo.errors import CtxError
from ctxrepo.text.analyzer import VERSION as ANALYZER

SCHEMA = 2
"""Raise it when documents, fields or the catalog change their meaning."""

CURRENT = "current"
BEHIND = "behind"
DAMAGED = "damaged"
LOCK = "lock"
TANTIVY = "tantivy"
CATALOG = "catalog.db"
SCOPES = "scopes.json"


class IndexUnavailable(CtxError):
    """There is no usable index: never built, of another version, or damaged. A sync makes one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="ctxrepo sync")


def index_dir(state_dir: str) -> str:
    """Folder of the index of the store whose machine-local state is `state_dir`."""
    return os.path.join(state_dir, "index")


def stamp() -> str:
    """What the name of a usable generation begins with."""
    return f"{SCHEMA}.{ANALYZER}"


def current(folder: str) -> str | None:
    """Path of the generation to open in the index `folder`, or None if there is none of this version."""
    try:
        with open(os.path.join(folder, CURRENT), encoding="ascii") as handle:
            name = handle.read(80).strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not name.startswith(stamp() + "-") or os.path.basename(name) != name:
        return None
    return os.path.join(folder, name)


def mark(folder: str, what: str, reason: str) -> None:
    """Tell the next sync that the index is `BEHIND` or `DAMAGED`. Never raises: it is said where things go wrong."""
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, what), "w", encoding="utf-8", errors="replace") as handle:
            handle.write(reason)
    except OSError:
        return


def unmark(folder: str, what: str) -> bool:
    """Take a mark back and say whether there was one; done before the work, so that a later mark is kept."""
    try:
        os.unlink(os.path.join(folder, what))
    except OSError:
        return False
    return True


def is_marked(folder: str) -> bool:
    """Whether a sync is due although a watcher runs."""
    return os.path.exists(os.path.join(folder, BEHIND)) or os.path.exists(os.path.join(folder, DAMAGED))

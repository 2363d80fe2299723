"""Where an index lies and which of its generations counts.

    <state>/index/current            one line: the name of the generation that readers open
    <state>/index/<stamp>-<random>/  tantivy/  catalog.db  scopes.json
    <state>/index/lock               held (flock) by the one process that writes
    <state>/index/dirty              somebody saw a fault or could not write: check everything at the next sync

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

SCHEMA = 1
"""Raise it when documents, fields or the catalog change their meaning."""

CURRENT = "current"
DIRTY = "dirty"
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


def mark_dirty(folder: str, reason: str) -> None:
    """Ask the next sync to check everything, the index's own files included. Never raises."""
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, DIRTY), "w", encoding="utf-8") as handle:
            handle.write(reason)
    except OSError:
        return


def clear_dirty(folder: str) -> None:
    """Begin what was asked for; done before the scan, so that a mark made meanwhile is kept."""
    try:
        os.unlink(os.path.join(folder, DIRTY))
    except FileNotFoundError:
        return


def is_dirty(folder: str) -> bool:
    """Whether somebody asked for that since the last complete sync."""
    return os.path.exists(os.path.join(folder, DIRTY))

"""What consolidation and forgetting share: they run alone, and they do not repeat what a person took back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ctxrepo.errors import Conflict, Refused
from ctxrepo.store import history
from ctxrepo.store.lock import StoreLock
from ctxrepo.workspace.workspace import Workspace


@contextmanager
def alone(workspace: Workspace) -> Iterator[None]:
    """Makes sure that no other run changes the whole memory meanwhile.

    Raises:
        Refused: another one does.
    """
    store = workspace.memory_store
    lock = StoreLock(f"{workspace.layout.state_dir(store)}/consolidate.lock", f"consolidation of {store}", 0.0)
    try:
        lock.__enter__()
    except Conflict as busy:
        raise Refused(f"A consolidation of {store} is running already.", hint=busy.hint) from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def brought_back(workspace: Workspace) -> set[str]:
    """Paths that an undo of a consolidation or forgetting restored: a person wanted them so."""
    store = workspace.store(workspace.memory_store)
    found: set[str] = set()
    for entry in history.log(store, op="undo", limit=500):
        if any(word in entry.subject for word in ("memory: consolidate", "memory: forget")):
            found.update(entry.paths)
    return found

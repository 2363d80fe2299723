"""`memory purge`: a fact is gone from this machine, not only from recall.

`delete` takes a fact away and keeps it in the history, where `undo` finds it.  `purge` is for what should never have
been written down.  The store's history is rewritten without it (`ctxrepo.store.purge`), the search index is
built anew in another folder because tantivy keeps the text of deleted documents, and what lies around on this
machine (waiting turns, usage log, logs, editors' backups) is searched for its words.  The receipt says what was
done in counts and hashes, and what ctxrepo cannot reach: other facts, shared files, remotes, backups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ctxrepo.asset.ids import is_id, matching, may_name_id
from ctxrepo.errors import CtxError, NotFound, UsageFault
from ctxrepo.memory import spool, usage
from ctxrepo.memory.sieve import FactSieve
from ctxrepo.store import history, purge
from ctxrepo.store.rewriting import Receipt
from ctxrepo.store.store import Store
from ctxrepo.workspace.layout import TASKS, TEAM
from ctxrepo.workspace.workspace import Workspace

_LARGEST = 64_000_000
_INDEX = "index"


@dataclass(frozen=True, slots=True)
class _Scrubbed:
    files: int
    events: int


def purge_facts(
    workspace: Workspace,
    *refs: str,
    words: tuple[str, ...] = (),
    even_if_held: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Deletes facts for good, from every commit, reflog, index and log of this machine.

    Args:
        refs: paths, ids, or beginnings or tails of ids; a fact that was deleted before is known by its id.
        words: further texts that must be gone from this store.
        even_if_held: go on although a remote, a linked worktree or an alternate holds the old history.
        dry_run: tell what would be looked for; change nothing.

    Returns:
        The receipt: `ids`, and what `_receipt` says. It never holds the text.

    Raises:
        NotFound: neither memory nor its history knows a name. UsageFault: a name means several.
        Refused, Conflict: see `ctxrepo.store.purge.rebuild`; nothing was changed.
    """
    if not refs:
        raise UsageFault("Purge which fact?", hint="ctxrepo memory purge ID")
    name = workspace.memory_store
    store = workspace.store(name)
    ids = list(dict.fromkeys(_identify(workspace, store, ref) for ref in refs))
    if dry_run:
        return {"ids": ids, "dry_run": True, "held_by": purge.holders(store), "refused": bool(purge.holders(store))}
    workspace.snapshot(name)
    sieve = FactSieve(ids, words)
    index = workspace.index(name)
    scrubbed: list[_Scrubbed] = []
    done = purge.rebuild(
        store,
        sieve,
        subject=f"memory: purge {len(ids)} fact{'s' * (len(ids) > 1)}",
        trailers=[("Ctx-Op", "memory.purge"), ("Ctx-Actor", workspace.user), *(("Ctx-Id", ident) for ident in ids)],
        actor=workspace.user,
        now=workspace.now,
        anyway=even_if_held,
        before=lambda: scrubbed.append(_scrub(workspace, sieve)),
        follow=lambda: _renew(index),
    )
    store.clear_dirty()
    scrubbed.append(_scrub(workspace, sieve))
    workspace.compile_hook()
    return _receipt(workspace, ids, sieve, done, scrubbed)


def _receipt(
    workspace: Workspace, ids: list[str], sieve: FactSieve, done: Receipt, scrubbed: list[_Scrubbed]
) -> dict[str, Any]:
    name = workspace.memory_store
    return {
        "ids": ids,
        "commit": done.new_head,
        "old_head": done.old_head,
        "commits_rewritten": done.commits,
        "versions": sorted(done.versions),
        "files": len(done.files),
        "cleaned": [f"{name}/{path}" for path in sorted(done.cleaned)],
        "messages": done.messages,
        "objects_read": done.objects,
        "local_files": sum(each.files for each in scrubbed),
        "usage_events": sum(each.events for each in scrubbed),
        "held_by": done.holders,
        "edited_meanwhile": [f"{name}/{path}" for path in done.left],
        "also_said_in": [f"{name}/{path}" for path in sorted(sieve.kept)],
        "elsewhere": sorted(_elsewhere(workspace, sieve)),
        "note": "Ids of commits have changed; copies, backups and clones made before still hold the fact.",
    }


def _identify(workspace: Workspace, store: Store, ref: str) -> str:
    """The id that a name means, among the facts of today, else among all that the history knows."""
    try:
        found = workspace.find(ref, stores=(store.name,))
    except NotFound:
        pass
    else:
        if not found.entry.id:
            raise NotFound(f"{found.path} has no id yet.", hint="ctxrepo sync")
        return found.entry.id
    if may_name_id(ref):
        known = _ids_in_history(store)
        hits = matching(known, ref)
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise UsageFault(f"{ref!r} means {len(hits)} facts.", hint="use more characters", details=hits)
        if is_id(ref):
            return ref.upper()
    raise NotFound(f"No fact here is or was called {ref!r}.", hint="ctxrepo memory list --all")


def _ids_in_history(store: Store) -> list[str]:
    found: dict[str, None] = {}
    for entry in history.log(store, limit=1_000_000):
        found |= dict.fromkeys(value for key, value in entry.trailers if key == "Ctx-Id" and is_id(value))
    return list(found)


def _renew(index: Any) -> None:
    """Builds the index anew; when that fails, the next reader does it, for the old one is gone already."""
    with suppress(CtxError, OSError):
        index.rebuild()


def _scrub(workspace: Workspace, sieve: FactSieve) -> _Scrubbed:
    """Takes the words out of what lies around on this machine; ids out of the usage log."""
    name = workspace.memory_store
    state = workspace.layout.state_dir(name)
    events = 0
    if any(os.path.exists(os.path.join(state, log)) for log in (usage.LOG, usage.OLDER)):
        events = usage.scrub(state, lambda ident: ident.upper() in sieve.ids)
    files = 0
    for path in _local_files(workspace):
        files += _scrub_file(path, sieve)
    store = workspace.store(name)
    for untracked in store.git.run("ls-files", "--others", "-z").split(b"\0"):
        if untracked not in (b"", b".git"):
            files += _scrub_file(os.path.join(store.root, os.fsdecode(untracked)), sieve)
    return _Scrubbed(files, events)


def _local_files(workspace: Workspace) -> Iterator[str]:
    """Files of this machine that may hold a turn or a message: no other user's or store's, no index, no lock."""
    local = workspace.layout.local
    top = [os.path.join(local, name) for name in os.listdir(local)]
    yield from (path for path in top if os.path.isfile(path) and not path.endswith(".lock"))
    own = (workspace.layout.state_dir(workspace.memory_store), spool.folder_of(local, workspace.user))
    for folder, below, names in (found for each in own for found in os.walk(each)):
        below[:] = [each for each in below if each != _INDEX]
        for name in names:
            if not name.endswith(".lock") and name not in ("lock", purge.INTENT, usage.LOG, usage.OLDER):
                yield os.path.join(folder, name)


def _scrub_file(path: str, sieve: FactSieve) -> bool:
    """Writes one file anew without the words; returns whether there were any."""
    try:
        if os.path.islink(path) or os.path.getsize(path) > _LARGEST:
            return False
        with open(path, "rb") as handle:
            data = handle.read()
    except OSError:
        return False
    text = data.decode("utf-8", "surrogateescape")
    new = sieve.masked(text)
    if new == text:
        return False
    scratch = f"{path}.{os.getpid()}.tmp"
    with open(scratch, "wb") as handle:
        handle.write(new.encode("utf-8", "surrogateescape"))
    os.chmod(scratch, os.stat(path).st_mode & 0o777)
    os.replace(scratch, path)
    return True


def _elsewhere(workspace: Workspace, sieve: FactSieve) -> Iterator[str]:
    """Present files of the other stores that hold the words; those are not ours to change."""
    texts = [line for text in sieve.telling_texts() for line in text.splitlines() if line.strip()]
    if not texts:
        return
    for name in (TASKS, TEAM):
        try:
            store = workspace.store(name)
        except CtxError:
            continue
        if store.head().commit is None:
            continue
        wanted = [part for text in texts for part in ("-e", text)]
        listing = store.git.run("grep", "-l", "-z", "-I", "-F", "--full-name", *wanted, "HEAD", ok=(0, 1))
        for each in filter(None, listing.split(b"\0")):
            path = os.fsdecode(each).removeprefix("HEAD:")
            yield path if name == TEAM else f"{name}/{path}"

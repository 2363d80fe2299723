"""The tree of the team store's default branch: what counts as reviewed.

A shared asset is served as reviewed only if its file equals what the default branch holds, so the
index asks for that branch's tree.  The default branch is what the remote says it is in a clone
(`origin/HEAD`), else `main`, else the branch that HEAD is on: a workspace that never had a `main`
still has one line of history that its owner stands behind.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ctxrepo.store import refs
from ctxrepo.store.git import GitFailed
from ctxrepo.store.store import Store


def default_branch(store: Store) -> str | None:
    """The full name of the local default branch, such as `refs/heads/main`; None for a detached, branchless clone."""
    head = store.head()
    try:
        with open(f"{store.common_dir}/refs/remotes/origin/HEAD", encoding="utf-8") as handle:
            named = handle.read().strip().removeprefix("ref: refs/remotes/origin/")
        candidates = [f"refs/heads/{named}", "refs/heads/main"]
    except OSError:
        candidates = ["refs/heads/main"]
    for ref in candidates:
        if refs.read_ref(store.common_dir, ref):
            return ref
    return head.ref


class ReviewedTree:
    """The default branch's tree at the time of making this object; nothing is read before it is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        ref = default_branch(store)
        self._commit = refs.read_ref(store.common_dir, ref) if ref else None

    @property
    def id(self) -> str:
        """The commit, which names its tree; "" while there is none. A new commit with the same tree is a cheap diff."""
        return self._commit or ""

    def blobs(self) -> Mapping[str, str]:
        """Path → blob id of every file in it."""
        if not self._commit:
            return {}
        listing = self._store.git.run("ls-tree", "-r", "-z", self._commit)
        found = {}
        for line in listing.split(b"\0"):
            if line:
                meta, _, path = line.partition(b"\t")
                found[os.fsdecode(path)] = meta.split()[2].decode("ascii")
        return found

    def changed_since(self, old: str) -> Mapping[str, str | None] | None:
        """Path → blob id, None where it is gone, of all that differs from commit `old`; None if that is unknown."""
        if not self._commit:
            return None
        try:
            listing = self._store.git.run("diff-tree", "-r", "-z", "--no-renames", old, self._commit)
        except GitFailed:
            return None
        parts = listing.split(b"\0")
        found: dict[str, str | None] = {}
        for meta, path in zip(parts[::2], parts[1::2], strict=False):
            _, _, _, blob, status = meta.decode("ascii").split()
            found[os.fsdecode(path)] = None if status == "D" else blob
        return found

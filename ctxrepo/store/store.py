"""A store: one git repository with one lock, and the only way to change it.

    with store.transaction("memory.add", actor="me", subject="memory: add …") as tx:
        tx.write("facts/2026-11/a.md", b"…")

Entering takes the lock, finishes what a killed process left and makes sure that the store may be written. Leaving
commits everything at once, or nothing. Between the two no network, model or other slow thing may be waited for.

In a private store the file on disk is the truth: what was edited outside is committed first, as an operation
of its own. In the team's store it belongs to the person, who commits or proposes it; there a path
with uncommitted changes is a `Conflict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from ctxrepo.errors import Conflict
from ctxrepo.store import files, guards, operation, purge, snapshot
from ctxrepo.store.files import Change
from ctxrepo.store.repository import Repository
from ctxrepo.store.snapshot import Adopt, Report
from ctxrepo.store.tx import Tx, opening


class Store(Repository):
    """A repository of the workspace with everything that changes it."""

    @contextmanager
    def transaction(
        self,
        op: str,
        *,
        actor: str,
        agent: str | None = None,
        session: str | None = None,
        reason: str | None = None,
        subject: str | None = None,
        trailers: Iterable[tuple[str, str | None]] = (),
        now: datetime | None = None,
    ) -> Iterator[Tx]:
        """Opens a transaction; leaving it without an exception commits what was written to it.

        Args:
            op: the operation, such as `memory.add`; the trailer `Ctx-Op`.
            actor: on whose behalf; `agent`, `session` and `reason` say more, if known.
            subject: first line of the commit message; made from `op` when missing.
            trailers: further trailers; more may be added with `Tx.trailer`.
            now: time of the commit.

        Raises:
            Conflict: the lock, the index or a touched file is someone else's; nothing was written.
            Refused: see `check_writable`.
        """
        look = partial(files.read, self.root)
        tx = Tx(look, *opening(op, actor, agent, session, reason, subject, trailers))
        with self.lock:
            self.recover_under_lock()
            self.check_writable()
            yield tx
            changes = tx.changes()
            if changes:
                tx.commit_id = self._commit(changes, tx.text(), actor, now)
        if changes:
            self.tidy()

    def recover(self) -> list[str]:
        """Finishes what a killed process left behind; returns the paths that it brought up to date."""
        with self.lock:
            return self.recover_under_lock()

    def recover_under_lock(self) -> list[str]:
        """Like `recover`, for a caller that holds the lock already."""
        purge.finish_interrupted(self)
        return operation.recover(self)

    def snapshot(
        self,
        adopt: Adopt | None = None,
        *,
        paths: Iterable[str] | None = None,
        actor: str = "outside",
        now: datetime | None = None,
    ) -> Report:
        """Commits the edits made outside a private store, all in one commit.

        Args:
            adopt: given a path and its bytes, returns a completed content (id, dates), or None to leave it.
            paths: look at these only; None looks at all.
            actor: whose edits they are.

        Raises:
            Refused: see `check_writable`; a wholesale loss of files is never taken for a deletion.
        """
        if not self.private:
            raise RuntimeError("edits in the team's store are the person's to commit")
        with self.lock:
            self.recover_under_lock()
            self.check_writable()
            note = self._latest_note()
            report = snapshot.take(self, adopt=adopt, paths=paths, actor=actor, now=now)
            if report.commit:
                self.announce(report.paths)
            head = self.head().commit
            if paths is None and head is not None and not report.skipped:
                self.stage.settle(head, note)
        return report

    def _commit(self, changes: Sequence[Change], text: str, actor: str, now: datetime | None) -> str | None:
        if not self.private:
            guards.refuse_planted_paths([change.path for change in changes])
            self._check_clean(changes)
        commit = operation.commit_changes(self, changes, text, actor, now)
        if commit:
            self.announce([change.path for change in changes])
        return commit

    def _check_clean(self, changes: Sequence[Change]) -> None:
        edited = self.outside_edits([change.path for change in changes])
        existing = [change.path for change in changes if change.before is not None]
        if existing and not edited:
            tracked = operation.staged_blobs(self, existing)
            edited = [path for path in existing if path not in tracked]
        if edited:
            raise Conflict(
                f"{edited[0]} has changes that are not committed; nothing was written.",
                hint=f"git -C {self.root} status",
                details=edited[1:],
            )

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

import os
import subprocess
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial

from ctxrepo import disk
from ctxrepo.errors import Conflict, CtxError, Refused
from ctxrepo.store import fastimport, files, guards, operation, purge, refs, snapshot
from ctxrepo.store.fastimport import Signature, message, one_line
from ctxrepo.store.files import Change
from ctxrepo.store.git import Git, pathspecs
from ctxrepo.store.lock import PATIENCE, StoreLock
from ctxrepo.store.snapshot import Adopt, Report
from ctxrepo.store.stage import Stage
from ctxrepo.store.tx import Tx, opening

SNAPSHOT_SUBJECT = "snapshot: edits made outside"
_UNDER_WAY = {
    "MERGE_HEAD": ("a merge", "git merge --continue"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue"),
    "REVERT_HEAD": ("a revert", "git revert --continue"),
    "rebase-merge": ("a rebase", "git rebase --continue"),
    "rebase-apply": ("a rebase", "git rebase --continue"),
}
_GC_LOOSE = 27
_DIRTY = "dirty"
_EDITED = "edited"


class Store:
    """One git repository of the workspace.

    Args:
        root: the folder with its files.
        git_dir: its git directory (of a linked worktree: that worktree's own).
        state_dir: this machine's lock, journal and index of it; on the file system of `git_dir`.
        name: `team`, `tasks` or `memory/<user>`.
        private: whether the disk is the truth and outside edits are committed by ctxrepo.
        patience: seconds to wait for the store's lock.

    Attributes:
        after_commit: called with the changed paths, under the lock, after each commit; a failure is noted
            (`dirty`) and never fails the write.
        before_write: called before anything is written; raises what forbids it.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        git_dir: str | os.PathLike[str],
        state_dir: str | os.PathLike[str],
        name: str,
        private: bool,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.root = os.path.abspath(root)
        self.git_dir = os.path.abspath(git_dir)
        self.state_dir = os.path.abspath(state_dir)
        self.name = name
        self.private = private
        self.common_dir = refs.common_dir_of(self.git_dir)
        self.git = Git(self.git_dir, self.root)
        self.stage = Stage(self.git, self.state_dir, split=private)
        self.lock = StoreLock(f"{self.state_dir}/lock", name, patience)
        self.after_commit: list[Callable[[Sequence[str]], None]] = []
        self.before_write: list[Callable[[], None]] = []
        self._mark = f"{zlib.crc32(os.fsencode(self.git_dir)):08x}"
        self._person: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"Store({self.name!r}, {self.root!r})"

    def head(self) -> refs.Head:
        """Returns the branch HEAD is on and its commit."""
        return refs.read_head(self.git_dir, self.common_dir)

    def branch(self) -> str:
        """Returns the branch that operations commit to, as `refs/heads/…`.

        Raises:
            Refused: HEAD is detached.
        """
        head = self.head()
        if head.ref is None:
            raise Refused(
                f"HEAD of {self.name} is detached, so there is no branch to commit to.",
                hint=f"git -C {self.root} switch main",
            )
        return head.ref

    def check_writable(self) -> None:
        """Makes sure that nothing forbids a write now.

        Raises:
            Refused: detached HEAD, a merge or rebase under way, or a guard of `before_write`.
        """
        self.check_state()
        self.check_guards()

    def check_guards(self) -> None:
        """Lets each guard of `before_write` raise what forbids a write."""
        for guard in self.before_write:
            guard()

    def token(self) -> str:
        """Returns a fresh name for temporary things of this store; all of them begin alike."""
        return f"{self._mark}-{os.urandom(8).hex()}"

    def check_state(self) -> None:
        """Makes sure that git's own state allows a commit.

        Raises:
            Refused: detached HEAD, or a merge, cherry-pick, revert or rebase under way.
        """
        self.branch()
        for name, (what, way_out) in _UNDER_WAY.items():
            if os.path.lexists(f"{self.git_dir}/{name}"):
                raise Refused(
                    f"{what.capitalize()} is under way in {self.name}; finish or abort it first.",
                    hint=f"git -C {self.root} {way_out.partition(' ')[2]}",
                )

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
        os.makedirs(self.state_dir, exist_ok=True)
        purge.finish_interrupted(self)
        paths = operation.finish_interrupted(self)
        if paths:
            self.announce(paths)
        return paths

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

    def note_edits(self) -> None:
        """Notes that files were seen to have changed outside: the store is settled only after the next full snapshot.

        To be called by whoever keeps an index of the files, when it finds a difference.
        """
        os.makedirs(self.state_dir, exist_ok=True)
        disk.replace(f"{self.state_dir}/{_EDITED}", os.urandom(8).hex().encode("ascii"), shared=True)

    def settled(self) -> bool:
        """Returns whether a full snapshot left nothing and, to our knowledge, only ctxrepo has written since.

        With an index that has just been compared with the disk (and `note_edits` where it differed), a
        snapshot of a settled store can be left out: asking git costs 0.2 s of CPU at 100,000 files.
        """
        head = self.head().commit
        return head is not None and self.stage.settled(head) == self._latest_note()

    def _latest_note(self) -> str:
        try:
            with open(f"{self.state_dir}/{_EDITED}", encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def clear_scratch(self) -> None:
        """Removes what killed processes left that nobody can want; call it under the lock."""
        fastimport.clear_scratch(self.common_dir, self._mark)
        self.stage.drop_own_lock()
        ref = self.head().ref
        if ref is not None:
            refs.drop_own_lock(self.common_dir, ref, self.state_dir)

    def commit_changes(
        self,
        changes: Sequence[Change],
        text: str,
        actor: str,
        now: datetime | None = None,
        *,
        trusted: bool = False,
        untracked: Sequence[str] = (),
    ) -> str | None:
        """Commits changes whose content before is known; call it under the lock, after `check_writable`.

        Args:
            trusted: what is on disk is what shall be committed, so it is no edit from outside.
            untracked: paths that leave git although their file stays.

        Returns:
            The id of the commit, None when the branch holds it all already.
        """
        signature = self.signature(actor, now)
        prior = message(SNAPSHOT_SUBJECT, [("Ctx-Op", "snapshot"), ("Ctx-Actor", actor)])
        return operation.carry_out(
            self,
            operation.Operation(text, signature, signature, changes, prior, trusted=trusted, untracked=untracked),
        )

    def announce(self, paths: Sequence[str]) -> None:
        """Tells `after_commit` which paths have changed; a failure marks the store dirty."""
        for callback in self.after_commit:
            try:
                callback(paths)
            except Exception:  # the commit stands, whatever an index thinks of it
                self.mark_dirty(traceback.format_exc(limit=3))

    def mark_dirty(self, why: str) -> None:
        """Notes that indexes of this store may be behind."""
        with suppress(OSError), open(f"{self.state_dir}/{_DIRTY}", "a", encoding="utf-8") as file:
            file.write(why.rstrip() + "\n")

    def dirty(self) -> str | None:
        """Returns why indexes may be behind, None when they are not known to be."""
        try:
            with open(f"{self.state_dir}/{_DIRTY}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def clear_dirty(self) -> None:
        """Forgets the note of `mark_dirty`: indexes were brought up to date."""
        with suppress(FileNotFoundError):
            os.unlink(f"{self.state_dir}/{_DIRTY}")

    def move_branch(self, old: str | None, new: str, who: Signature, text: str, token: str) -> bool:
        """Moves the branch under HEAD from `old` to `new`; False when it stands elsewhere by now."""
        ref = self.branch()
        patience = self.stage.patience
        if not refs.move(self.common_dir, ref, old, new, folder=self.state_dir, token=token, patience=patience):
            return False
        refs.log_move(self.git_dir, self.common_dir, ref, old, new, who.line(), text.partition("\n")[0])
        return True

    def converted(self, contents: Mapping[str, bytes]) -> set[str]:
        """Returns the paths whose bytes git would not store as they are: line ends, filters, encodings."""
        if self.private or not contents:
            return set()
        listing = self.git.run(
            *("check-attr", "-z", "--stdin", "filter", "ident", "working-tree-encoding"),
            data=b"".join(os.fsencode(path) + b"\0" for path in contents),
        )
        words = listing.split(b"\0")
        named = {
            os.fsdecode(path)
            for path, value in zip(words[::3], words[2::3], strict=False)
            if value not in (b"unspecified", b"unset")
        }
        return named | {path for path, data in contents.items() if b"\r" in data}

    def filtered_blob(self, path: str, data: bytes) -> str:
        """Stores `data` as git would for this path (line endings, large-file filters) and returns the blob's id."""
        return self.git.run("hash-object", "-w", "--stdin", "--path", path, data=data).decode("ascii").strip()

    def signature(self, actor: str, now: datetime | None = None) -> Signature:
        """Returns who commits: the actor in a private store, in the team's the person that git knows, if any."""
        when = int(time.time() if now is None else now.timestamp())
        name, email = (None, None) if self.private else self._git_person()
        handle = "".join(one_line(actor).split()) or "unknown"
        return Signature(name or one_line(actor), email or f"{handle}@localhost", when)

    def outside_edits(self, paths: Iterable[str] | None = None) -> list[str]:
        """Returns the paths whose file differs from the branch: edited, new, deleted or staged.

        Args:
            paths: look at these only; None looks at all (0.25 s of CPU at 100,000 files).
        """
        chosen = None if paths is None else list(paths)
        if chosen == []:
            return []
        named = pathspecs(chosen or [])
        listing = self.git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", *named)
        found = [os.fsdecode(line[3:]) for line in listing.split(b"\0") if line]
        wanted = None if chosen is None or named else set(chosen)
        return found if wanted is None else [path for path in found if path in wanted]

    def tidy(self) -> None:
        """Lets git pack its loose objects in the background once there are thousands; never fails."""
        with suppress(OSError, CtxError):
            if len(os.listdir(f"{self.common_dir}/objects/17")) > _GC_LOOSE:
                self.git.run("gc", "--auto", "--quiet", ok=range(256))

    def _commit(self, changes: Sequence[Change], text: str, actor: str, now: datetime | None) -> str | None:
        if not self.private:
            guards.refuse_planted_paths([change.path for change in changes])
            self._check_clean(changes)
        commit = self.commit_changes(changes, text, actor, now)
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

    def _git_person(self) -> tuple[str, str]:
        if self._person is None:
            listing: subprocess.CompletedProcess[bytes] = self.git.result(
                "config", "--get-regexp", "-z", r"^user\.(name|email)$", ok=(0, 1)
            )
            pairs = dict(
                item.decode("utf-8", "replace").split("\n", 1) for item in listing.stdout.split(b"\0") if b"\n" in item
            )
            self._person = (
                os.environ.get("GIT_AUTHOR_NAME") or pairs.get("user.name", ""),
                os.environ.get("GIT_AUTHOR_EMAIL") or pairs.get("user.email", ""),
            )
        return self._person

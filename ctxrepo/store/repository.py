"""One repository of the workspace: where it lies, what state it is in, and what every change to it needs.

`store` builds the verbs on it (a transaction, a snapshot, recovery); what carries them out (`operation`, `snapshot`,
`purge`, `guards`) takes a `Repository`, so that it knows nothing of the verbs that call it.
"""

from __future__ import annotations

import os
import subprocess
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from ctxrepo import disk
from ctxrepo.errors import CtxError, Refused
from ctxrepo.store import fastimport, refs
from ctxrepo.store.fastimport import Signature, one_line
from ctxrepo.store.git import Git, pathspecs
from ctxrepo.store.lock import PATIENCE, StoreLock
from ctxrepo.store.stage import Stage

_UNDER_WAY = {
    "MERGE_HEAD": ("a merge", "git merge --continue"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue"),
    "REVERT_HEAD": ("a revert", "git revert --continue"),
    "rebase-merge": ("a rebase", "git rebase --continue"),
    "rebase-apply": ("a rebase", "git rebase --continue"),
}
_GC_LOOSE = 27  # files in one of 256 folders of loose objects, so about 7,000 in all: git itself packs from there on
_DIRTY = "dirty"
_EDITED = "edited"


class Repository:
    """A git repository of the workspace, with its lock and its index.

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
        return f"{type(self).__name__}({self.name!r}, {self.root!r})"

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

    def check_guards(self) -> None:
        """Lets each guard of `before_write` raise what forbids a write."""
        for guard in self.before_write:
            guard()

    def token(self) -> str:
        """Returns a fresh name for temporary things of this store; all of them begin alike."""
        return f"{self._mark}-{os.urandom(8).hex()}"

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

"""Real deletion: the history is written anew without a text, and the new repository takes the old one's place.

Cleaning does not do it: after `gc --prune=now` the text still stood in a linked worktree, in `COMMIT_EDITMSG`, in
reflogs.  So every commit streams from `fast-export` through a sieve into a fresh repository, which is read
through once more before anything counts.  Then two folders change places in one step of the system
(`renameat2`), files follow, and the old folder goes.  Other writers wait for
the store's lock meanwhile; when a person commits by hand, that commit wins and the rebuilding begins anew.

What a kill leaves is told by one file, `purge.json`: before the folders changed places everything is taken back, after
it everything is finished (`finish_interrupted`).  It names paths and hashes and never holds the text.

Ids of commits change, everything else of other files stays: authors, times, messages, order, merges, branches, tags.

Rejected: `git filter-branch` and `filter-repo` (they clean in place and leave backups), and deleting objects by hand.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime

from ctxrepo import disk
from ctxrepo.errors import Conflict, CtxError, Refused
from ctxrepo.store import files, operation, refs
from ctxrepo.store.fastimport import SCRATCH, Signature, message
from ctxrepo.store.files import ABSENT, Change, etag
from ctxrepo.store.git import Git, run_git
from ctxrepo.store.repository import Repository
from ctxrepo.store.rewriting import Receipt, Sieve, rewrite

INTENT = "purge.json"
MARKER = "ctxrepo-purge"
ATTEMPTS = 4
_KEPT = ("config", "info", "hooks", "description")
_EXCHANGE = 2


@dataclass(frozen=True, slots=True)
class _Intent:
    """What a purge is about: its token, and once all is ready the files to follow with the hash of what they held."""

    token: str
    paths: dict[str, str] = field(default_factory=dict)


def holders(store: Repository) -> list[str]:
    """What else holds this store's history: remotes, linked worktrees, repositories whose objects it borrows."""
    names = store.git.run("remote").decode("utf-8", "replace").split()
    tracking = store.git.run("for-each-ref", "--format=%(refname)", "refs/remotes/").decode("utf-8", "replace").split()
    names += [name for name in {ref.split("/")[2] for ref in tracking} if name not in names]
    found = [f"remote {name}" for name in sorted(names)]
    with suppress(OSError):
        found += [f"worktree {name}" for name in sorted(os.listdir(f"{store.common_dir}/worktrees"))]
    with suppress(OSError), open(f"{store.common_dir}/objects/info/alternates", encoding="utf-8") as file:
        found += [f"alternate {line.strip()}" for line in file if line.strip()]
    return found


def rebuild(
    store: Repository,
    sieve: Sieve,
    *,
    subject: str,
    trailers: Iterable[tuple[str, str | None]] = (),
    actor: str,
    now: datetime | None = None,
    anyway: bool = False,
    before: Callable[[], None] = lambda: None,
    follow: Callable[[], None] = lambda: None,
) -> Receipt:
    """Writes the history of a private store anew without what the sieve holds back.

    Args:
        subject, trailers: of the commit that records the purge; they must not hold the text.
        anyway: go on although something outside still holds the old history.
        before: called once the new history stands and the sieve knows everything, before anything is exchanged.
        follow: called under the store's lock once the files are gone, to build the index anew.

    Raises:
        Refused: a remote, a linked worktree or an alternate holds it; stashed changes; see `Repository.check_writable`.
        Conflict: something is staged, a touched file has uncommitted edits, or the branch kept moving; nothing changed.
        CtxError: the new repository is not what it should be; nothing changed.
    """
    with store.lock:
        finish_interrupted(store)
        operation.recover(store)
        store.check_writable()
        outside = holders(store)
        if outside and not anyway:
            raise Refused(
                f"The history of {store.name} is also held by {', '.join(outside)}; nothing was changed.",
                hint="purge it there too, then repeat with --even-if-held",
                details=outside,
            )
        if refs.read_ref(store.common_dir, "refs/stash"):
            raise Refused(
                f"Stashed changes of {store.name} may hold the text; nothing was changed.",
                hint=f"git -C {store.root} stash drop",
            )
        for _ in range(ATTEMPTS):
            receipt = _attempt(store, sieve, message(subject, trailers), store.signature(actor, now), before)
            if receipt is not None:
                break
        else:
            raise Conflict(f"The branch of {store.name} kept moving; nothing was changed.")
        receipt.holders = outside
        receipt.left = _finish(store, follow)
    return receipt


def finish_interrupted(store: Repository) -> bool:
    """Brings what a killed purge left to one end: the old state or the new one; call it under the store's lock.

    Returns:
        Whether there was something.
    """
    intent = _load(store)
    if intent is None:
        return False
    if not os.path.isdir(store.git_dir) and os.path.isdir(_fresh(store, intent.token)):
        os.rename(_fresh(store, intent.token), store.git_dir)
    if _marked(store) == intent.token:
        store.clear_scratch()
        _finish(store)
        return True
    for left in _beside(store):
        shutil.rmtree(left, ignore_errors=True)
    _forget(store)
    return True


def _attempt(store: Repository, sieve: Sieve, text: str, who: Signature, before: Callable[[], None]) -> Receipt | None:
    """Builds, compares and swaps; None when somebody committed meanwhile."""
    head = store.head()
    if head.commit is None:
        raise Refused(f"{store.name} has no history yet.")
    store.stage.wait()
    staged = store.stage.staged(head.commit)
    if staged:
        raise Conflict(
            f"{min(staged)} is staged in {store.name}; nothing was changed.",
            hint=f"git -C {store.root} commit",
        )
    standing = _refs(store)
    for left in _beside(store):
        shutil.rmtree(left, ignore_errors=True)
    token = secrets.token_hex(8)
    fresh = _fresh(store, token)
    _save(store, _Intent(token))
    try:
        _prepare(store, fresh, token)
        receipt = Receipt(head.commit)
        new = Git(fresh, store.root)
        rewrite(store.git, new, sieve, list(standing), store.branch(), receipt, text, who)
        changes = _changes(store, new, receipt)
        receipt.files = sorted({*sieve.places()} & {change.path for change in changes if change.after is None})
        new.run("read-tree", "HEAD")
        new.run("update-index", "-q", "--refresh", ok=(0, 1))
        before()
        with _git_locks(store, head.ref or "", token):
            if _refs(store) != standing:
                _take_back(store, fresh)
                return None
            _check_unedited(store, changes)
            _save(store, _Intent(token, {change.path: etag(change.before) for change in changes}))
            _swap(store.git_dir, fresh)
    except BaseException:
        if _marked(store) != token:
            _take_back(store, fresh)
        raise
    return receipt


def _take_back(store: Repository, fresh: str) -> None:
    shutil.rmtree(fresh, ignore_errors=True)
    _forget(store)


def _prepare(store: Repository, fresh: str, token: str) -> None:
    """Makes an empty repository with the settings of the old one; its place relative to the files is the same."""
    os.makedirs(fresh, mode=0o700)
    plain = {"GIT_DEFAULT_HASH": "sha1", "GIT_DEFAULT_REF_FORMAT": "files"}
    run_git("init", "--quiet", "--bare", "--template=", fresh, cwd=fresh, env=plain)
    for name in _KEPT:
        source = f"{store.git_dir}/{name}"
        if os.path.isdir(source):
            shutil.copytree(source, f"{fresh}/{name}", dirs_exist_ok=True)
        elif os.path.isfile(source):
            shutil.copy2(source, f"{fresh}/{name}")
    shutil.copy2(f"{store.git_dir}/HEAD", f"{fresh}/HEAD")
    disk.write_whole(f"{fresh}/{MARKER}", token.encode())


def _changes(store: Repository, new: Git, receipt: Receipt) -> list[Change]:
    """What has to change on disk: files that went, and those whose content was cleaned."""
    old_tree, new_tree = _tree(store.git, receipt.old_head), _tree(new, receipt.new_head)
    changes = []
    for path in sorted({*old_tree, *new_tree}):
        mode, old = old_tree.get(path, new_tree.get(path, ("", "")))[0], old_tree.get(path)
        if old == new_tree.get(path):
            continue
        before = None if old is None else store.git.run("cat-file", "blob", old[1])
        after = new.run("cat-file", "blob", new_tree[path][1]) if path in new_tree else None
        changes.append(Change(path, before, after, int(mode, 8)))
    return changes


def _tree(git: Git, commit: str) -> dict[str, tuple[str, str]]:
    found = {}
    for line in git.run("ls-tree", "-r", "-z", commit).split(b"\0"):
        if line:
            about, _, name = line.partition(b"\t")
            mode, _, blob = about.decode("ascii").split()
            found[os.fsdecode(name)] = mode, blob
    return found


def _check_unedited(store: Repository, changes: list[Change]) -> None:
    for change in changes:
        found, _ = files.read(store.root, change.path)
        if found is not None and found != change.before:
            raise Conflict(
                f"{change.path} has edits that are not committed; nothing was changed.",
                hint="ctxrepo sync",
            )


def _refs(store: Repository) -> dict[str, str]:
    """References that the new history will have, with what they stand at."""
    listing = store.git.run("for-each-ref", "--format=%(objectname) %(refname)").decode("utf-8", "surrogateescape")
    pairs = (line.split(" ", 1) for line in listing.splitlines())
    return {name: oid for oid, name in pairs if not name.startswith(("refs/remotes/", f"{SCRATCH}/"))}


@contextmanager
def _git_locks(store: Repository, ref: str, token: str) -> Iterator[None]:
    """Keeps git itself from committing for the moment of the swap.

    The locks are second names of files in our folder, so a later transaction knows those that a kill left for ours.
    """
    pairs = [
        (f"{store.state_dir}/index-{token}", f"{store.git_dir}/index.lock"),
        (f"{store.state_dir}/{refs.PREPARED}{token}", f"{store.common_dir}/{ref}.lock"),
    ]
    taken: list[str] = []
    try:
        for own, lock in pairs:
            disk.write_whole(own, b"", sync=False)
            os.makedirs(os.path.dirname(lock), exist_ok=True)
            try:
                files.link_exclusively(own, lock)
            except FileExistsError:
                raise Conflict(f"Another git command holds {lock}; nothing was changed.") from None
            taken.append(lock)
        yield
    finally:
        if _marked(store) != token:
            for lock in taken:
                with suppress(FileNotFoundError):
                    os.unlink(lock)
        for own, _ in pairs:
            with suppress(FileNotFoundError):
                os.unlink(own)


def _swap(current: str, fresh: str) -> None:
    """Lets two folders change places; in one step where the system can, else in two (`finish_interrupted` knows)."""
    if not exchange(current, fresh):
        aside = f"{fresh}-old"
        os.rename(current, aside)
        os.rename(fresh, current)
    disk.sync_folders([os.path.dirname(current)])


def exchange(one: str, other: str) -> bool:
    """Lets two paths change places in one step; False where the system or the file system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        arguments: tuple[object, ...] = (first, second, ctypes.c_uint(_EXCHANGE))
    else:
        call = getattr(library, "renameat2", None)
        here = ctypes.c_int(-100)
        arguments = (here, first, here, second, ctypes.c_uint(_EXCHANGE))
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EXDEV):
        return False
    raise OSError(code, os.strerror(code), one)


def _finish(store: Repository, follow: Callable[[], None] | None = None) -> list[str]:
    """Lets files, caches and the old folder follow the swap; returns paths that were edited in that moment."""
    intent = _load(store)
    expected = {} if intent is None else intent.paths
    left = [path for path, before in expected.items() if not _followed(store, path, before)]
    for name in ("staged.json", "journal.json", "index/current", "dirty"):
        with suppress(FileNotFoundError):
            os.unlink(f"{store.state_dir}/{name}")
    for old in _beside(store):
        shutil.rmtree(old)
    if follow is not None:
        follow()
    with suppress(FileNotFoundError):
        os.unlink(f"{store.git_dir}/{MARKER}")
    _forget(store)
    return left


def _followed(store: Repository, path: str, expected: str) -> bool:
    """Brings one file to what the new history holds, if it still is what the old one held."""
    try:
        before, mode = files.read(store.root, path)
    except CtxError:
        return False
    if before is None and expected != ABSENT:
        return True
    if etag(before) != expected:
        return False
    done = store.git.result("cat-file", "blob", f"HEAD:{path}", ok=(0, 128))
    after = done.stdout if done.returncode == 0 else None
    try:
        files.apply(store.root, [Change(path, before, after, mode)], store.token())
    except Conflict:
        return False
    return True


def _fresh(store: Repository, token: str) -> str:
    return f"{store.git_dir}.purge-{token}"


def _beside(store: Repository) -> list[str]:
    """Folders of purges beside the repository: unfinished new ones, and old ones on their way out."""
    parent, name = os.path.split(store.git_dir)
    return [f"{parent}/{each}" for each in sorted(os.listdir(parent)) if each.startswith(f"{name}.purge-")]


def _marked(store: Repository) -> str | None:
    try:
        with open(f"{store.git_dir}/{MARKER}", encoding="ascii") as file:
            return file.read()
    except OSError:
        return None


def _save(store: Repository, intent: _Intent) -> None:
    path = f"{store.state_dir}/{INTENT}"
    disk.replace(path, json.dumps(asdict(intent)).encode(), sync=True)
    disk.sync_folders([store.state_dir])


def _load(store: Repository) -> _Intent | None:
    try:
        with open(f"{store.state_dir}/{INTENT}", "rb") as file:
            return _Intent(**json.loads(file.read()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _forget(store: Repository) -> None:
    with suppress(FileNotFoundError):
        os.unlink(f"{store.state_dir}/{INTENT}")

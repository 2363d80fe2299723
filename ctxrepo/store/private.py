"""Where private stores live, how they are made, found and attached.

The files of `memory/me` stand in the team's folder, ignored by it; their git directory is
`<common git dir>/ctxrepo/stores/memory/me.git`, as those of submodules are, so that every linked worktree of the team
finds the same store and `git clean` cannot reach the history. The folder holds a one-line gitfile with a relative path:
the whole workspace may be moved. For the same reason the store's own `core.worktree` is relative.

New stores are told everything that a user's global settings could otherwise decide: branch `main`, SHA-1, files as
references, no line-ending or filter conversion (a byte written is a byte committed), no hooks from a template.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from ctxrepo import disk
from ctxrepo.errors import Conflict, CtxError, Invalid, NotFound, Refused
from ctxrepo.store import guards, refs
from ctxrepo.store.git import GitFailed, run_git
from ctxrepo.store.store import Store

PRIVATE_FOLDERS = ("memory", "tasks")
IGNORED = tuple(f"/{folder}/" for folder in PRIVATE_FOLDERS)
TEAM = "team"
_NAME = re.compile(r"tasks|memory/[^/\\\x00-\x1f]+")
_TEMPORARY = ".*.ctxrepo-tmp"
_EXCLUDE = "\n".join([_TEMPORARY, "*~", ".*.sw?", "*.swp", "4913", ".#*", "\\#*#", ".DS_Store", "._*", "Thumbs.db", ""])
_CONFIG = f"""\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tworktree = "{{worktree}}"
\tautocrlf = false
\tsafecrlf = false
\tignorecase = false
\tprecomposeunicode = true
\thooksPath = {os.devnull}
[index]
\tversion = 4
[commit]
\tgpgsign = false
[gc]
\tautodetach = true
"""


def open_team(folder: str | os.PathLike[str]) -> Store:
    """Opens the team store whose work tree `folder` is in.

    Raises:
        NotFound: no git work tree there.
    """
    start = os.path.abspath(folder)
    if not os.path.isdir(start):
        raise NotFound(f"There is no folder {start}.", hint=f"ctxrepo init {start}")
    try:
        answer = run_git("rev-parse", "--show-toplevel", "--absolute-git-dir", cwd=start)
    except GitFailed as fault:
        if "dubious ownership" in fault.output:
            raise Refused(
                f"{start} belongs to another user, so git does not open it.",
                hint=fault.details[-1].strip() if fault.details else None,
            ) from None
        raise NotFound(f"{start} is in no git work tree.", hint=f"ctxrepo init {start}") from None
    root, git_dir = os.fsdecode(answer).split("\n")[:2]
    return team_store(root, git_dir)


def team_store(root: str, git_dir: str) -> Store:
    """Returns the team store with these folders, without asking git."""
    common = refs.common_dir_of(git_dir)
    name = TEAM if os.path.samefile(common, git_dir) else f"{TEAM}@{os.path.basename(git_dir)}"
    return Store(root, git_dir, state_dir(common, name), name, private=False)


def create_team(folder: str | os.PathLike[str]) -> Store:
    """Makes `folder` a git repository with the branch `main`, or opens the one that it is already."""
    path = os.path.abspath(folder)
    os.makedirs(path, exist_ok=True)
    if not os.path.lexists(f"{path}/.git"):
        fresh = {"GIT_DEFAULT_HASH": "sha1", "GIT_DEFAULT_REF_FORMAT": "files"}
        run_git("init", "--quiet", "--initial-branch=main", path, cwd=path, env=fresh)
    team = open_team(path)
    ignore_private(team)
    return team


def ignore_private(team: Store) -> None:
    """Puts `/memory/` and `/tasks/` into the team's `info/exclude`; `.gitignore` is the second, visible belt."""
    path = f"{team.common_dir}/info/exclude"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    have = ""
    with suppress(FileNotFoundError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        have = file.read()
    new = _with_lines(have, (*IGNORED, _TEMPORARY))
    if new != have:
        disk.replace(path, new.encode("utf-8", "surrogateescape"), shared=True)


def with_private_ignored(text: str) -> str:
    """Returns the text of a `.gitignore` with the private folders in it; unchanged when they are already."""
    return _with_lines(text, IGNORED)


def _with_lines(text: str, wanted: tuple[str, ...]) -> str:
    lines = {line.strip() for line in text.splitlines()}
    missing = [line for line in wanted if line not in lines]
    if not missing:
        return text
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + "\n".join(missing) + "\n"


def create_private(
    team: Store,
    name: str,
    files: Mapping[str, bytes] | None = None,
    *,
    actor: str,
    now: datetime | None = None,
) -> Store:
    """Makes the private store `name` (`tasks`, `memory/<user>`), or completes one that a kill left half made.

    Args:
        files: what it holds from the start; existing files are kept.

    Raises:
        Invalid: not a name of a private store.
        Refused: the team's history claims that folder (see `guards`).
    """
    if not _NAME.fullmatch(name) or name.endswith(("/..", "/.")):
        raise Invalid(f"{name!r} is not the name of a private store.")
    guards.refuse_planted(main_team(team))
    ignore_private(team)
    git_dir = store_dir(team.common_dir, name)
    root = f"{base_folder(team)}/{name}"
    store = _open(team, name, root)
    with store.lock:
        if not _is_repository(git_dir):
            _make_repository(git_dir, root)
        attach(store)
    with store.transaction("init", actor=actor, subject=f"init: private store {name}", now=now) as tx:
        for path, data in (files or {}).items():
            if tx.read(path) is None:
                tx.write(path, data)
    return store


def open_private(team: Store, name: str) -> Store:
    """Opens the private store `name`.

    Raises:
        NotFound: there is none; a store whose files exist without a repository says how to mend that.
    """
    if _is_repository(store_dir(team.common_dir, name)):
        return _open(team, name, _recorded_root(team, name))
    if os.path.isdir(f"{base_folder(team)}/{name}"):
        raise NotFound(f"The folder {name} has no repository any more.", hint="ctxrepo doctor --fix")
    raise NotFound(f"There is no private store {name}.", hint="ctxrepo init . --user NAME")


def private_names(team: Store) -> list[str]:
    """Returns the names of this machine's private stores: those with a repository, then those with files only."""
    found = set(_names_with_repository(f"{team.common_dir}/ctxrepo/stores"))
    base = base_folder(team)
    if os.path.isdir(f"{base}/tasks") and not os.path.islink(f"{base}/tasks"):
        found.add("tasks")
    if not os.path.islink(f"{base}/memory"):
        with suppress(OSError), os.scandir(f"{base}/memory") as users:
            real = (user.name for user in users if user.is_dir(follow_symlinks=False))
            found |= {f"memory/{name}" for name in real if not name.startswith(".")}
    return sorted(found)


def attach(store: Store) -> None:
    """Writes the store's gitfile, so that plain git works in its folder; makes the folder when it is missing.

    Raises:
        Conflict: the folder is a repository of another kind, or no folder.
    """
    try:
        os.makedirs(store.root, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Conflict(f"A file stands where the folder {store.name} should be.", hint="ctxrepo doctor --fix") from None
    gitfile = f"{store.root}/.git"
    if os.path.isdir(gitfile) and not os.path.islink(gitfile):
        raise Conflict(f"{store.name} holds a git repository of its own.", hint=f"git -C {store.root} log")
    if guards.gitfile_of(store) != guards.wanted_gitfile(store):
        with open(f"{gitfile}.ctxrepo-tmp", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(guards.wanted_gitfile(store))
        os.replace(f"{gitfile}.ctxrepo-tmp", gitfile)


def rebuild_repository(team: Store, name: str, *, actor: str, now: datetime | None = None) -> Store:
    """Gives a store whose repository is gone or damaged a new one that holds all its files.

    A damaged repository is moved aside, for whoever can still read its history.
    """
    git_dir = store_dir(team.common_dir, name)
    if os.path.lexists(git_dir):
        move_aside(git_dir)
    store = create_private(team, name, actor=actor, now=now)
    store.snapshot(actor=actor, now=now)
    return store


def move_aside(path: str) -> str:
    """Gives a file or folder a name that nobody uses, and returns it."""
    number = 1
    while os.path.lexists(f"{path}.found-{number}"):
        number += 1
    os.rename(path, f"{path}.found-{number}")
    return f"{path}.found-{number}"


def state_dir(common_dir: str, name: str) -> str:
    """Returns where this machine keeps lock, journal and index of a store."""
    return f"{common_dir}/ctxrepo/state/{name}"


def store_dir(common_dir: str, name: str) -> str:
    """Returns the git directory of a private store."""
    return f"{common_dir}/ctxrepo/stores/{name}.git"


def base_folder(team: Store) -> str:
    """Returns the folder in which private stores have their files: the team's main work tree, else this one."""
    if os.path.basename(team.common_dir) == ".git":
        return os.path.dirname(team.common_dir)
    return team.root


def main_team(team: Store) -> Store:
    """Returns the team store of the main work tree, in which the private stores have their files."""
    if team.git_dir == team.common_dir or os.path.basename(team.common_dir) != ".git":
        return team
    return team_store(base_folder(team), team.common_dir)


def _open(team: Store, name: str, root: str) -> Store:
    store = Store(root, store_dir(team.common_dir, name), state_dir(team.common_dir, name), name, private=True)
    keeper = main_team(team)
    store.before_write.append(lambda: guards.refuse_unsafe(keeper, store))
    return store


def _recorded_root(team: Store, name: str) -> str:
    git_dir = store_dir(team.common_dir, name)
    with suppress(OSError), open(f"{git_dir}/config", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            key, _, value = line.strip().partition(" = ")
            if key == "worktree":
                plain = re.sub(r"\\(.)", r"\1", value.removeprefix('"').removesuffix('"'))
                return os.path.normpath(os.path.join(git_dir, plain))
    return f"{base_folder(team)}/{name}"


def _make_repository(git_dir: str, root: str) -> None:
    """Makes the repository beside its place and moves it there whole.

    What a killed attempt left goes first; its `git init` may still be at work, so nobody shares its name.
    """
    folder, name = os.path.split(git_dir)
    os.makedirs(folder, exist_ok=True)
    for left in os.listdir(folder):
        if left.startswith(f"{name}.new-"):
            shutil.rmtree(f"{folder}/{left}", ignore_errors=True)
    building = f"{git_dir}.new-{os.urandom(4).hex()}"
    os.makedirs(building, mode=0o700)
    fresh = {"GIT_DEFAULT_HASH": "sha1", "GIT_DEFAULT_REF_FORMAT": "files"}
    run_git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", building, cwd=building, env=fresh)
    os.makedirs(f"{building}/info", exist_ok=True)
    worktree = re.sub(r'(["\\])', r"\\\1", os.path.relpath(root, git_dir))
    for part, text in (
        ("config", _CONFIG.format(worktree=worktree)),
        ("info/exclude", _EXCLUDE),
        ("info/attributes", "* -text -ident -filter -working-tree-encoding\n"),
    ):
        with open(f"{building}/{part}", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    try:
        os.rename(building, git_dir)
    except OSError as fault:
        if not _is_repository(git_dir):
            raise CtxError(f"{git_dir} is in the way: {fault.strerror}.") from None
        shutil.rmtree(building)


def _is_repository(git_dir: str) -> bool:
    return os.path.isfile(f"{git_dir}/HEAD") and os.path.isdir(f"{git_dir}/objects")


def _names_with_repository(folder: str) -> Iterator[str]:
    if _is_repository(f"{folder}/tasks.git"):
        yield "tasks"
    with suppress(OSError), os.scandir(f"{folder}/memory") as found:
        for item in found:
            if item.name.endswith(".git") and _is_repository(item.path):
                yield f"memory/{item.name[:-4]}"

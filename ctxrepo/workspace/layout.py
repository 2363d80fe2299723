"""Where things lie: the one place that knows the folder names of a workspace.

The recall hook asks these questions at every prompt, so they are answered from the file system
alone (no git process, no pathlib).  Private stores keep their git directories, indexes, locks
and spool in the team repository's *common* git directory, as submodules do: a linked worktree
of the team store then finds the same memories, and `git clean` or a pull cannot reach them.

Rejected: state under the user's home keyed by path (a moved workspace loses it), and a
`.ctxrepo/` folder in the working tree (one more thing to ignore, and `git clean -x` eats it).
"""

from __future__ import annotations

import os

from ctxrepo.index.heartbeat import watcher
from ctxrepo.workspace.identity import config_value

TEAM = "team"
TASKS = "tasks"
MEMORY = "memory"
MARKER = "ctxrepo.yaml"
"""The file whose presence makes a folder a workspace."""


def find_root(start: str) -> str | None:
    """The nearest repository at or above `start` that holds `ctxrepo.yaml` at its top, symlinks resolved.

    A `ctxrepo.yaml` further down is a file like any other: whoever may write documents must not make a root there.
    """
    here = os.path.realpath(start)
    while True:
        if os.path.isfile(os.path.join(here, MARKER)) and os.path.lexists(os.path.join(here, ".git")):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return None
        here = parent


def current_folder() -> str:
    """The current folder, by its former name if it was deleted under us."""
    try:
        return os.getcwd()
    except OSError:
        return os.environ.get("PWD") or os.sep


def git_dirs(root: str) -> tuple[str, str] | None:
    """(git directory, common git directory) of the repository whose top is `root`, or None."""
    dot_git = os.path.join(root, ".git")
    if os.path.isfile(dot_git):
        try:
            with open(dot_git, encoding="utf-8", errors="surrogateescape") as handle:
                line = handle.readline().strip()
        except OSError:
            return None
        if not line.startswith("gitdir:"):
            return None
        git_dir = os.path.normpath(os.path.join(root, line[len("gitdir:") :].strip()))
    elif os.path.isdir(dot_git):
        git_dir = dot_git
    else:
        return None
    try:
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8", errors="surrogateescape") as handle:
            return git_dir, os.path.normpath(os.path.join(git_dir, handle.readline().strip()))
    except OSError:
        return git_dir, git_dir


class Layout:
    """The paths of one workspace.

    Args:
        root: the team store's working tree.
        git_dir: its git directory.
        common_dir: the git directory that its linked worktrees share.
    """

    def __init__(self, root: str, git_dir: str, common_dir: str) -> None:
        self.root = root
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.local = os.path.join(common_dir, "ctxrepo")

    @classmethod
    def of(cls, root: str) -> Layout | None:
        """The layout of the workspace at `root`; None where no git repository stands there."""
        dirs = git_dirs(root)
        return None if dirs is None else cls(root, *dirs)

    def store_root(self, name: str) -> str:
        """Working tree of the store `team`, `tasks` or `memory/<user>`."""
        return self.root if name == TEAM else os.path.join(self.base(name), *name.split("/"))

    def base(self, name: str) -> str:
        """The folder in which a private store's path begins: the team's main worktree.

        A bare repository has none; then the store is where it was made, in one of the worktrees, as it has noted.
        """
        if os.path.basename(self.common_dir) == ".git":
            return os.path.dirname(self.common_dir)
        git_dir = self.store_git_dir(name)
        noted = config_value(git_dir, "config", "core", None, "worktree")
        if noted is None:
            return self.root
        return os.path.normpath(os.path.join(git_dir, noted)).removesuffix(os.path.join(os.sep, *name.split("/")))

    @property
    def private_root(self) -> str:
        """The folder that holds `tasks` and, unless somebody made their store elsewhere, `memory`."""
        return self.base(TASKS)

    def store_git_dir(self, name: str) -> str:
        """Git directory of a store."""
        return self.git_dir if name == TEAM else os.path.join(self.local, "stores", *name.split("/")) + ".git"

    @property
    def team(self) -> str:
        """What the team store is called on this machine: each linked worktree has files and a branch of its own."""
        return TEAM if self.git_dir == self.common_dir else f"{TEAM}@{os.path.basename(self.git_dir)}"

    @property
    def object_format(self) -> str:
        """The hash by which the team's repository names its objects: sha1 or sha256."""
        return config_value(self.common_dir, "config", "extensions", None, "objectformat") or "sha1"

    def state_dir(self, name: str) -> str:
        """Lock, journal, index and usage log of a store, on this machine only."""
        return os.path.join(self.local, "state", *(self.team if name == TEAM else name).split("/"))

    def is_watched(self, name: str) -> bool:
        """Whether a live watcher keeps a store's index fresh; that of another worktree does not keep this team's."""
        about = watcher(self.local)
        stores = about.get("stores") if about else None
        return isinstance(stores, list) and (self.team if name == TEAM else name) in stores

    def users(self) -> list[str]:
        """Users with a private memory store here, from its git directories (a folder may be gone)."""
        stores = os.path.join(self.local, "stores", MEMORY)
        try:
            names = os.listdir(stores)
        except OSError:
            return []
        return sorted(name[: -len(".git")] for name in names if name.endswith(".git"))

    @property
    def machine_settings(self) -> str:
        """Settings of this clone on this machine, such as whose it is."""
        return os.path.join(self.local, "settings.yaml")

    @property
    def own(self) -> str:
        """Local state of this worktree alone; git removes it with the worktree."""
        return os.path.join(self.git_dir, "ctxrepo")

    def hook_config(self, user: str) -> str:
        """What the recall hook needs to know, compiled to JSON by `sync`."""
        return os.path.join(self.own, f"hook-{user}.json")


def memory_of(user: str) -> str:
    """Name of a user's private store."""
    return f"{MEMORY}/{user}"

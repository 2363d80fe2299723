"""What the watcher does with a workspace: indexes follow the files, hand edits of private stores become commits.

One watcher serves every private store of this machine, because readers of all of them trust its
heartbeat.  Team files are left for the person to commit; a moved default branch (a pull, a merge) is
noticed by its refs and changes what counts as reviewed.  Settings and purposes of knowledge bases that have
changed are compiled anew for the hooks of all users.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ctxrepo.errors import CtxError
from ctxrepo.watch.events import WatchedStore
from ctxrepo.watch.watcher import Watcher
from ctxrepo.workspace.layout import MEMORY, TASKS, TEAM, memory_of
from ctxrepo.workspace.workspace import Workspace

TEAM_FOLDERS = ("knowledge", "skills")


class Keeper:
    """The callbacks of a watcher on one workspace.

    Args:
        workspace: as opened for the person who started the watcher; opened again for the other users.
        say: called with sentences for that person.
    """

    def __init__(self, workspace: Workspace, say: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._say = say
        self._others: dict[str, Workspace] = {}
        self._seen: set[str] = set()

    def stores(self) -> Iterator[WatchedStore]:
        """The stores there are now."""
        layout = self._workspace.layout
        signals = (os.path.join(layout.common_dir, "refs", "heads"), layout.git_dir, layout.root)
        yield WatchedStore(layout.team, layout.root, TEAM_FOLDERS, signals)
        for name in (TASKS, *map(memory_of, layout.users())):
            if os.path.isdir(layout.store_git_dir(name)):
                yield WatchedStore(name, layout.store_root(name))

    def changed(self, name: str, paths: list[str] | None) -> bool:
        """Makes an index equal to its files: at some paths, or everywhere for None.

        Returns:
            Whether there may be something to save: the index changed, or somebody indexed edits before we came.
        """
        workspace, is_team = self._owner(name), name == self._workspace.layout.team
        store = TEAM if is_team else name
        report = workspace.sync(store) if paths is None else workspace.look(store, paths)
        if report.fault:
            raise CtxError(f"The index of {name} could not follow: {report.fault}", hint="ctxrepo sync")
        if is_team:
            for each in self._everyone():
                each.compile_hook()
        if not is_team and name not in self._seen:
            self._seen.add(name)
            return bool(report) or not workspace.store(name).settled()
        return bool(report)

    def rested(self, name: str) -> None:
        """Commits the hand edits of a private store once its owner has stopped typing."""
        if name == self._workspace.layout.team:
            return
        report = self._owner(name).snapshot(name)
        if report.commit:
            self._say(f"{name}: {len(report.paths)} edited files saved as {report.commit[:10]}.")
        for path, reason in report.skipped:
            self._say(f"{name}/{path} was not committed: {reason}.")

    def _owner(self, name: str) -> Workspace:
        """The workspace as the owner of that store has it open."""
        user = name.removeprefix(f"{MEMORY}/") if name.startswith(f"{MEMORY}/") else self._workspace.user
        if user == self._workspace.user:
            return self._workspace
        if user not in self._others:
            self._others[user] = Workspace(self._workspace.layout, user=user, project="*", clock=self._workspace.clock)
        return self._others[user]

    def _everyone(self) -> Iterator[Workspace]:
        for user in self._workspace.layout.users():
            yield self._owner(memory_of(user))


def keep_fresh(
    workspace: Workspace,
    *,
    poll: bool = False,
    say: Callable[[str], None] = lambda _: None,
    on_tick: Callable[[], None] = lambda: None,
) -> None:
    """Runs a watcher on the workspace until it is interrupted.

    Args:
        poll: look every few seconds instead of waiting for the system's file events.
        say: called with sentences for the person who started it.
        on_tick: called about once a second, for what has its own clock.

    Raises:
        Refused: another watcher watches this workspace.
    """
    keeper = Keeper(workspace, say)
    settings = workspace.settings
    watcher = Watcher(
        keeper.stores,
        workspace.layout.local,
        keeper.changed,
        keeper.rested,
        say,
        on_tick=on_tick,
        quiet=float(str(settings["watch.quiet_seconds"])),
        poll=poll or settings["watch.poll"] == "always",
    )
    say(f"Watching {workspace.layout.root}; stop with Ctrl-C.")
    watcher.run()

"""ctxrepo from Python: `open_workspace` gives one object with the verbs of the command line.

    from ctxrepo import open_workspace

    with open_workspace("team-context", user="me", agent="my-agent", project="billing") as repo:
        repo.memory.add("对辣菜过敏，聚餐要避开", kind="preference")
        for hit in repo.recall("周五聚餐能点辣菜吗")["results"]:
            print(hit["relevance"], hit["text"])

The command line calls these methods and prints what they return, so both do the same.  Every value
returned is made of plain dicts, lists, strings and numbers and can be written as JSON.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from ctxrepo.errors import Invalid, NotFound, UsageFault
from ctxrepo.memory import spool
from ctxrepo.memory.memory import Memory
from ctxrepo.recall import answers
from ctxrepo.text.names import confined
from ctxrepo.workspace import checking, health, history
from ctxrepo.workspace.workspace import ALL_AGENTS, Workspace, locate, whose


class ContextRepository(Workspace):
    """An open workspace with every verb; made by `open_workspace`."""

    @property
    def memory(self) -> Memory:
        """The private memory of this user."""
        return Memory(self)

    def __enter__(self) -> Self:
        return self

    def recall(
        self,
        query: str,
        *,
        knowledge: bool = False,
        classes: Sequence[str] = (),
        limit: int | None = None,
        threshold: float | None = None,
        explain: bool = False,
    ) -> dict[str, Any]:
        """What a prompt brings back. See `ctxrepo.recall.answers.recall`."""
        return answers.recall(
            self, query, knowledge=knowledge, classes=classes, limit=limit, threshold=threshold, explain=explain
        )

    def sync_all(self, progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
        """Brings every index up to date, commits hand edits, and has waiting turns captured. See `health.sync_all`."""
        done = health.sync_all(self, progress)
        if os.environ.get("CTXREPO_BACKGROUND") != "off" and spool.waiting(self.layout.local, self.user):
            from ctxrepo.memory.housework import start_worker

            start_worker(self.layout, self.user)
        return done

    def status(self) -> dict[str, Any]:
        """Whose workspace this is, what it holds and what waits for attention. See `health.status`."""
        from ctxrepo.memory.housework import is_due

        found = health.status(self)
        local = self.layout.local
        found["waiting_turns"] = len(spool.waiting(local, self.user))
        found["attention"] += [f"{path} was not captured: {reason}" for path, reason in spool.failed(local, self.user)]
        try:
            is_due(self.now, 0.0, str(self.settings["memory.nightly"]))
        except Invalid as fault:
            found["attention"].append(fault.message)
        return found

    def doctor(self, *, fix: bool = False) -> dict[str, Any]:
        """What is damaged, and mends it when told to. See `health.doctor`."""
        return health.doctor(self, fix=fix)

    def check(self, paths: Sequence[str] = (), *, staged: bool = False, between: str | None = None) -> dict[str, Any]:
        """Every problem of the assets. See `checking.check_workspace`."""
        return checking.check_workspace(self.layout, self.user, paths, staged=staged, between=between)

    def log(self, ref: str | None = None, *, limit: int = 20) -> dict[str, Any]:
        """Operations, newest first. See `history.log`."""
        return history.log(self, ref, limit=limit)

    def show(self, ref: str) -> dict[str, Any]:
        """An asset or an operation. See `history.show`."""
        return history.show(self, ref)

    def why(self, ref: str) -> dict[str, Any]:
        """Why an asset is believed. See `history.why`."""
        return history.why(self, ref)

    def undo(self, op: str) -> dict[str, Any]:
        """Undoes one operation by a new commit. See `history.undo`."""
        return history.undo(self, op)

    def watch(self, *, poll: bool = False, say: Callable[[str], None] = lambda _: None) -> None:
        """Keeps the indexes fresh until interrupted. See `ctxrepo.watch.keeping.keep_fresh`."""
        from ctxrepo.memory.housework import Steward
        from ctxrepo.watch.keeping import keep_fresh

        keep_fresh(self, poll=poll, say=say, on_tick=Steward(self).tick)


def open_workspace(
    path: str | os.PathLike[str] | None = None,
    *,
    user: str | None = None,
    agent: str = ALL_AGENTS,
    project: str | None = None,
    clock: Callable[[], float] = time.time,
    random: Callable[[int], bytes] = os.urandom,
) -> ContextRepository:
    """Opens the workspace at or above `path`.

    Args:
        path: a folder in it; None takes `CTXREPO_WORKSPACE`, else the current folder.
        user: whose private memory; None takes `CTXREPO_USER`, else this clone's user.
        agent: the agent that speaks; `*`, every agent, for a person.
        project: identity of the project; None takes that of the current folder.
        clock: gives Unix seconds.
        random: gives random bytes for ids.

    Raises:
        NotFound: no workspace there, or no private store of that user.
        UsageFault: nobody said whose memory, and there are several.
        Invalid: no name for an agent or a project.
    """
    layout = locate(path)
    owner = whose(layout, user)
    for name, what in ((agent, "agent"), (project, "project")):
        if name not in (None, "*"):
            confined(str(name), what)
    return ContextRepository(layout, user=owner, agent=agent, project=project, clock=clock, random=random)


def check_workspace(
    path: str | os.PathLike[str] | None = None,
    paths: Sequence[str] = (),
    *,
    user: str | None = None,
    staged: bool = False,
    between: str | None = None,
) -> dict[str, Any]:
    """Every problem of a workspace's assets, also where there is no private store: in CI, in a pre-commit hook.

    Args:
        path: a folder in it; None as for `open_workspace`.
        paths, staged, between: see `checking.check_workspace`.
        user: whose private stores are checked as well; None takes this clone's user, if there is one.

    Raises:
        NotFound: no workspace there, or no private store of the user who was named.
    """
    layout = locate(path)
    try:
        owner: str | None = whose(layout, user)
    except (NotFound, UsageFault):
        if user is not None:
            raise
        owner = None
    return checking.check_workspace(layout, owner, paths, staged=staged, between=between)

"""One workspace as one person sees it: its stores, their indexes, settings, and the names of assets.

This is where the layers below meet: a store commits, its index follows, the catalog finds names.
Reading brings the index up to date first (`fresh`), unless a watcher does that already.  Whoever
asks always has a user, an agent and a project; only that user's private store is ever opened.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from ctxrepo import settings as settings_tables
from ctxrepo.asset.check import Problem, unreadable
from ctxrepo.asset.fields import stamp
from ctxrepo.asset.frontmatter import FrontmatterError, decode
from ctxrepo.asset.ids import new_id
from ctxrepo.errors import Invalid, NotFound, UsageFault
from ctxrepo.index.catalog import Entry
from ctxrepo.index.place import IndexUnavailable
from ctxrepo.index.reader import Reader
from ctxrepo.index.writer import StoreIndex, SyncReport
from ctxrepo.store.guards import planted_paths
from ctxrepo.store.private import open_private, team_store
from ctxrepo.store.reviewed import ReviewedTree
from ctxrepo.store.snapshot import Report
from ctxrepo.store.store import Store
from ctxrepo.store.tx import Tx
from ctxrepo.text.names import confined
from ctxrepo.workspace import compiled
from ctxrepo.workspace.adoption import adoption
from ctxrepo.workspace.identity import project_identity
from ctxrepo.workspace.layout import MARKER, TASKS, TEAM, Layout, current_folder, find_root, memory_of

ALL_AGENTS = "*"
CHEAP_LOOK = 0.02  # seconds of CPU that a look through a store may cost at every read
REST = 20
VARIABLE = "CTXREPO_WORKSPACE"


@dataclass(frozen=True, slots=True)
class Found:
    """An asset that a name meant: the store it lies in and its row of the catalog."""

    store: str
    entry: Entry

    @property
    def path(self) -> str:
        """Path in the workspace."""
        return self.entry.path if self.store == TEAM else f"{self.store}/{self.entry.path}"


class Workspace:
    """An open workspace.

    Args:
        layout: where things lie.
        user: whose private store is meant.
        agent: who speaks; `*` for a person.
        project: identity of the project; `*` sees what holds everywhere only.
        clock: Unix seconds; an argument so that tests and replays can repeat themselves.
        random: source of random bytes for ids.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        user: str,
        agent: str = ALL_AGENTS,
        project: str | None = None,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.layout = layout
        self.user = user
        self.agent = agent
        self.clock = clock
        self.random = random
        self.settings, self.settings_problems = load_settings(layout)
        fixed = self.settings["project"]
        self.project = project or project_identity(current_folder(), fixed=str(fixed) if fixed else None)
        self._stores: dict[str, Store] = {}
        self._indexes: dict[str, StoreIndex] = {}
        self._readers: dict[str, Reader] = {}
        self._rests_until: dict[str, float] = {}

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self._readers.clear()

    @property
    def now(self) -> datetime:
        """The clock's time, UTC."""
        return datetime.fromtimestamp(self.clock(), UTC)

    def stamp(self) -> str:
        """The clock's time as every asset writes it: RFC 3339, UTC, to the second."""
        return stamp(self.now)

    def new_id(self) -> str:
        """A new ULID of this moment."""
        return new_id(self.clock(), self.random)

    @property
    def memory_store(self) -> str:
        """Name of this user's private store."""
        return memory_of(self.user)

    def store_names(self) -> tuple[str, str, str]:
        """The stores this user sees."""
        return self.memory_store, TASKS, TEAM

    def store(self, name: str) -> Store:
        """The store of that name, whose commits its index follows.

        Raises:
            NotFound: it does not exist (yet), or its repository is gone.
        """
        if name not in self._stores:
            team = team_store(self.layout.root, self.layout.git_dir)
            store = team if name == TEAM else open_private(team, name)
            index = self.index(name)
            store.after_commit.append(lambda paths: self._follow(store, index, paths))
            self._stores[name] = store
        return self._stores[name]

    def index(self, name: str) -> StoreIndex:
        """The index of a store."""
        if name not in self._indexes:
            folders = ("knowledge", "skills") if name == TEAM else ("",)
            self._indexes[name] = StoreIndex(
                self.layout.store_root(name),
                self.layout.state_dir(name),
                prefix="" if name == TEAM else name,
                folders=folders,
                shared=name == TEAM,
                algorithm=self.layout.object_format if name == TEAM else "sha1",
            )
        return self._indexes[name]

    def reader(self, name: str) -> Reader:
        """The index of a store as it is now, for searching; built first if there is none or it turns out damaged."""
        self.fresh(name)
        try:
            return self._read(name)
        except IndexUnavailable:
            self.sync(name)
            return self._read(name)

    def _read(self, name: str) -> Reader:
        if name in self._readers:
            self._readers[name].refresh()
        else:
            self._readers[name] = Reader(self.index(name).folder)
        return self._readers[name]

    def fresh(self, name: str) -> None:
        """Brings the index of a store up to date, unless a running watcher keeps it so.

        Looking through 100,000 files costs 0.3 s, too much for each of many searches in one process. Where it has
        proved dear and found nothing, it is left out for `REST` times as long, so that it takes a twentieth of the
        time at most. The first two looks of a process, those of a small store and those after a write that
        the index could not follow are never left out.
        """
        rests = self.layout.is_watched(name) or time.monotonic() < self._rests_until.get(name, 0.0)
        if rests and not self.index(name).is_behind():
            return
        begun = time.thread_time()
        report = self.sync(name)
        cost = time.thread_time() - begun
        dear = cost > CHEAP_LOOK and not report and name in self._rests_until
        self._rests_until[name] = time.monotonic() + (REST * cost if dear else 0.0)

    def sync(self, name: str, progress: Callable[[int, int], None] | None = None) -> SyncReport:
        """Compares a store's files with its index and applies the difference; commits nothing."""
        store = self.store(name)
        report = self._own(name).sync(self._reviewed(store), progress=progress)
        if report and store.private:
            store.note_edits()
        if store.dirty() and not report.fault:
            store.clear_dirty()
        if name in (TEAM, self.memory_store):
            self.compile_hook()
        return report

    def look(self, name: str, paths: Sequence[str]) -> SyncReport:
        """Does what `sync` does at some paths of a store, for a watcher that was told of them."""
        report = self._own(name).apply(paths)
        if report and name != TEAM:
            self.store(name).note_edits()
        return report

    def _own(self, name: str) -> StoreIndex:
        """The index of a store, to which what a commit of the team's planted there is absent."""
        index = self.index(name)
        if name != TEAM:
            index.leave_out(planted_paths(self.store(TEAM)))
        return index

    def compile_hook(self) -> None:
        """Writes what the recall hook needs to know, if it has changed; settings count as they are now."""
        settings, _ = load_settings(self.layout)
        try:
            with self.index(TEAM).catalog() as catalog:
                bases = compiled.knowledge_bases(self.layout.root, catalog)
        except IndexUnavailable:
            bases = []
        compiled.write_if_changed(self.layout.hook_config(self.user), compiled.hook_config(self.user, settings, bases))

    @contextmanager
    def transaction(
        self,
        name: str,
        op: str,
        *,
        subject: str,
        reason: str | None = None,
        session: str | None = None,
        trailers: Mapping[str, str] | None = None,
    ) -> Iterator[Tx]:
        """Opens a transaction of this user and agent on a store. See `Store.transaction`."""
        agent = None if self.agent == ALL_AGENTS else self.agent
        opened: AbstractContextManager[Tx] = self.store(name).transaction(
            op,
            actor=self.user,
            agent=agent,
            session=session,
            reason=reason,
            subject=subject,
            trailers=list((trailers or {}).items()),
            now=self.now,
        )
        with opened as tx:
            yield tx

    def find(self, ref: str, *, stores: tuple[str, ...] | None = None) -> Found:
        """The one asset that `ref` names: a path, an id, or the beginning or tail of an id.

        Raises:
            NotFound: nothing answers to it.
            UsageFault: several do; they stand in the details.
        """
        found: list[Found] = []
        for name in stores or self.store_names():
            self.fresh(name)
            with self.index(name).catalog() as catalog:
                for spelling in self._spellings(ref, name):
                    found += [Found(name, entry) for entry in catalog.find(spelling)]
        distinct = {(hit.store, hit.entry.path): hit for hit in found}
        if not distinct:
            raise NotFound(f"Nothing here is called {ref!r}.", hint="ctxrepo memory list --all")
        if len(distinct) > 1:
            raise UsageFault(
                f"{ref!r} means {len(distinct)} assets.",
                hint="use more characters of the id, or the path",
                details=[f"{hit.entry.id or '(no id)'}  {hit.path}  {hit.entry.title}" for hit in distinct.values()],
            )
        return next(iter(distinct.values()))

    def read(self, found: Found) -> bytes:
        """The bytes of an asset's file.

        Raises:
            NotFound: it has gone in this moment.
        """
        try:
            with open(os.path.join(self.layout.store_root(found.store), found.entry.path), "rb") as handle:
                return handle.read()
        except FileNotFoundError:
            raise NotFound(f"{found.path} is gone.", hint=f"ctxrepo log {found.path}") from None

    def snapshot(self, name: str, *, scan: bool = True) -> Report:
        """Commits what was edited by hand in a private store, completing files that lack an id or dates.

        Args:
            name: the store.
            scan: False when `sync` has compared its files in this moment.
        """
        if scan:
            self.sync(name)
        if self.store(name).settled():
            return Report(None)
        with self.index(name).catalog() as catalog:
            adopt = adoption(name, self.layout.store_root(name), catalog, new_id=self.new_id, now=self.stamp())
            return self.store(name).snapshot(adopt=adopt, actor=self.user, now=self.now)

    def _spellings(self, ref: str, name: str) -> Iterator[str]:
        """What `ref` may be called inside a store: itself, and the path that it means from here."""
        root = self.layout.store_root(name)
        yield ref
        if "\0" in ref:
            return
        for base in (current_folder(), self.layout.private_root, self.layout.root):
            path = os.path.relpath(os.path.realpath(os.path.join(base, ref)), os.path.realpath(root))
            if not path.startswith("..") and path != ref:
                yield path.replace(os.sep, "/")

    def _reviewed(self, store: Store) -> ReviewedTree | None:
        return ReviewedTree(store) if store.name.startswith(TEAM) else None

    def _follow(self, store: Store, index: StoreIndex, paths: Sequence[str]) -> None:
        report = index.apply(paths, self._reviewed(store))
        if report.fault:
            store.mark_dirty(report.fault)


def load_settings(layout: Layout) -> tuple[dict[str, object], list[Problem]]:
    """The settings that hold here, and what is wrong in the three files they come from."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    files = {
        "workspace": os.path.join(layout.root, MARKER),
        "user": os.path.join(home, "ctxrepo", "settings.yaml"),
        "machine": layout.machine_settings,
    }
    layers: list[Mapping[str, object]] = []
    problems: list[Problem] = []
    for scope, path in files.items():
        try:
            with open(path, "rb") as handle:
                text = decode(handle.read())
        except FileNotFoundError:
            continue
        except FrontmatterError as err:
            problems.append(unreadable(err, path))
            continue
        values, faults = settings_tables.load(text, scope, MARKER if scope == "workspace" else path)
        layers.append(values)
        problems += faults
    return settings_tables.merge(*layers), problems


def locate(path: str | os.PathLike[str] | None) -> Layout:
    """The workspace at `path`, else the one that `CTXREPO_WORKSPACE` names, else the one around the current folder.

    Raises:
        NotFound: there is none.
        Invalid: its path is no text; git, JSON and the search index all need one.
    """
    start = os.fspath(path) if path is not None else os.environ.get(VARIABLE) or current_folder()
    root = find_root(start)
    layout = Layout.of(root) if root else None
    if layout is None:
        if os.path.isfile(os.path.join(start, MARKER)):
            raise NotFound(f"{start} holds plain files and is not a workspace yet.", hint=f"ctxrepo init {start}")
        raise NotFound(
            f"There is no workspace at or above {start}.",
            hint=f"name it with --workspace DIR or {VARIABLE}, or make one: ctxrepo init DIR --user NAME",
        )
    try:
        layout.root.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"The path of the workspace, {layout.root!a}, is no UTF-8 text.", hint="rename that folder"
        ) from None
    return layout


def whose(layout: Layout, user: str | None) -> str:
    """Whose memory is meant: as named, else by `CTXREPO_USER`, else this clone's user, else the only one.

    A folder whose repository is gone counts, so that `doctor --fix` can give it one.

    Raises:
        UsageFault: nobody said, and there are several or none.
        NotFound: that user has no private store here.
    """
    named = user or os.environ.get("CTXREPO_USER") or load_settings(layout)[0]["user"]
    users = layout.users()
    if not named:
        if len(users) == 1:
            return users[0]
        raise UsageFault(
            "Whose memory? This clone names no user.",
            hint=f"ctxrepo init {layout.root} --user NAME",
            details=[f"ctxrepo … --user {each}" for each in users],
        )
    name = confined(str(named), "user")
    if name not in users and not os.path.isdir(layout.store_root(memory_of(name))):
        raise NotFound(f"User {name!r} has no private store here.", hint=f"ctxrepo init {layout.root} --user {name}")
    return name

"""Watch the files of a workspace and say which store changed; what that means is the callbacks' business.

    watcher = Watcher(stores, local, on_change, on_quiet, say)
    watcher.run()        # until SIGTERM, SIGINT or stop()

**One watcher per workspace.** It holds `watch.lock` for its life and beats in `watch.json` (see `index.heartbeat`).

**Events are hints.** Editors write in place, write beside and rename, delete and create; git replaces thousands of
files; folders move. All of it becomes "look at this path", collected until it is quiet for a moment, and the index
compares with the disk. Many paths, and every sign that something was missed, become "look at everything"; a full look
once a minute catches what gave no sign. Where the system gives no events, full looks every few seconds do the work.

Rejected: a daemon that serves searches (ports, start order, and nothing works when it is down), and committing on
each event (a commit per saved keystroke; `on_quiet` comes when the person has stopped).
"""

from __future__ import annotations

from ctxrepo.watch.events import WatchedStore
from ctxrepo.watch.watcher import Watcher

__all__ = ["WatchedStore", "Watcher"]

"""When which memory was recalled, and whether it was used: a log of this machine, not a commit per prompt.

One JSON object a line, keys as the GenAI conventions of OpenTelemetry name them, so that an exporter is a
mapping; of a prompt only a checksum is kept.  A line is appended by one `write` under a short lock, so any
number of processes may record at once; a reader skips a line that a dying process left torn.  The log is
bounded: full, it becomes `usage.1.jsonl` and the one before that is dropped.  Consolidation folds it into the
facts (`uses`, `last_used`) and remembers nothing itself: an event no newer than a fact's `last_used` counts no
more.

The recall hook loads this at every prompt, so it imports what the interpreter has loaded anyway.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

LOG = "usage.jsonl"
OLDER = "usage.1.jsonl"
_LOCK = "usage.lock"
BYTES = 4_000_000
"""Size at which the log starts anew; two of them are kept."""

SEARCHED = "search_memory"
USED = "use_memory"
_TRIES, _NAP = 5, 0.002


def record(
    folder: str,
    *,
    ids: Iterable[str],
    prompt_hash: str = "",
    session: str = "",
    turn: str = "",
    store: str = "",
    agent: str = "",
    host: str = "",
    injected_chars: int = 0,
    truncated: bool = False,
    duration_ms: float = 0.0,
    now: float | None = None,
    limit: int = BYTES,
) -> None:
    """Notes one recall; never raises for a full disk or a missing right, because no recall may fail for it.

    Args:
        folder: `layout.state_dir` of the private store.
        ids: of the facts that were brought, best first.
        prompt_hash: `hash_of` the prompt.
        now: Unix seconds.
        limit: bytes at which the log starts anew.
    """
    chosen = list(ids)
    event: dict[str, Any] = {"ts": _stamp(now), "event": SEARCHED, "gen_ai.operation.name": SEARCHED}
    details = {
        "gen_ai.conversation.id": session,
        "ctxrepo.turn.id": turn,
        "ctxrepo.agent": agent,
        "ctxrepo.host": host,
        "gen_ai.memory.store.id": store,
        "ctxrepo.prompt.hash": prompt_hash,
    }
    event.update({key: value for key, value in details.items() if value})
    event["gen_ai.memory.record.count"] = len(chosen)
    event["ctxrepo.record.ids"] = chosen
    event["ctxrepo.injected.chars"] = injected_chars
    event["ctxrepo.truncated"] = truncated
    event["duration_ms"] = round(duration_ms, 1)
    _append(folder, event, limit)


def used(folder: str, ids: Iterable[str], *, session: str = "", now: float | None = None, limit: int = BYTES) -> None:
    """Notes that an answer made use of recalled facts."""
    event = {"ts": _stamp(now), "event": USED, "gen_ai.conversation.id": session, "ctxrepo.record.ids": list(ids)}
    _append(folder, event, limit)


def read(folder: str) -> Iterator[dict[str, Any]]:
    """Events, oldest first; torn and foreign lines are skipped."""
    for name in (OLDER, LOG):
        try:
            with open(os.path.join(folder, name), "rb") as handle:
                lines = handle.read().split(b"\n")
        except OSError:
            continue
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and isinstance(event.get("ctxrepo.record.ids"), list):
                yield event


def counts(folder: str) -> dict[str, list[tuple[float, bool]]]:
    """For each id its events in order: (Unix seconds, whether it was used in an answer)."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for event in read(folder):
        moment = _seconds(event.get("ts"))
        if moment is not None:
            for ident in event["ctxrepo.record.ids"]:
                found.setdefault(str(ident), []).append((moment, event.get("event") == USED))
    return found


def scrub(folder: str, is_gone: Callable[[str], bool], prompts: Collection[str] = ()) -> int:
    """Takes ids out of the log, and events of some prompt hashes; returns how many events changed."""
    changed = 0
    with _Lock(folder, tries=1000):
        for name in (OLDER, LOG):
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as handle:
                    lines = handle.read().split(b"\n")
            except OSError:
                continue
            kept = []
            for line in filter(None, lines):
                new = _scrubbed(line, is_gone, prompts)
                changed += new != line
                if new:
                    kept.append(new + b"\n")
            scratch = f"{path}.{os.getpid()}.tmp"
            with open(scratch, "wb") as handle:
                handle.writelines(kept)
            os.replace(scratch, path)
    return changed


def hash_of(prompt: str) -> str:
    """A checksum that tells whether two recalls were for the same prompt, and nothing of its words."""
    from zlib import crc32

    return f"{crc32(prompt.encode('utf-8', 'replace')):08x}"


class _Lock:
    """The log's lock, held for one append; a holder that takes too long is not waited for."""

    def __init__(self, folder: str, tries: int = _TRIES) -> None:
        self._folder = folder
        self._tries = tries
        self._fd = -1

    def __enter__(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        self._fd = os.open(os.path.join(self._folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(self._tries):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_NAP)
            else:
                return

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _append(folder: str, event: dict[str, Any], limit: int) -> None:
    line = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "replace")
    path = os.path.join(folder, LOG)
    try:
        with _Lock(folder):
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(fd).st_size
                if size and size + len(line) > limit:
                    os.replace(path, os.path.join(folder, OLDER))
                    os.close(fd)
                    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
                os.write(fd, line)
            finally:
                os.close(fd)
    except OSError:
        return


def _scrubbed(line: bytes, is_gone: Callable[[str], bool], prompts: Collection[str]) -> bytes:
    try:
        event = json.loads(line)
        ids = event["ctxrepo.record.ids"]
    except (ValueError, KeyError, TypeError):
        return b""
    if event.get("ctxrepo.prompt.hash") in prompts:
        return b""
    left = [ident for ident in ids if not is_gone(str(ident))]
    if left == ids:
        return line
    if not left:
        return b""
    event["ctxrepo.record.ids"] = left
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _stamp(now: float | None) -> str:
    moment = time.time() if now is None else now
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
    return f"{whole}.{int(moment * 1000) % 1000:03}Z"


def _seconds(stamp: object) -> float | None:
    if not isinstance(stamp, str) or len(stamp) < 20:
        return None
    try:
        from calendar import timegm

        whole = timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S"))
        return whole + (float(stamp[19:-1]) if stamp[19] == "." else 0.0)
    except ValueError:
        return None

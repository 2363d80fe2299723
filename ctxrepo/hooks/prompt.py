"""The recall hook: a prompt on stdin, the memories that matter to it on stdout.

This runs at every prompt of an agent, so it costs little more than starting Python: no click, no git,
no YAML, no pathlib; what it must know about the workspace, `sync` has compiled to one JSON file.

It must never stand in the agent's way.  Whatever goes wrong (no workspace, no index, a broken settings
file, a full disk, garbage or nothing on stdin, a stdin that never closes) it prints nothing and exits
0, and the reason goes to a small log beside the index.  On success it prints exactly one JSON object.

Freshness: the hook does not scan.  A watcher keeps the index current; without one the hook starts a
detached `ctxrepo sync` for the next prompt, at most every few seconds.  What it is about to show it
compares with the file, so that a memory deleted or edited a moment ago is not quoted from the index.
Rejected: syncing in the hook (a late answer is worse than a slightly stale one), and a resident
server (ports, start order, and a hook that blocks when the server is down).
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxrepo.workspace.layout import Layout

STDIN_SECONDS = 2.0
"""How long to wait for a payload at most."""

QUIET_SECONDS = 0.05
"""A payload that parses after this much silence is complete, even if stdin stays open."""

GIVE_UP_SECONDS = 2.7
"""How long everything may take."""

PAYLOAD_BYTES = 32_000_000
LOG_BYTES = 64_000
SYNC_SECONDS = 15.0
MACHINE_SOURCES = ("system", "loop_wakeup", "schedule_wakeup", "poll_event")
_BOM = b"\xef\xbb\xbf"
_MACHINE_MADE = ("[Request interrupted by user", "This session is being continued from a previous conversation")
EVENTS = {("claude-code", "user-prompt-submit"): "UserPromptSubmit"}
"""(host, event on the command line) → the name the host expects in the answer."""


def main(arguments: list[str]) -> int:
    """Answers one hook event; always returns 0."""
    local: list[str] = []
    recalled: dict[str, Any] = {}
    _thread.start_new_thread(_give_up, ())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a library that panics speaks there, whatever we catch
    try:
        answer = respond(arguments, sys.stdin.buffer.fileno(), local, recalled)
        if answer:
            _print(answer)
        if recalled:
            from ctxrepo.memory import usage

            prompt = recalled.pop("prompt")
            usage.record(**recalled, prompt_hash=usage.hash_of(prompt))
    except BaseException as fault:
        _log(local, fault)
    return 0


def _give_up() -> None:
    """Ends the process when something hangs: the lock of a stopped writer, a pipe in place of a file, a dead mount."""
    time.sleep(GIVE_UP_SECONDS)
    os._exit(0)


def respond(arguments: list[str], stdin: int, local: list[str], recalled: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to one event, or None.

    Args:
        arguments: `HOST EVENT --workspace DIR [--user U]`.
        stdin: file descriptor that brings the payload.
        local: receives the workspace's local state folder as soon as it is known (for the error log).
        recalled: receives what the usage log should hold, once something was recalled.
    """
    names, options = _parse(arguments)
    event = EVENTS.get((names[0], names[1])) if len(names) == 2 else None
    if event is None or os.environ.get("CTXREPO_HOOK") == "off":
        return None
    payload = json.loads(read_payload(stdin).removeprefix(_BOM).decode("utf-8", "replace"))
    if not isinstance(payload, dict) or not wants_recall(payload):
        return None
    prompt = payload["prompt"]

    from ctxrepo.workspace.layout import Layout, current_folder, find_root

    root = find_root(options.get("workspace") or os.environ.get("CTXREPO_WORKSPACE") or current_folder())
    layout = Layout.of(root) if root else None
    if layout is None:
        return None
    local.append(layout.local)
    user = _user(layout, options)
    if user is None:
        return None
    config = _config(layout, user)
    _freshen(layout, user, ready=config is not None)
    if config is None:
        return None

    from ctxrepo.recall.engine import prompt_recall
    from ctxrepo.recall.fence import injection
    from ctxrepo.workspace.identity import project_identity

    cwd = payload["cwd"] if isinstance(payload.get("cwd"), str) else current_folder()
    session_root = os.environ.get("CLAUDE_PROJECT_DIR") or cwd
    project = project_identity(cwd, fixed=config["settings"]["project"], session_root=session_root)
    hits, bases = prompt_recall(layout, config, prompt, agent=names[0], project=project, now=time.time())
    settings = config["settings"]
    context = injection(hits, bases, max_size=settings["recall.max_chars"], max_tokens=settings["recall.max_tokens"])
    if not context:
        return None
    if hits:
        recalled |= {
            "folder": layout.state_dir(f"memory/{user}"),
            "ids": [str(hit.get("id", "")) for hit in hits],
            "prompt": prompt,
            "session": str(payload.get("session_id", "")),
            "turn": str(payload.get("prompt_id", "")),
            "agent": names[0],
            "injected_chars": len(context),
        }
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def wants_recall(payload: dict[str, Any]) -> bool:
    """Whether a person may have written this prompt: not a command, a notification, a summary, another agent."""
    prompt = payload.get("prompt")
    if not isinstance(prompt, str) or payload.get("source") in MACHINE_SOURCES or payload.get("agent_id"):
        return False
    text = prompt.lstrip()
    if not text or text.startswith(_MACHINE_MADE):
        return False
    first = text[:80].split(None, 1)[0]
    if first.startswith("/"):
        return "/" in first[1:]  # a path; the name of a command has no second one
    if first.startswith("<"):
        tag = first[1:].partition(">")[0]
        return not (tag[:1].islower() and tag.replace("-", "").replace("_", "").isalnum())
    return True


def read_payload(stdin: int) -> bytes:
    """Everything on `stdin`, or the complete JSON object after which it fell silent.

    Raises:
        TimeoutError: nothing complete came in time.
    """
    if os.name == "nt":  # select() takes only sockets there
        return sys.stdin.buffer.read(PAYLOAD_BYTES)
    from select import select

    received = bytearray()
    end = time.monotonic() + STDIN_SECONDS
    while len(received) < PAYLOAD_BYTES:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no complete payload within {STDIN_SECONDS} s ({len(received)} bytes came)")
        ready, _, _ = select([stdin], [], [], min(left, QUIET_SECONDS) if received else left)
        if ready:
            chunk = os.read(stdin, 1 << 20)
            if not chunk:
                break
            received += chunk
        elif received.rstrip().endswith(b"}") and _is_json(received):
            break
    return bytes(received)


def _is_json(data: bytearray) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _parse(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """Positional arguments and `--name value` / `--name=value` options."""
    names: list[str] = []
    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            options[name] = value if equals else next(rest, "")
        else:
            names.append(argument)
    return names, options


def _user(layout: Layout, options: dict[str, str]) -> str | None:
    """Whose memory: as named, else this clone's user, else the only one here; None if that is nobody's here."""
    users = layout.users()
    named = options.get("user") or os.environ.get("CTXREPO_USER") or _machine_user(layout.machine_settings)
    if named:
        return named if named in users else None
    return users[0] if len(users) == 1 else None


def _config(layout: Layout, user: str) -> dict[str, Any] | None:
    """The compiled configuration of `user`; None where there is none that can be used."""
    try:
        with open(layout.hook_config(user), encoding="utf-8") as handle:
            config = json.load(handle)
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(config, dict) and config.get("user") == user and {"settings", "bases"} <= config.keys()
    return config if whole else None


def _machine_user(path: str) -> str | None:
    """The `user:` line of this machine's settings, without a YAML parser."""
    try:
        with open(path, encoding="utf-8") as handle:
            lines = handle.read(LOG_BYTES).split("\n")
    except OSError:
        return None
    names = [
        line.removeprefix("user:").partition("#")[0].strip(" \t\r\"'") for line in lines if line.startswith("user:")
    ]
    return names[0] if names else None


def _freshen(layout: Layout, user: str, *, ready: bool) -> None:
    """Starts a detached sync unless a watcher keeps everything fresh; what prevents it costs no answer."""
    if os.environ.get("CTXREPO_BACKGROUND") == "off" or not hasattr(os, "posix_spawn"):
        return
    try:
        if not (ready and layout.is_watched(f"memory/{user}") and layout.is_watched("team")):
            os.makedirs(layout.own, exist_ok=True)
            _start_sync(layout.root, user, os.path.join(layout.own, "sync-asked"))
    except OSError as fault:
        _log([layout.local], fault)


def _start_sync(root: str, user: str, stamp: str) -> None:
    """Starts `ctxrepo sync` in the background, the first of many hooks at once and then none for `SYNC_SECONDS`.

    `-P` keeps Python from importing what lies in the current folder, which is the project of somebody else.
    """
    from fcntl import LOCK_EX, LOCK_NB, flock

    handle = os.open(stamp, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        flock(handle, LOCK_EX | LOCK_NB)
        seen = os.fstat(handle)
        if seen.st_size and 0 <= time.time() - seen.st_mtime < SYNC_SECONDS:
            return
        os.ftruncate(handle, 0)
        os.write(handle, b"asked\n")
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        call = [sys.executable, "-P", "-m", "ctxrepo", "sync", "--quiet", "--workspace", root, "--user", user]
        actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in (0, 1, 2)]
        os.posix_spawn(sys.executable, call, os.environ, file_actions=actions, setsid=True)
    except BlockingIOError:
        return  # another hook starts one in this moment
    finally:
        os.close(handle)


def _print(answer: dict[str, Any]) -> None:
    """One line of UTF-8 JSON, whatever the locale; a reader that has gone is no error."""
    data = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        return


def _log(local: list[str], fault: BaseException) -> None:
    """Notes why the hook stayed silent, in a file that never grows beyond `LOG_BYTES`.

    Only the system's messages and our own are written: those of a library may repeat the prompt.
    """
    from ctxrepo.errors import CtxError

    where = fault.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else "?"
    message = f": {fault}" if isinstance(fault, (OSError, CtxError, json.JSONDecodeError)) else ""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {type(fault).__name__} at {place}{message[:2000]}\n"
    try:
        path = os.path.join(local[0], "hook-errors.log")
        mode = "a" if os.path.exists(path) and os.path.getsize(path) < LOG_BYTES else "w"
        with open(path, mode, encoding="utf-8", errors="replace") as handle:
            handle.write(line)
    except (OSError, IndexError):
        pass

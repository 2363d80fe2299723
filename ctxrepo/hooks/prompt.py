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

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STDIN_SECONDS = 2.0
"""How long to wait for a payload at most."""

QUIET_SECONDS = 0.05
"""A payload that parses after this much silence is complete, even if stdin stays open."""

PAYLOAD_BYTES = 32_000_000
LOG_BYTES = 64_000
SYNC_SECONDS = 15.0
MACHINE_SOURCES = ("system", "loop_wakeup", "schedule_wakeup", "poll_event")
_MACHINE_MADE = ("[Request interrupted by user", "This session is being continued from a previous conversation")
EVENTS = {("claude-code", "user-prompt-submit"): "UserPromptSubmit"}
"""(host, event on the command line) → the name the host expects in the answer."""


def main(arguments: list[str]) -> int:
    """Answers one hook event; always returns 0."""
    local: list[str] = []
    try:
        answer = respond(arguments, sys.stdin.buffer.fileno(), local)
        if answer:
            _print(answer)
    except BaseException as fault:
        _log(local, f"{type(fault).__name__}: {fault}")
    return 0


def respond(arguments: list[str], stdin: int, local: list[str]) -> dict[str, Any] | None:
    """The answer to one event, or None.

    Args:
        arguments: `HOST EVENT --workspace DIR [--user U]`.
        stdin: file descriptor that brings the payload.
        local: receives the workspace's local state folder as soon as it is known (for the error log).
    """
    names, options = _parse(arguments)
    event = EVENTS.get((names[0], names[1])) if len(names) == 2 else None
    if event is None or os.environ.get("CTXREPO_HOOK") == "off":
        return None
    payload = json.loads(read_payload(stdin).decode("utf-8", "replace"))
    prompt = payload.get("prompt")
    if not isinstance(prompt, str) or not wants_recall(prompt, payload.get("source")):
        return None

    from ctxrepo.workspace.layout import Layout, find_root

    root = find_root(options.get("workspace") or os.environ.get("CTXREPO_WORKSPACE") or os.getcwd())
    layout = Layout.of(root) if root else None
    if layout is None:
        return None
    local.append(layout.local)
    config = _config(layout, options.get("user"))
    if config is None:
        return None
    _freshen(layout, config)

    from ctxrepo.recall.engine import prompt_recall
    from ctxrepo.recall.fence import injection
    from ctxrepo.workspace.identity import project_identity

    cwd = payload.get("cwd") if isinstance(payload.get("cwd"), str) else os.getcwd()
    session_root = os.environ.get("CLAUDE_PROJECT_DIR") or cwd
    project = project_identity(cwd, fixed=config["settings"]["project"], session_root=session_root)
    hits, bases = prompt_recall(config, prompt, agent=names[0], project=project, now=time.time())
    settings = config["settings"]
    context = injection(hits, bases, max_size=settings["recall.max_chars"], max_tokens=settings["recall.max_tokens"])
    if not context:
        return None
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def wants_recall(prompt: str, source: object) -> bool:
    """Whether a person may have written this prompt: not a command, a notification or a summary."""
    if source in MACHINE_SOURCES or not prompt.strip():
        return False
    text = prompt.lstrip()
    if text.startswith("<"):
        tag = text[1:65].partition(">")[0].partition(" ")[0].strip()
        return not (tag[:1].islower() and tag.replace("-", "").replace("_", "").isalnum())
    return not text.startswith(("/", *_MACHINE_MADE))


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


def _config(layout: Any, user: str | None) -> dict[str, Any] | None:
    """The compiled configuration of `user`, or of the only user here; starts a sync where there is none."""
    users = [user] if user else layout.users()
    if len(users) != 1:
        user = _machine_user(layout.machine_settings)
        users = [user] if user else []
    if not users:
        return None
    try:
        with open(layout.hook_config(users[0]), encoding="utf-8") as handle:
            config: dict[str, Any] = json.load(handle)
    except (OSError, ValueError):
        _start_sync(layout.root, users[0], os.path.join(layout.local, "sync-asked"))
        return None
    return config


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


def _freshen(layout: Any, config: dict[str, Any]) -> None:
    """Starts a detached sync unless a watcher runs or one was asked for a moment ago."""
    from ctxrepo.index.heartbeat import is_watching

    if not is_watching(layout.local):
        _start_sync(layout.root, config["user"], os.path.join(layout.local, "sync-asked"))


def _start_sync(root: str, user: str, stamp: str) -> None:
    """Starts `ctxrepo sync` in the background; the stamp file keeps prompts from starting one each."""
    if os.environ.get("CTXREPO_BACKGROUND") == "off" or not hasattr(os, "posix_spawn"):
        return
    try:
        if time.time() - os.stat(stamp).st_mtime < SYNC_SECONDS:
            return
    except OSError:
        pass
    with open(stamp, "w", encoding="ascii"):
        pass
    null = os.open(os.devnull, os.O_RDWR)
    call = [sys.executable, "-m", "ctxrepo", "sync", "--quiet", "--workspace", root, "--user", user]
    actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in (0, 1, 2)]
    os.posix_spawn(sys.executable, call, os.environ, file_actions=actions, setsid=True)
    os.close(null)


def _print(answer: dict[str, Any]) -> None:
    """One line of UTF-8 JSON, whatever the locale; a reader that has gone is no error."""
    data = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    while data:
        data = data[os.write(1, data) :]


def _log(local: list[str], text: str) -> None:
    """Notes why the hook stayed silent, in a file that never grows beyond `LOG_BYTES`."""
    try:
        path = os.path.join(local[0], "hook-errors.log")
        mode = "a" if os.path.exists(path) and os.path.getsize(path) < LOG_BYTES else "w"
        with open(path, mode, encoding="utf-8", errors="replace") as handle:
            handle.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text[:2000]}\n")
    except (OSError, IndexError):
        pass

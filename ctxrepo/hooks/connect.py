"""Connecting an agent host: our hooks in its settings file, and out again without a trace.

A host is a row of data: where its settings lie, which of its events we answer. The command that goes into
the settings is absolute, so that it works without an activated environment, and names the workspace,
because an agent works in a project folder and the workspace is usually another one. By these two things,
`hook <host>` and the workspace, our own entries are known again.

Scope `project` writes the file that a team commits, `local` the one beside it that stays on this machine,
`user` the one in the home folder. A settings file that is a symbolic link is edited at its target
(dotfile managers link them). The file is replaced in one step, and only if it still is what was read.
"""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ctxrepo.errors import Invalid, NotFound, Refused, UsageFault
from ctxrepo.hooks.jsontext import JsonFault
from ctxrepo.hooks.settings_file import Entry, add_hooks, remove_hooks
from ctxrepo.store import files


@dataclass(frozen=True, slots=True)
class Host:
    """What ctxrepo knows about an agent host."""

    settings: Mapping[str, str]  # scope → path below the project folder, or below the home folder for `user`
    events: Mapping[str, str]  # the host's event → its name in `ctxrepo hook HOST EVENT`
    timeout: int  # seconds that the host waits for us, in the host's unit


HOSTS: Mapping[str, Host] = {
    "claude-code": Host(
        settings={
            "project": ".claude/settings.json",
            "local": ".claude/settings.local.json",
            "user": ".claude/settings.json",
        },
        events={"UserPromptSubmit": "user-prompt-submit"},
        timeout=10,
    ),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What connecting or disconnecting does to one settings file."""

    path: str  # as the host knows it
    before: bytes | None  # None: no file
    after: bytes | None

    @property
    def is_empty(self) -> bool:
        """Whether everything is already as it should be."""
        return self.before == self.after

    def diff(self) -> str:
        """Returns a unified diff, empty when nothing changes."""
        old, new = ((data or b"").decode("utf-8").splitlines(keepends=True) for data in (self.before, self.after))
        old_name, new_name = (os.devnull if data is None else self.path for data in (self.before, self.after))
        parts = difflib.unified_diff(old, new, old_name, new_name)
        return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def connect(
    host: str,
    *,
    workspace: str,
    scope: str = "project",
    folder: str = ".",
    command: str | None = None,
    user: str | None = None,
    dry_run: bool = False,
) -> Change:
    """Puts our hooks into a host's settings; connecting twice changes nothing.

    Args:
        host: a key of `HOSTS`.
        workspace: the workspace that the host's prompts shall recall from.
        scope: `project`, `local` or `user`.
        folder: the project folder, for the scopes that lie in one.
        command: absolute path of `ctxrepo`; by default the one that is running.
        user: whose memory, where the workspace holds that of several.
        dry_run: only say what would change.

    Raises:
        Invalid: the settings file is no JSON, or not what the host reads; it was not touched.
        Refused: it cannot be read or written. Conflict: it changed in this moment.
        NotFound: no such host. UsageFault: no such scope.
    """
    row = _row(host)
    place = os.path.realpath(workspace)
    call = shlex.quote(command) if command else installed_command()
    entries = []
    for event, name in row.events.items():
        line = f"{call} hook {host} {name} --workspace {shlex.quote(place)}"
        line += f" --user {shlex.quote(user)}" if user else ""
        entries.append(Entry(event, {"type": "command", "command": line, "timeout": row.timeout}))
    return _edit(
        settings_path(host, scope, folder), lambda text: add_hooks(text, entries, _ours(host, place)), dry_run=dry_run
    )


def disconnect(
    host: str, *, workspace: str | None = None, scope: str = "project", folder: str = ".", dry_run: bool = False
) -> Change:
    """Takes out what `connect` put in, and nothing else; for every workspace when none is named. Raises as it does."""
    is_ours = _ours(host, os.path.realpath(workspace) if workspace else None)
    return _edit(settings_path(host, scope, folder), lambda text: remove_hooks(text, is_ours), dry_run=dry_run)


def settings_path(host: str, scope: str, folder: str) -> str:
    """The absolute path of a host's settings file in a scope. Raises NotFound, UsageFault."""
    row = _row(host)
    if scope not in row.settings:
        raise UsageFault(f"{host} has no scope {scope!r}.", hint=f"Use one of: {', '.join(row.settings)}.")
    return os.path.join(os.path.realpath(os.path.expanduser("~") if scope == "user" else folder), row.settings[scope])


def installed_command() -> str:
    """The shell words that start this very installation, whatever PATH says later."""
    beside = os.path.join(os.path.dirname(sys.executable), "ctxrepo")
    for path in (sys.argv[0], beside):
        if os.path.basename(path) == "ctxrepo" and os.access(path, os.X_OK):
            return shlex.quote(os.path.abspath(path))
    return f"{shlex.quote(sys.executable)} -m ctxrepo"


def _row(host: str) -> Host:
    try:
        return HOSTS[host]
    except KeyError:
        raise NotFound(f"There is no host {host!r}.", hint=f"Known hosts: {', '.join(HOSTS)}.") from None


def _ours(host: str, workspace: str | None) -> Callable[[str], bool]:
    """Tells our commands from those of others: `… hook HOST … --workspace W …`."""
    _row(host)

    def is_ours(command: str) -> bool:
        try:
            words = shlex.split(command)
        except ValueError:
            return False
        pairs = list(pairwise(words))
        if ("hook", host) not in pairs:
            return False
        if workspace is not None:
            return ("--workspace", workspace) in pairs
        return os.path.basename(words[words.index("hook") - 1]) in ("ctxrepo", "ctx")

    return is_ours


def _edit(path: str, change_text: Callable[[str | None], str | None], *, dry_run: bool) -> Change:
    try:
        before = _read(path)
        text = change_text(None if before is None else _decode(path, before))
        change = Change(path, before, None if text is None else _encode(path, text))
        if not dry_run and not change.is_empty:
            _write(change)
    except JsonFault as fault:
        raise _invalid(path, fault.line, fault.message) from fault
    except OSError as fault:
        raise Refused(f"{path} cannot be edited: {fault.strerror}.", hint=f"ls -l {shlex.quote(path)}") from fault
    return change


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _decode(path: str, data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _invalid(path, 1, "the file is UTF-16; agents read UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise _invalid(path, data.count(b"\n", 0, fault.start) + 1, "not UTF-8") from fault


def _encode(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"A path that is not UTF-8 cannot be written into {path}.") from None


def _invalid(path: str, line: int, message: str) -> Invalid:
    return Invalid(
        f"{path} was not touched, because it cannot be understood.",
        hint=f"Mend line {line}, then run the command again.",
        details=[f"{path}:{line}: {message}"],
    )


def _write(change: Change) -> None:
    """Replaces the file at the end of its links; folders that only held it go and come with it."""
    real = os.path.realpath(change.path)
    root, name = os.path.split(real)
    if os.path.basename(root).startswith(".") and root == os.path.dirname(change.path):
        root, folder = os.path.split(root)
        name = f"{folder}/{name}"
    files.apply(root, [files.Change(name, change.before, change.after)], f"connect-{os.getpid()}")

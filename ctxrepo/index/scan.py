"""What lies on disk: every candidate file of a store with what `stat` says, and what could not be looked into.

One pass with `os.scandir`, about the cost of `os.walk` with a `stat` per file. Never entered: hidden folders
(`.git`, `.obsidian`), repositories inside the store (they are stores of their own), and symbolic links: one that
leads outside would make foreign files searchable, one that leads inside would make every file appear twice.

A file name that is not UTF-8 cannot be an asset's path (git, JSON and YAML all want text); it is reported.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterable
from dataclasses import dataclass, field

SUFFIX = ".md"
State = tuple[int, int, int]
"""mtime_ns, size, inode."""


@dataclass(slots=True)
class Scan:
    """`files`: path in the store → state. `outcasts`: (path, reason), the path made printable."""

    files: dict[str, State] = field(default_factory=dict)
    outcasts: list[tuple[str, str]] = field(default_factory=list)


def scan(root: str, folders: Iterable[str] = ("",)) -> Scan:
    """Everything below `root` (or only its `folders`) that could be an asset."""
    found = Scan()
    pending = [f"{folder}/" if folder else "" for folder in folders]
    while pending:
        prefix = pending.pop()
        try:
            _scan_folder(root, prefix, found, pending)
        except FileNotFoundError:
            continue
        except OSError as err:
            found.outcasts.append((_printable(prefix.rstrip("/")), f"The folder cannot be read: {err.strerror}."))
    return found


def _scan_folder(root: str, prefix: str, found: Scan, pending: list[str]) -> None:
    files: dict[str, State] = {}
    folders: list[str] = []
    with os.scandir(os.path.join(root, prefix)) as entries:
        for entry in entries:
            name = entry.name
            if name == ".git" and prefix:
                return
            if name[0] == ".":
                continue
            path = prefix + name
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not name.endswith(SUFFIX) and not entry.is_symlink():
                continue
            if not name.isascii() and not is_utf8(name):
                found.outcasts.append((_printable(path), "The name is not valid UTF-8; rename the file."))
            elif is_folder:
                folders.append(path + "/")
            elif entry.is_symlink():
                if name.endswith(SUFFIX) or entry.is_dir():
                    found.outcasts.append((path, "This is a symbolic link; links are not followed."))
            else:
                state = _state(entry)
                if state is not None:
                    files[path] = state
    found.files.update(files)
    pending += folders


def _state(entry: os.DirEntry[str]) -> State | None:
    try:
        seen = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino) if modes.S_ISREG(seen.st_mode) else None


def look(root: str, path: str) -> State | None:
    """The state of one file, None if there is no regular file whose every folder is a real folder of the store."""
    at = root
    for part in path.split("/")[:-1]:
        at = f"{at}/{part}"
        if part.startswith(".") or os.path.islink(at) or os.path.lexists(f"{at}/.git"):
            return None
    try:
        seen = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return None
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino) if modes.S_ISREG(seen.st_mode) else None


def is_utf8(name: str) -> bool:
    """Whether a name or path can be written as UTF-8; what cannot is found, and reported, by a full look."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")

"""What an operation is about to do, on disk before it does it.

One file per store, written whole, forced to disk, and removed when files, index and branch have all moved. Whoever
finds one holds the lock of a process that died and finishes its work (`Store.recover`). The journal holds the new
contents themselves: a power cut may take git's loose objects, and half of a multi-file operation must not stay.

It is no second history: the git log is the only one.
"""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field

from ctxrepo import disk
from ctxrepo.store.fastimport import Signature
from ctxrepo.store.files import Change

NAME = "journal.json"


@dataclass(frozen=True, slots=True)
class Intent:
    """One operation: `new` is the commit made for it, `ref` the branch that is to move from `old` to it.

    `snapshot` names the paths whose content before was an edit from outside, `prior` its message.
    """

    token: str
    ref: str
    old: str | None
    new: str
    text: str
    author: Signature
    committer: Signature
    changes: list[Change]
    prior: str = ""
    snapshot: list[str] = field(default_factory=list)


def save(folder: str, intent: Intent) -> None:
    """Writes the journal; on return a kill does not lose it.

    It is forced to disk if several files are to change: a single one is whole after a power cut as well.
    """
    value = {
        "token": intent.token,
        "ref": intent.ref,
        "old": intent.old,
        "new": intent.new,
        "text": intent.text,
        "author": [intent.author.name, intent.author.email, intent.author.when],
        "committer": [intent.committer.name, intent.committer.email, intent.committer.when],
        "changes": [[item.path, _packed(item.before), _packed(item.after), item.mode] for item in intent.changes],
        "prior": intent.prior,
        "snapshot": intent.snapshot,
    }
    several = len(intent.changes) > 1
    disk.replace(f"{folder}/{NAME}", json.dumps(value).encode("utf-8", "surrogatepass"), sync=several)
    if several:
        disk.sync_folders([folder])


def load(folder: str) -> Intent | None:
    """Returns what a killed process left, None when it left nothing.

    A journal that a power cut has emptied counts as none: it was that of a single file, which is whole without it.
    """
    try:
        with open(f"{folder}/{NAME}", "rb") as file:
            value = json.loads(file.read().decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        return None
    except ValueError:
        clear(folder)
        return None
    return Intent(
        token=value["token"],
        ref=value["ref"],
        old=value["old"],
        new=value["new"],
        text=value["text"],
        author=Signature(*value["author"]),
        committer=Signature(*value["committer"]),
        changes=[
            Change(path, _unpacked(before), _unpacked(after), mode) for path, before, after, mode in value["changes"]
        ],
        prior=value["prior"],
        snapshot=value["snapshot"],
    )


def clear(folder: str) -> None:
    """Forgets the operation: it is done, or it was taken back."""
    with suppress(FileNotFoundError):
        os.unlink(f"{folder}/{NAME}")


def _packed(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _unpacked(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)

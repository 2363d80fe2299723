"""The inside of a transaction: reads and writes that become one commit, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ctxrepo.errors import Conflict, NotFound
from ctxrepo.store.fastimport import message
from ctxrepo.store.files import ABSENT, EXECUTABLE, REGULAR, Change, check_path, etag

Look = Callable[[str], tuple[bytes | None, int]]
Trailers = list[tuple[str, str | None]]


def opening(
    op: str,
    actor: str,
    agent: str | None,
    session: str | None,
    reason: str | None,
    subject: str | None,
    trailers: Iterable[tuple[str, str | None]],
) -> tuple[str, Trailers]:
    """Returns the subject and the trailers with which an operation's commit begins."""
    who = [("Ctx-Op", op), ("Ctx-Actor", actor), ("Ctx-Agent", agent), ("Ctx-Session", session)]
    return subject or op.replace(".", ": ", 1), [*who, ("Ctx-Reason", reason), *trailers]


class Tx:
    """What one operation reads and will write; made by `Store.transaction` and `remote.published`.

    Args:
        look: returns the bytes (None: no file) and the mode at a path, as they are before the operation.
        subject: first line of the commit message.
        trailers: its trailers so far.

    Attributes:
        subject: first line of the commit message; may be set until the transaction ends.
        commit_id: the commit, once the transaction has ended; None when nothing changed.
        note: what the person should know afterwards, None when all is as expected.
    """

    def __init__(self, look: Look, subject: str, trailers: Trailers) -> None:
        self.subject = subject
        self.commit_id: str | None = None
        self.note: str | None = None
        self._source = look
        self._trailers = trailers
        self._seen: dict[str, tuple[bytes | None, int]] = {}
        self._new: dict[str, tuple[bytes | None, int]] = {}

    def read(self, path: str) -> bytes | None:
        """Returns the file as this transaction sees it, its own writes included; None when there is none.

        Raises:
            Invalid, Refused: the path leads out of the store or through a link.
        """
        return self._new[path][0] if path in self._new else self._look(path)[0]

    def write(self, path: str, data: bytes, expect: str | None = None, *, executable: bool | None = None) -> None:
        """Gives the file a new content.

        Args:
            expect: `etag` of the bytes that the caller decided upon, `ABSENT` for a file that must be new;
                None when the decision was made on what `read` returned.
            executable: whether it may be run; None keeps what it is.

        Raises:
            Conflict: the file is not what was expected.
        """
        self._check(path, expect)
        mode = self._look(path)[1] if executable is None else EXECUTABLE if executable else REGULAR
        self._new[path] = (data, mode)

    def delete(self, path: str, expect: str | None = None) -> None:
        """Deletes the file.

        Raises:
            Conflict: the file is not what was expected.
            NotFound: there is none.
        """
        self._check(path, expect)
        if self.read(path) is None:
            raise NotFound(f"There is no file {path}.")
        self._new[path] = (None, self._look(path)[1])

    def trailer(self, key: str, value: str) -> None:
        """Adds a trailer to the commit message, such as the id of what was made."""
        self._trailers.append((key, value))

    def text(self) -> str:
        """Returns the commit message."""
        return message(self.subject, self._trailers)

    def changes(self) -> list[Change]:
        """Returns what differs from the disk, in the order of the paths."""
        return [
            Change(path, self._seen[path][0], data, mode, self._seen[path][1])
            for path, (data, mode) in sorted(self._new.items())
            if (data, mode) != self._seen[path] and not (data is None and self._seen[path][0] is None)
        ]

    def _look(self, path: str) -> tuple[bytes | None, int]:
        if path not in self._seen:
            self._seen[path] = self._source(check_path(path))
        return self._seen[path]

    def _check(self, path: str, expect: str | None) -> None:
        found = self._look(path)[0]
        if expect is None:
            return
        if etag(found) != expect:
            what = "already exists" if expect == ABSENT else "has changed" if found is not None else "is gone"
            raise Conflict(
                f"{path} {what} since it was last read; nothing was written.",
                hint="read it again and repeat the change",
            )

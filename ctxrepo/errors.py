"""One family of errors: what went wrong, what to run next, which exit code it is.

An error of this family is something its reader can mend; everything else is a bug (exit 70).
Subclasses exist only where callers branch on them or the exit code differs.
The module imports nothing, so that the recall hook may use it for free.
"""

from __future__ import annotations


class CtxError(Exception):
    """Something the user can mend.

    Args:
        message: one or more full sentences, the first says what is wrong.
        hint: what to do next, best a command that can be run as it stands.
        details: further lines worth showing, such as candidates of an ambiguous name.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, details: list[str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or []


class Refused(CtxError):
    """The state of the workspace forbids it now (a merge in progress, a planted path …)."""

    exit_code = 1


class UsageFault(CtxError):
    """The call itself makes no sense, whatever the state."""

    exit_code = 2


class NotFound(CtxError):
    """No asset, store or workspace answers to that name."""

    exit_code = 3


class Invalid(CtxError):
    """The content breaks a rule of its kind; `details` holds one `path:line: field: message` each."""

    exit_code = 4


class Denied(CtxError):
    """Somebody else's, or a right is missing."""

    exit_code = 5


class Conflict(CtxError):
    """It changed since the caller last saw it; nothing was written."""

    exit_code = 6

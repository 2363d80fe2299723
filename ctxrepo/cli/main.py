"""The command `ctxrepo`: its groups, and the one place where errors become exit codes.

A fault that a person can mend prints message and hint, a slip in the command line just
as a missing asset; anything else is a bug: one line, a log file with versions and traceback that can be
pasted into a report, exit code 70.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from typing import ClassVar

import click

from ctxrepo import __version__
from ctxrepo.cli import agents, capture, consolidate, history, importing, memory, output, recall, workspace
from ctxrepo.cli.call import Call, Group
from ctxrepo.errors import CtxError, Refused, UsageFault

BUG = 70
INTERRUPTED = 130
WORDS = ("text", "query")
"""Names of arguments that hold words of a person, which need quotes in a shell."""

_MENDABLE = (errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.ENAMETOOLONG)
"""Faults of the file system that are nobody's bug."""


class TopGroup(Group):
    """`ctxrepo` itself."""

    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Begin": ("init", "demo", "status", "connect", "disconnect", "hook"),
        "Remember and recall": ("memory", "recall", "import"),
        "What happened": ("log", "show", "why", "undo"),
        "Upkeep": ("check", "doctor", "sync", "watch"),
    }


@click.group(cls=TopGroup, name="ctxrepo", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ctxrepo")
def ctxrepo() -> None:
    """Context for AI agents as Markdown files in git: memory, knowledge, skills, tasks."""


for _module in (workspace, memory, capture, consolidate, importing, recall, history, agents):
    _module.register(ctxrepo)


def run(arguments: list[str]) -> int:
    """Runs the command line and returns the exit code."""
    output.prepare()
    call = Call(arguments, run)
    try:
        code = ctxrepo.main(arguments, prog_name="ctxrepo", standalone_mode=False, obj=call)
        output.flush()
    except CtxError as fault:
        return _report(fault, call, arguments)
    except click.exceptions.NoArgsIsHelpError as fault:
        fault.show()
        return fault.exit_code
    except click.ClickException as fault:
        return _report(_as_usage_fault(fault), call, arguments)
    except (click.Abort, KeyboardInterrupt):
        output.note("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno in _MENDABLE:
            return _report(_as_refusal(fault), call, arguments)
        output.note(f"Bug in ctxrepo: {type(fault).__name__}: {fault}")
        output.note(f"Hint: report it with the file {_bug_report(arguments)}")
        return BUG
    return code if isinstance(code, int) else 0


def _report(fault: CtxError, call: Call, arguments: list[str]) -> int:
    with contextlib.suppress(BrokenPipeError):
        output.flush()
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    output.error(fault, as_json=call.as_json or "--json" in options)
    return fault.exit_code


def _as_usage_fault(fault: click.ClickException) -> UsageFault:
    """A slip in the command line in the form of every other error, with the command that shows how it goes."""
    message = " ".join(fault.format_message().split())
    context = fault.ctx if isinstance(fault, click.UsageError) else None
    if context is None:
        return UsageFault(message, hint="ctxrepo --help")
    path = context.command_path
    takes_words = any(parameter.name in WORDS for parameter in context.command.params)
    hint = f"{path} --help"
    if takes_words and "unexpected extra argument" in message:
        hint = f'{path} "…" (put the words in quotes)'
    elif takes_words and isinstance(fault, click.NoSuchOption):
        hint = f'{path} -- "-…" (behind `--` a text may begin with a dash), or {path} --help'
    return UsageFault(message, hint=hint)


def _as_refusal(fault: OSError) -> Refused:
    """What the file system forbids, as something that a person can mend."""
    place = fault.filename if isinstance(fault.filename, str) else "the disk"
    hint = f"ls -ld {shlex.quote(place)}" if isinstance(fault.filename, str) else "df -h"
    return Refused(f"{place} cannot be used: {fault.strerror}.", hint=hint)


def _bug_report(arguments: list[str]) -> str:
    """Writes versions, the call and the traceback to a file and returns its path."""
    import platform
    import traceback

    handle, path = tempfile.mkstemp(prefix="ctxrepo-bug-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as report:
        report.write(f"ctxrepo {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
        report.write(f"arguments: {arguments!r}\n\n{traceback.format_exc()}")
    return path


def _silence_stdout() -> None:
    """Keeps Python's exit from failing on a pipe that its reader has closed."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

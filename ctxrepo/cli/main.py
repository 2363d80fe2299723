"""The command `ctxrepo`: its groups, its shared options, and the one place where errors become exit codes.

`--workspace --user --agent --project --json` may stand before or after the command's name, since
people try both.  A fault that a person can mend prints message and hint, a slip in the command line just
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
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click

from ctxrepo import __version__
from ctxrepo.asset.fields import nearest
from ctxrepo.cli import clock, output
from ctxrepo.errors import CtxError, Refused, UsageFault

if TYPE_CHECKING:
    from ctxrepo.api import ContextRepository

BUG = 70
INTERRUPTED = 130
WORDS = ("text", "query")
"""Names of arguments that hold words of a person, which need quotes in a shell."""

_MENDABLE = (errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.ENAMETOOLONG)
"""Faults of the file system that are nobody's bug."""

_EVERYWHERE = "Every command takes --workspace DIR, --user U, --agent A, --project P and --json."


class Call:
    """What the shared options said; opens the workspace on first use."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.options: dict[str, Any] = {}
        self.arguments = arguments

    @property
    def as_json(self) -> bool:
        return bool(self.options.get("as_json"))

    @property
    def workspace(self) -> str | None:
        """The folder that was named, if any."""
        return self.options.get("workspace")

    @property
    def user(self) -> str | None:
        """The user that was named, if any."""
        return self.options.get("user")

    @property
    def project(self) -> str | None:
        """The project that was named, if any."""
        return self.options.get("project")

    def open(self) -> ContextRepository:
        """The workspace that the options, the environment or the current folder name."""
        from ctxrepo.api import open_workspace

        chosen = {name: self.options[name] for name in ("user", "agent", "project") if name in self.options}
        return open_workspace(self.workspace, **chosen, clock=clock.clock(), random=clock.chance(self.arguments))

    def emit(self, result: Mapping[str, Any], text: Callable[[], None]) -> None:
        output.emit(result, as_json=self.as_json, text=text)


pass_call = click.make_pass_decorator(Call, ensure=True)


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value == "":
        raise click.BadParameter("must not be empty.", context, parameter)
    if value and parameter.name:
        context.ensure_object(Call).options[parameter.name] = value


def _shared_options(hidden: bool) -> list[click.Option]:
    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=_keep, hidden=hidden, **settings)

    return [
        option("--workspace", metavar="DIR", help="The team store's folder; else CTXREPO_WORKSPACE, else around here."),
        option("--user", metavar="U", help="Whose private memory; else the one this clone belongs to."),
        option("--agent", metavar="A", help="The agent that speaks; `*`, all agents, for a person."),
        option("--project", metavar="P", help="The project; else that of the current folder. `*` holds everywhere."),
        option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]


class Choice(click.Choice[str]):
    """One of some words; a near miss is met with the word that was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"{value!r} is none of {', '.join(self.choices)}.{nearest(str(value), self.choices)}", param, ctx)
        return str(value)


class Command(click.Command):
    """A command that accepts the shared options too; the first line of its help is what lists show of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options(hidden=True))
        self.epilog = self.epilog or _EVERYWHERE
        self.short_help = self.short_help or (self.help or "").strip().partition("\n")[0]


class Group(click.Group):
    """A group whose commands accept the shared options, which proposes near misses and lists by sections."""

    command_class = Command
    group_class = type
    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        is_top = self.name == "ctxrepo"
        self.params.extend(_shared_options(hidden=not is_top))
        self.epilog = None if is_top else _EVERYWHERE
        self.short_help = (self.help or "").strip().partition("\n")[0]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        listed = self.sections or {"Commands": tuple(self.commands)}
        for title, names in listed.items():
            with formatter.section(title):
                found = ((name, self.get_command(context, name)) for name in names)
                formatter.write_dl([(name, command.short_help or "") for name, command in found if command])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(context, args[0]) is None and not args[0].startswith("-"):
            near = nearest(args[0], list(self.commands))
            raise click.UsageError(f"{context.command_path} has no command {args[0]!r}.{near}", context)
        return super().resolve_command(context, args)


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


def run(arguments: list[str]) -> int:
    """Runs the command line and returns the exit code."""
    from ctxrepo.cli import agents, capture, consolidate, history, importing, memory, recall, workspace

    for module in (workspace, memory, capture, consolidate, importing, recall, history, agents):
        module.register(ctxrepo)
    output.prepare()
    call = Call(arguments)
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

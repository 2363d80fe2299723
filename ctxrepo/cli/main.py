"""The command `ctxrepo`: its groups, its shared options, and the one place where errors become exit codes.

`--workspace --user --agent --project --json` may stand before or after the command's name, since
people try both.  A fault that a person can mend prints message and hint; anything else is a bug:
one line, a log file with versions and traceback that can be pasted into a report, exit code 70.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from ctxrepo import __version__
from ctxrepo.cli import output
from ctxrepo.errors import CtxError

if TYPE_CHECKING:
    from ctxrepo.api import ContextRepository

BUG = 70
SHARED = ("workspace", "user", "agent", "project", "as_json")


class Call:
    """What the shared options said; opens the workspace on first use."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    @property
    def as_json(self) -> bool:
        return bool(self.options.get("as_json"))

    def open(self) -> ContextRepository:
        """The workspace that the options, the environment or the current folder name."""
        from ctxrepo.api import open_workspace

        names = ("user", "agent", "project")
        chosen = {name: self.options[name] for name in names if self.options.get(name)}
        return open_workspace(self.options.get("workspace"), **chosen)

    def emit(self, result: Mapping[str, Any], text: Callable[[], None]) -> None:
        output.emit(result, as_json=self.as_json, text=text)


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and parameter.name:
        context.ensure_object(Call).options[parameter.name] = value


def _shared_options(hidden: bool) -> list[click.Option]:
    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=_keep, hidden=hidden, **settings)

    return [
        option("--workspace", metavar="DIR", help="The team store's folder; else the current folder's workspace."),
        option("--user", metavar="U", help="Whose private memory; else the one this clone belongs to."),
        option("--agent", metavar="A", help="The agent that speaks; `*`, all agents, for a person."),
        option("--project", metavar="P", help="The project; else that of the current folder. `*` holds everywhere."),
        option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]


class Command(click.Command):
    """A command that accepts the shared options too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options(hidden=True))


class Group(click.Group):
    """A group whose commands accept the shared options and which proposes near misses."""

    command_class = Command
    group_class = type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options(hidden=self.name != "ctxrepo"))

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as fault:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(context), 1)
            if near:
                raise click.UsageError(f"{fault.message} Did you mean `{near[0]}`?", context) from None
            raise


@click.group(cls=Group, name="ctxrepo", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ctxrepo")
def ctxrepo() -> None:
    """Context for AI agents as Markdown files in git: memory, knowledge, skills, tasks."""


def run(arguments: list[str]) -> int:
    """Runs the command line and returns the exit code."""
    from ctxrepo.cli import agents, memory, workspace

    for module in (workspace, memory, agents):
        module.register(ctxrepo)
    call = Call()
    try:
        code = ctxrepo.main(arguments, prog_name="ctxrepo", standalone_mode=False, obj=call)
        sys.stdout.flush()
    except CtxError as fault:
        output.error(fault, as_json=call.as_json)
        return fault.exit_code
    except click.ClickException as fault:
        fault.show()
        return fault.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.note("Interrupted.")
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except Exception as fault:
        output.note(f"Bug in ctxrepo: {type(fault).__name__}: {fault}")
        output.note(f"Hint: report it with the file {_bug_report(arguments)}")
        return BUG
    return code if isinstance(code, int) else 0


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

"""What every command is made of: the shared options, the call that holds them, near misses in words.

`--workspace --user --agent --project --json` may stand before or after the command's name, since
people try both.  This stands below the commands and `main` above them, so that none of them imports what imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click

from ctxrepo.asset.fields import nearest
from ctxrepo.cli import clock, output

if TYPE_CHECKING:
    from ctxrepo.api import ContextRepository

_EVERYWHERE = "Every command takes --workspace DIR, --user U, --agent A, --project P and --json."


class Call:
    """What the shared options said; opens the workspace that they name.

    Args:
        arguments: the command line.
        run: runs another command line in this process and returns its exit code, as `main.run` does.
    """

    def __init__(self, arguments: Sequence[str], run: Callable[[list[str]], int]) -> None:
        self.options: dict[str, Any] = {}
        self.arguments = arguments
        self.run = run

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


pass_call = click.make_pass_decorator(Call)


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value == "":
        raise click.BadParameter("must not be empty.", context, parameter)
    if value and parameter.name:
        context.obj.options[parameter.name] = value


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

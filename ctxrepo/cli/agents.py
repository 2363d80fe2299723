"""`ctxrepo connect | disconnect | hook`: the way into an agent host and out again."""

from __future__ import annotations

import click

from ctxrepo.cli import output
from ctxrepo.cli.main import Call, Command
from ctxrepo.hooks.connect import HOSTS, Change

pass_call = click.make_pass_decorator(Call, ensure=True)
SCOPES = ("project", "local", "user")


def register(root: click.Group) -> None:
    """Adds the commands to `ctxrepo`."""
    for command in (connect, disconnect, hook):
        root.add_command(command)


def _emit(call: Call, change: Change, dry_run: bool, done: str, nothing: str) -> None:
    def text() -> None:
        diff = change.diff()
        if diff:
            output.line(diff.rstrip("\n"))
        if change.is_empty:
            output.line(nothing)
        elif not dry_run:
            output.line(done)

    call.emit({"path": change.path, "changed": not change.is_empty, "dry_run": dry_run, "diff": change.diff()}, text)


@click.command(cls=Command)
@click.argument("host", type=click.Choice(tuple(HOSTS)))
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="project",
    show_default=True,
    help="project: the file the team shares; local: the one beside it, yours; user: the one in your home.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@pass_call
def connect(call: Call, host: str, scope: str, dry_run: bool) -> None:
    """Put the hooks for HOST into its settings; everything else in them stays byte for byte.

    Example: cd my-project && ctxrepo connect claude-code --workspace ~/team-context
    """
    from ctxrepo.hooks import connect as hosts

    with call.open() as repo:
        change = hosts.connect(
            host, workspace=str(repo.layout.root), scope=scope, user=call.options.get("user"), dry_run=dry_run
        )
    _emit(call, change, dry_run, f"{host} now recalls from {repo.layout.root}.", f"{host} is connected already.")


@click.command(cls=Command)
@click.argument("host", type=click.Choice(tuple(HOSTS)))
@click.option("--scope", type=click.Choice(SCOPES), default="project", show_default=True)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@pass_call
def disconnect(call: Call, host: str, scope: str, dry_run: bool) -> None:
    """Take the hooks of ctxrepo out of HOST's settings again, and nothing else.

    With --workspace only those of that workspace.
    """
    from ctxrepo.hooks import connect as hosts

    change = hosts.disconnect(host, workspace=call.options.get("workspace"), scope=scope, dry_run=dry_run)
    _emit(call, change, dry_run, f"{host} is disconnected.", f"{host} was not connected there.")


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, metavar="HOST EVENT")
def hook(arguments: tuple[str, ...]) -> None:
    """Answer one event of an agent host: its JSON on stdin, at most one JSON object on stdout.

    Example: echo '{"prompt": "…"}' | ctxrepo hook claude-code user-prompt-submit --workspace DIR
    """
    from ctxrepo.hooks.prompt import main

    raise click.exceptions.Exit(main(list(arguments)))

"""`ctxrepo connect | disconnect | hook`: the way into an agent host and out again.

`connect` writes by default into the settings that stay on this machine (`local`): the command it puts there names
this installation and this workspace by absolute paths, and whose memory is recalled; in the file that a team commits
it would fail, or ask the wrong person's memory, on every other machine.
"""

from __future__ import annotations

import click

from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Choice, Command, pass_call
from ctxrepo.hooks.connect import HOSTS, Change

SCOPES = ("local", "project", "user")
_scope = click.option(
    "--scope",
    type=Choice(SCOPES),
    metavar="SCOPE",
    default="local",
    show_default=True,
    help="local: your own settings of this project; project: those the team shares; user: those in your home.",
)
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")
_host = click.argument("host", type=Choice(tuple(HOSTS)), metavar="HOST")


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
@_host
@_scope
@_dry_run
@pass_call
def connect(call: Call, host: str, scope: str, dry_run: bool) -> None:
    """Put the recall hook into HOST's settings; everything else in them stays byte for byte.

    Run it in the folder of the project in which the agent works. Hosts: claude-code.

    Example: cd my-project && ctxrepo connect claude-code --workspace ~/team-context
    """
    from ctxrepo.hooks import connect as hosts

    with call.open() as repo:
        root, user = repo.layout.root, call.user
        change = hosts.connect(host, workspace=root, scope=scope, user=user, dry_run=dry_run)
        whose = repo.user
    undo = f"ctxrepo disconnect {host}" + (f" --scope {scope}" if scope != "local" else "")
    done = f"{host} now recalls {whose}'s memory from {root}. Take it out again with: {undo}"
    _emit(call, change, dry_run, done, f"{host} is connected already; nothing was changed.")


@click.command(cls=Command)
@_host
@_scope
@_dry_run
@pass_call
def disconnect(call: Call, host: str, scope: str, dry_run: bool) -> None:
    """Take the hook out of HOST's settings again, and nothing else.

    With --workspace only that of this workspace.

    Example: ctxrepo disconnect claude-code
    """
    from ctxrepo.hooks import connect as hosts

    change = hosts.disconnect(host, workspace=call.workspace, scope=scope, dry_run=dry_run)
    _emit(call, change, dry_run, f"{host} is disconnected.", f"{change.path} holds no hook of ctxrepo.")


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, metavar="HOST EVENT")
def hook(arguments: tuple[str, ...]) -> None:
    """Answer one event of an agent host; its own settings call this.

    Reads the host's JSON on stdin and prints at most one JSON object; never fails.

    Example: echo '{"prompt": "…"}' | ctxrepo hook claude-code user-prompt-submit --workspace DIR
    """
    from ctxrepo.hooks.prompt import main

    raise click.exceptions.Exit(main(list(arguments)))

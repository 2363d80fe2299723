"""`ctxrepo connect | disconnect | hook`: the way into an agent host and out again."""

from __future__ import annotations

import click

from ctxrepo.cli import output
from ctxrepo.cli.main import Call, Command

pass_call = click.make_pass_decorator(Call, ensure=True)


def register(root: click.Group) -> None:
    """Adds the commands to `ctxrepo`."""
    for command in (connect, disconnect, hook):
        root.add_command(command)


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, metavar="HOST EVENT")
def hook(arguments: tuple[str, ...]) -> None:
    """Answer one event of an agent host: its JSON on stdin, at most one JSON object on stdout.

    Example: echo '{"prompt": "…"}' | ctxrepo hook claude-code user-prompt-submit --workspace DIR
    """
    from ctxrepo.hooks.prompt import main

    raise click.exceptions.Exit(main(list(arguments)))

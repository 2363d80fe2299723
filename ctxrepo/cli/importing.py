"""`ctxrepo import SOURCE PATH` and `ctxrepo memory purge`."""

from __future__ import annotations

import sys
from typing import Any

import click

from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Choice, Command, pass_call
from ctxrepo.errors import Refused

SOURCES = ("claude-md", "mem0", "basic-memory", "chatgpt", "obsidian")
_SHOWN = 60
_WIDTH = 70


def register(root: click.Group) -> None:
    """Adds `import` to ctxrepo and `purge` to the group `memory`, which is there already."""
    root.add_command(import_)
    memory = root.commands["memory"]
    if isinstance(memory, click.Group):
        memory.add_command(purge)


@click.command("import", cls=Command)
@click.argument("source", type=Choice(SOURCES), metavar="SOURCE")
@click.argument("path", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Show what would be taken in; write nothing.")
@click.option("--limit", type=click.IntRange(1), default=_SHOWN, show_default=True, help="Rows to show.")
@pass_call
def import_(call: Call, source: str, path: str, dry_run: bool, limit: int) -> None:
    """Take memories of another program in, as candidates that nothing recalls yet.

    SOURCE: claude-md (CLAUDE.md, AGENTS.md), mem0 (JSON export), basic-memory, chatgpt (data export), obsidian (vault).
    What is there already is not taken in again.

    Example: ctxrepo import claude-md . --dry-run
    """
    from ctxrepo.memory.importing.run import import_memories

    with call.open() as repo:
        found = import_memories(repo, source, path, dry_run=dry_run)
    call.emit(found, lambda: _print_import(found, limit))


def _print_import(found: dict[str, Any], limit: int) -> None:
    rows = found["results"]
    shown = [
        (row["verdict"], row["kind"], f"{row['where']}:{row['line']}" if row["line"] else row["where"], _told(row))
        for row in rows[:limit]
    ]
    if shown:
        output.table(("", "kind", "from", "text"), shown)
    if len(rows) > limit:
        output.note(f"{len(rows) - limit} more: use `--limit {len(rows)}`.")
    counts = found["counts"]
    would = "would be taken in" if found["dry_run"] else "taken in as candidates"
    output.line(f"{counts['new']} {would}, {counts['duplicate']} are there already, {counts['left']} left out.")
    output.undo_hint(found["commit"])


def _told(row: dict[str, Any]) -> str:
    text = output.shortened(row["text"], _WIDTH)
    return f"{text} ({row['why']})" if row["why"] else text


@click.command("purge", cls=Command)
@click.argument("refs", nargs=-1, required=True, metavar="REF…")
@click.option("--word", "words", multiple=True, metavar="TEXT", help="A further text that must be gone; repeatable.")
@click.option("--even-if-held", is_flag=True, help="Go on although a remote, a worktree or an alternate holds it.")
@click.option("--dry-run", is_flag=True, help="Tell which facts are meant and what stands in the way.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_call
def purge(
    call: Call, refs: tuple[str, ...], words: tuple[str, ...], even_if_held: bool, dry_run: bool, yes: bool
) -> None:
    """Delete facts for good: from every commit, index and log of this machine. It cannot be undone.

    A fact that was deleted before is known by its id. The ids of commits change; other facts keep their history.

    Example: ctxrepo memory purge 3kq9zt
    """
    from ctxrepo.memory.purge import purge_facts

    with call.open() as repo:
        meant = purge_facts(repo, *refs, words=words, dry_run=True)
        if not dry_run:
            _ask(meant, yes or call.as_json)
            meant = purge_facts(repo, *meant["ids"], words=words, even_if_held=even_if_held)
    call.emit(meant, lambda: _print_purge(meant))


def _ask(meant: dict[str, Any], sure: bool) -> None:
    if sure:
        return
    names = ", ".join(ident[-6:].lower() for ident in meant["ids"])
    if not sys.stdin.isatty():
        raise Refused(f"Purging {names} cannot be undone, and nobody is here to ask.", hint="repeat with --yes")
    click.confirm(f"Purge {names} for good?", abort=True, err=True)


def _print_purge(done: dict[str, Any]) -> None:
    names = ", ".join(ident[-6:].lower() for ident in done["ids"])
    if done.get("dry_run"):
        output.line(f"{names} would be purged.")
        for each in done["held_by"]:
            output.note(f"{each} holds the old history: purge it there too, or use --even-if-held.")
        return
    output.line(
        f"Purged {names}: {output.counted(len(done['versions']), 'version')},"
        f" {output.counted(done['commits_rewritten'], 'commit')} written anew."
    )
    head = done["commit"][: output.SHORT]
    output.line(f"  {done['objects_read']} objects were read through, none holds it. New head: {head}")
    output.line(
        "  Cleaned: "
        + ", ".join(
            output.counted(count, what)
            for count, what in (
                (len(done["cleaned"]), "other file"),
                (done["messages"], "message"),
                (done["local_files"], "local file"),
                (done["usage_events"], "usage event"),
            )
        )
        + "."
    )
    for name, what in (
        ("held_by", "still holds the old history"),
        ("also_said_in", "says the same words; they are its own"),
        ("elsewhere", "says the same words; ctxrepo does not change it"),
        ("edited_meanwhile", "was edited in this moment and stayed as it is"),
    ):
        for each in done[name]:
            output.note(f"{each} {what}.")
    output.note(done["note"])

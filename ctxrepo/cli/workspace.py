"""The commands that concern the whole workspace: set-up, state, checks, indexes."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from ctxrepo.cli import clock, output
from ctxrepo.cli.call import Call, Command, pass_call
from ctxrepo.errors import Invalid
from ctxrepo.workspace.layout import current_folder

_SHOWN = 10


def register(root: click.Group) -> None:
    """Adds the commands to `ctxrepo`."""
    for command in (init, demo, status, check, doctor, sync, watch):
        root.add_command(command)


@click.command(cls=Command)
@click.argument("directory", required=False, metavar="[DIR]")
@pass_call
def init(call: Call, directory: str | None) -> None:
    """Make DIR a workspace, or complete a cloned one; creates only what is missing.

    Without DIR the current folder is meant. A second user of the same folder is added with --user.

    Example: ctxrepo init team-context --user me
    """
    from ctxrepo.workspace.setup import init_workspace

    place = directory or call.workspace or "."
    made = init_workspace(place, user=call.user, now=clock.calendar())

    def text() -> None:
        output.heading(f"Workspace {made['root']} is ready for {made['user']}.")
        for what in made["created"]:
            output.line(f"  + {what}")
        if not made["created"]:
            output.line("  Nothing was missing.")
        for note in made["notes"]:
            output.line(f"  {note}")
        there = "" if os.path.realpath(made["root"]) == os.path.realpath(current_folder()) else f"cd {place} && "
        output.line(f'Next: {there}ctxrepo memory add "…"')
        output.line(f"      cd your-project && ctxrepo connect claude-code --workspace {made['root']}")

    call.emit(made, text)


@click.command(cls=Command)
@click.argument("directory", required=False, metavar="[DIR]")
@pass_call
def demo(call: Call, directory: str | None) -> None:
    """Bring a copy of the example workspace to life in DIR and show the main job on it.

    Without DIR a temporary folder is used.

    Example: ctxrepo demo ./demo
    """
    from ctxrepo.cli.demo import run_demo

    run_demo(directory or call.workspace, call.user or "mei", call.run, as_json=call.as_json)


@click.command(cls=Command)
@pass_call
def status(call: Call) -> None:
    """Show whose workspace this is, what its stores hold, and what waits for attention."""
    with call.open() as repo:
        found = repo.status()
    call.emit(found, lambda: _print_status(found))


def _print_status(found: dict[str, Any]) -> None:
    output.heading(f"Workspace {found['workspace']}")
    output.line(f"User {found['user']}, agent {found['agent']}, project {found['project']}")
    watching = "running" if found["watching"] else "not running; `ctxrepo watch` keeps the indexes fresh"
    output.line(f"Watcher {watching}")
    output.line()
    rows = [(s["name"], s["assets"], s["problems"], s["outside_edits"], s["branch"]) for s in found["stores"]]
    output.table(("store", "assets", "problems", "unsaved edits", "branch"), rows)
    for store in found["stores"]:
        edits = store.get("edits", [])
        if edits:
            what = "edited, not yet committed" if store["name"].startswith("team") else "edited by hand, not yet saved"
            output.line()
            output.line(f"{store['name']}: {what}")
            for path in edits[:_SHOWN]:
                output.line(f"  {path}")
            if store["outside_edits"] > _SHOWN:
                output.line(f"  … {store['outside_edits'] - _SHOWN} more")
            private = not store["name"].startswith("team")
            output.line(f"  {'ctxrepo sync saves them' if private else 'commit them with git'}")
    if any(store["problems"] for store in found["stores"]):
        output.line("! Some files cannot be read: ctxrepo check")
    for finding in found["attention"]:
        output.line(f"! {finding}")


@click.command(cls=Command)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--staged", is_flag=True, help="Check what the next commit of the team store would hold.")
@click.option("--range", "between", metavar="A...B", help="Check what the commits from A to B changed, as B holds it.")
@pass_call
def check(call: Call, paths: tuple[str, ...], staged: bool, between: str | None) -> None:
    """Check assets; print every problem as `path:line: field: message`.

    Needs no user and no private store, so it runs in CI and as a pre-commit hook. Exit code 4 if anything is an error;
    a warning alone is none.

    Example: ctxrepo check --staged
    """
    from ctxrepo.api import check_workspace

    found = check_workspace(call.workspace, paths, user=call.user, staged=staged, between=between)

    def text() -> None:
        for problem in found["results"]:
            output.line(problem["text"])
        if found["results"]:
            output.note(f"{output.counted(found['errors'], 'error')}, {output.counted(found['warnings'], 'warning')}.")
        else:
            output.line(f"{output.counted(found['checked'], 'asset')} checked, no problems.")

    call.emit(found, text)
    if found["errors"]:
        raise click.exceptions.Exit(Invalid.exit_code)


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Repair what can be repaired without losing anything.")
@pass_call
def doctor(call: Call, fix: bool) -> None:
    """Look for damage: missing repositories, planted files, lost folders, stale state.

    Exit code 1 while anything is left to repair.

    Example: ctxrepo doctor --fix
    """
    with call.open() as repo:
        found = repo.doctor(fix=fix)
    left = [finding for finding in found["results"] if not finding["fixed"]]

    def text() -> None:
        for finding in found["results"]:
            output.line(f"{'fixed' if finding['fixed'] else 'found'}: {finding['message']}")
        for done in found["done"]:
            output.line(f"  {done}")
        if not found["results"]:
            output.line("Everything is in order.")
        for fix_command in dict.fromkeys(finding["fix"] for finding in left if finding["fix"]):
            output.line(f"Repair with: {fix_command}")

    call.emit(found, text)
    if left:
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@click.option("--quiet", is_flag=True, help="Print nothing, not even progress.")
@pass_call
def sync(call: Call, quiet: bool) -> None:
    """Bring the indexes up to date and commit hand edits of the private stores."""
    with call.open() as repo:
        found = repo.sync_all(progress=None if quiet or call.as_json else _progress)
    if not quiet:
        call.emit(found, lambda: _print_sync(found))


def _print_sync(found: dict[str, Any]) -> None:
    for store in found["results"]:
        done = [f"{store[name]} {name}" for name in ("added", "changed", "removed") if store[name]]
        done += ["index made anew"] if store.get("rebuilt") else []
        done += [f"hand edits saved as {store['snapshot'][: output.SHORT]}"] if store["snapshot"] else []
        output.line(f"{store['name']}: {', '.join(done) or 'up to date'}")
        for problem in store["problems"]:
            output.note(f"  {problem}")


def _progress(name: str, done: int, total: int) -> None:
    """Shows a long rebuild on a terminal, in place."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{name}: {done}/{total} files" + ("\n" if done == total else ""))


@click.command(cls=Command)
@click.option("--poll", is_flag=True, help="Poll instead of using the system's file events.")
@pass_call
def watch(call: Call, poll: bool) -> None:
    """Keep the indexes fresh, and commit hand edits of private stores after a quiet period.

    Runs until Ctrl-C; what it does it says on stderr.
    """
    with call.open() as repo:
        repo.watch(poll=poll, say=output.note)
        stopped = {"workspace": repo.layout.root, "stopped": True}
    call.emit(stopped, lambda: None)

"""The commands that concern the whole workspace: set-up, state, history, recall."""

from __future__ import annotations

import sys
from typing import Any

import click

from ctxrepo.cli import output
from ctxrepo.cli.main import Call, Command

SUMMARY = 100
"""Characters of a hit's text in a table; `--json` gives all of it."""

pass_call = click.make_pass_decorator(Call, ensure=True)


def register(root: click.Group) -> None:
    """Adds the commands to `ctxrepo`."""
    for command in (init, demo, status, check, doctor, sync, watch, log, show, why, undo, recall):
        root.add_command(command)


@click.command(cls=Command)
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@pass_call
def init(call: Call, directory: str) -> None:
    """Make DIRECTORY a workspace, or complete a cloned one; creates only what is missing.

    Example: ctxrepo init team-context --user me
    """
    from ctxrepo.workspace.setup import init_workspace

    made = init_workspace(call.options.get("workspace") or directory, user=call.options.get("user"))

    def text() -> None:
        output.line(f"Workspace {made['root']} is ready for {made['user']}.")
        for what in made["created"]:
            output.line(f"  + {what}")
        output.line('Next: ctxrepo memory add "…" ; ctxrepo connect claude-code')

    call.emit(made, text)


@click.command(cls=Command)
@click.argument("directory", required=False, type=click.Path(file_okay=False))
@pass_call
def demo(call: Call, directory: str | None) -> None:
    """Turn a copy of the example workspace into a live one and show the main job on it.

    Example: ctxrepo demo ./demo
    """
    from ctxrepo.cli.demo import run_demo

    run_demo(directory, call.options.get("user") or "mei")


@click.command(cls=Command)
@pass_call
def status(call: Call) -> None:
    """Show whose workspace this is, what its stores hold, and what waits for attention."""
    with call.open() as repo:
        found = repo.status()

    def text() -> None:
        output.line(f"Workspace {found['workspace']}")
        output.line(f"User {found['user']}, agent {found['agent']}, project {found['project']}")
        output.line("Watcher: running" if found["watching"] else "Watcher: not running (start it with `ctxrepo watch`)")
        rows = [(s["name"], s["assets"], s["problems"], s["outside_edits"], s["branch"]) for s in found["stores"]]
        output.table(("store", "assets", "problems", "unsaved edits", "branch"), rows)
        for finding in found["attention"]:
            output.line(f"! {finding}")

    call.emit(found, text)


@click.command(cls=Command)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--staged", is_flag=True, help="Check what the next commit of the team store would hold.")
@pass_call
def check(call: Call, paths: tuple[str, ...], staged: bool) -> None:
    """Check assets and print every problem as `path:line: field: message`; exit code 4 if any is an error."""
    with call.open() as repo:
        problems = repo.check(paths, staged=staged)
    errors = [problem for problem in problems if problem.level == "error"]

    def text() -> None:
        for problem in problems:
            mark = "" if problem.level == "error" else " (warning)"
            output.line(f"{problem.path}:{problem.line}: {problem.field}: {problem.message}{mark}")
        if not problems:
            output.line("No problems.")

    fields = ("path", "line", "field", "message", "level")
    call.emit({"results": [{name: getattr(problem, name) for name in fields} for problem in problems]}, text)
    if errors:
        sys.stdout.flush()
        raise click.exceptions.Exit(4)


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Repair what can be repaired without losing anything.")
@pass_call
def doctor(call: Call, fix: bool) -> None:
    """Look for damage: missing repositories, planted files, lost folders, stale state."""
    with call.open() as repo:
        found = repo.doctor(fix=fix)

    def text() -> None:
        for finding in found["results"]:
            state = "fixed" if finding["fixed"] else "found"
            output.line(f"{state}: {finding['message']}")
            if not finding["fixed"]:
                output.line(f"  {finding['fix']}")
        if not found["results"]:
            output.line("Everything is in order.")

    call.emit(found, text)
    if any(not finding["fixed"] for finding in found["results"]):
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@click.option("--quiet", is_flag=True, help="Print nothing, not even progress.")
@pass_call
def sync(call: Call, quiet: bool) -> None:
    """Bring indexes up to date and commit hand edits of the private stores."""
    with call.open() as repo:
        found = repo.sync_all(progress=None if quiet or call.as_json else _progress)
    if quiet:
        return

    def text() -> None:
        for store in found["results"]:
            counts = ", ".join(f"{store[name]} {name}" for name in ("added", "changed", "removed") if store[name])
            saved = f"; hand edits saved as {store['snapshot'][:10]}" if store["snapshot"] else ""
            output.line(f"{store['name']}: {counts or 'nothing new'}{saved}")
            for problem in store["problems"]:
                output.note(problem)

    call.emit(found, text)


def _progress(name: str, done: int, total: int) -> None:
    """Shows a long rebuild on a terminal, in place."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{name}: {done}/{total} files" + ("\n" if done == total else ""))


@click.command(cls=Command)
@click.option("--poll", is_flag=True, help="Poll instead of using the system's file events.")
@pass_call
def watch(call: Call, poll: bool) -> None:
    """Keep the indexes fresh and commit hand edits of private stores after a quiet period."""
    with call.open() as repo:
        repo.watch(poll=poll, say=output.note)


@click.command(cls=Command)
@click.argument("ref", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@pass_call
def log(call: Call, ref: str | None, limit: int) -> None:
    """List operations, newest first: of the whole workspace, or of one asset or path."""
    with call.open() as repo:
        found = repo.log(ref, limit=limit)

    def text() -> None:
        rows = [(e["id"][:10], e["time"], e["store"], e["op"], e["actor"], e["subject"]) for e in found["results"]]
        output.table(("id", "time", "store", "op", "actor", "what"), rows)

    call.emit(found, text)


@click.command(cls=Command)
@click.argument("ref")
@pass_call
def show(call: Call, ref: str) -> None:
    """Show an asset (path, id, beginning or tail of its id) or an operation (commit id) with its diff."""
    with call.open() as repo:
        found = repo.show(ref)
    heading = found.get("path") or f"{found['id']} {found.get('subject', '')}"
    call.emit(
        found, lambda: output.line(f"{heading}\n{(found.get('source_text') or found.get('diff') or '').rstrip()}")
    )


@click.command(cls=Command)
@click.argument("ref")
@pass_call
def why(call: Call, ref: str) -> None:
    """Say why an asset is believed: its source, age, validity, what it replaced, and every change."""
    with call.open() as repo:
        found = repo.why(ref)

    def text() -> None:
        output.line(f"{found['path']}  {found['title']}")
        for sentence in found["because"]:
            output.line(f"  {sentence}")
        for entry in found["history"]:
            reason = f": {entry['reason']}" if entry["reason"] else ""
            output.line(
                f"  {entry['time']}  {entry['op'] or entry['subject']} by {entry['actor']}{reason}  {entry['id'][:10]}"
            )

    call.emit(found, text)


@click.command(cls=Command)
@click.argument("op")
@pass_call
def undo(call: Call, op: str) -> None:
    """Undo one operation (commit id from `ctxrepo log`) with a new commit."""
    with call.open() as repo:
        found = repo.undo(op)
    what = f"{found['undone'][:10]} ({found['subject']})"
    done = f"Undid {what} with {found['commit'][:10]}." if found["commit"] else f"Nothing of {what} is left to undo."
    call.emit(found, lambda: output.line(done))


@click.command(cls=Command)
@click.argument("query")
@click.option("--knowledge", is_flag=True, help="Recall from the shared knowledge as well.")
@click.option("--limit", type=click.IntRange(1, 200), help="At most so many; the setting recall.limit when not given.")
@click.option(
    "--threshold", type=click.FloatRange(0, 1), help="Least relevance; the setting recall.threshold when not given."
)
@click.option("--explain", is_flag=True, help="Show every factor, and what was left out and why.")
@pass_call
def recall(call: Call, query: str, knowledge: bool, limit: int | None, threshold: float | None, explain: bool) -> None:
    """Recall what the prompt QUERY would bring back.

    Example: ctxrepo recall "周五聚餐能点辣菜吗" --explain
    """
    with call.open() as repo:
        found = repo.recall(query, knowledge=knowledge, limit=limit, threshold=threshold, explain=explain)
    call.emit(found, lambda: print_hits(found))


def print_hits(found: dict[str, Any]) -> None:
    """Hits as a table, with factors and omissions when they were asked for."""
    rows = [(h["relevance"], h["tail"], h["kind"], h["created"][:10], _summary(h)) for h in found["results"]]
    if rows:
        output.table(("relevance", "id", "kind", "created", "text"), rows)
    else:
        output.line("Nothing recalled.")
    if "left_out" not in found:
        return
    output.line()
    output.line(f"terms: {' '.join(found['terms'])}")
    asked = ", ".join(f"{name} {found[name]}" for name in ("user", "agent", "project", "threshold"))
    output.line(f"asked for: {asked}")
    for hit in found["results"]:
        output.line(f"{hit['tail']}: " + ", ".join(f"{name} {value}" for name, value in hit["factors"].items()))
    for left in found["left_out"]:
        output.line(f"left out {left['tail']}: {left['why']}  {_summary(left)}")


def _summary(hit: dict[str, Any]) -> str:
    """The first words of a hit; a document is named by its title first."""
    text = " ".join(f"{hit.get('title', '')} {hit['text']}".split())
    return text if len(text) <= SUMMARY else text[: SUMMARY - 1] + "…"

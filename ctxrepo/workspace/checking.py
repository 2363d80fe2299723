"""`ctxrepo check`: every problem of the assets in front of us, read from the files themselves.

It works without an index and without a user, because it also runs as a pre-commit hook and on a
machine that has only the team store.  What is checked beyond the files' own tables: names of folders that another
system could not hold or tell apart, ids that two files claim, private paths in the team's repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from ctxrepo.asset.check import Problem, check, unreadable
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, check_size, decode, parse, parse_plain
from ctxrepo.asset.kinds import KINDS, kind_of
from ctxrepo.errors import Invalid, UsageFault
from ctxrepo.store.guards import claims_private
from ctxrepo.store.private import team_store
from ctxrepo.text.names import confined, refuse_lookalike
from ctxrepo.workspace.layout import MARKER, MEMORY, TASKS, Layout, memory_of

_NAMED = {"knowledge": "knowledge base", "skills": "skill", MEMORY: "user", TASKS: "task"}
_TEAM_PLACES = (MARKER, "access.yaml", "knowledge", "skills")
_PRIVATE = "lies in a private folder, which the team's repository must not hold; `ctxrepo doctor --fix` takes it out."


def problems(layout: Layout, user: str | None, paths: Sequence[str] = (), *, staged: bool = False) -> list[Problem]:
    """Every problem, in the order of the paths.

    Args:
        layout: the workspace.
        user: whose private stores are checked too; None checks the team store alone.
        paths: files or folders to check; all assets when empty.
        staged: check what the next commit of the team store would hold instead of the working tree.

    Raises:
        UsageFault: a path that is not in the workspace.
    """
    if staged:
        found = [problem for path, data in _staged(layout) for problem in _of_file(path, data, new=True)]
        return sorted(found)
    chosen = [_inside(layout, path) for path in paths] or [*_TEAM_PLACES, *([memory_of(user), TASKS] if user else [])]
    ids: dict[str, str] = {}
    found = []
    for path, full in _files(layout, chosen):
        found += _of_disk(path, full, ids)
    found += _of_names(layout, user)
    if not paths:
        found += [Problem(path, 1, "", _PRIVATE, "error") for path in _planted(layout)]
    return sorted(set(found))


def _inside(layout: Layout, path: str) -> str:
    """A path given by a person, from the current folder or the workspace, as a path in the workspace."""
    for base in (os.getcwd(), layout.root):
        full = os.path.join(base, path)
        for root in (layout.root, layout.private_root):
            relative = os.path.relpath(os.path.realpath(full), os.path.realpath(root)).replace(os.sep, "/")
            if os.path.lexists(full) and not relative.startswith(".."):
                return "" if relative == "." else relative
    raise UsageFault(f"{path} is not in the workspace {layout.root}.", hint="ctxrepo check")


def _place(layout: Layout, path: str) -> str:
    """Where a path of the workspace lies on disk."""
    private = path.partition("/")[0] in (MEMORY, TASKS)
    return os.path.join(layout.private_root if private else layout.root, path)


def _files(layout: Layout, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(path in the workspace, path on disk) of every asset at or below `paths`; links are not followed."""
    for path in dict.fromkeys(paths):
        full = _place(layout, path) if path else layout.root
        if os.path.isfile(full):
            if kind_of(path) is not None:
                yield path, full
            continue
        for here, folders, names in os.walk(full):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                file = os.path.join(here, name)
                inner = os.path.relpath(file, full).replace(os.sep, "/")
                whole = f"{path}/{inner}" if path else inner
                if kind_of(whole) is not None and not os.path.islink(file):
                    yield whole, file


def _of_disk(path: str, full: str, ids: dict[str, str]) -> list[Problem]:
    """Problems of one file; `ids` collects who claimed which id first."""
    try:
        check_size(os.stat(full).st_size)
        with open(full, "rb") as handle:
            data = handle.read()
        found = _of_file(path, data, new=False, ids=ids)
    except FrontmatterError as err:
        found = [unreadable(err, path)]
    except OSError as err:
        found = [Problem(path, 1, "", f"The file cannot be read: {err.strerror}.", "error")]
    return found


def _of_file(path: str, data: bytes, *, new: bool, ids: dict[str, str] | None = None) -> list[Problem]:
    if claims_private(path) and new:
        return [Problem(path, 1, "", _PRIVATE, "error")]
    kind = kind_of(path)
    if kind is None:
        return []
    try:
        text = decode(data)
        parsed = parse_plain(text) if KINDS[kind].body == "none" else parse(text)
    except FrontmatterError as err:
        return [unreadable(err, path)]
    found = check(kind, parsed, path, new=new)
    return found if ids is None else found + _claim(path, parsed, ids)


def _claim(path: str, parsed: Parsed, ids: dict[str, str]) -> list[Problem]:
    ident = str(parsed.fields.get("id") or "")
    first = ids.setdefault(ident, path) if ident else path
    if first == path:
        return []
    message = f"is also the id of {first}; the next snapshot gives the younger file its own."
    return [Problem(path, parsed.lines.get("id", 1), "id", message, "error")]


def _of_names(layout: Layout, user: str | None) -> list[Problem]:
    """Folders whose names do not hold everywhere, or look like a neighbour's."""
    found = []
    for folder, what in _NAMED.items():
        if folder in (MEMORY, TASKS) and user is None:
            continue
        place = _place(layout, folder)
        names = (
            sorted(name for name in os.listdir(place) if os.path.isdir(os.path.join(place, name)))
            if os.path.isdir(place)
            else []
        )
        for number, name in enumerate(names):
            if name.startswith("."):
                continue
            try:
                confined(name, what)
                refuse_lookalike(name, names[:number], what)
            except Invalid as err:
                found.append(Problem(f"{folder}/{name}", 1, "", err.message, "error"))
    return found


def _planted(layout: Layout) -> list[str]:
    from ctxrepo.store.guards import planted_paths

    return planted_paths(team_store(layout.root, layout.git_dir))


def _staged(layout: Layout) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file that the index holds otherwise than HEAD."""
    git = team_store(layout.root, layout.git_dir).git
    listing = git.run("diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=d")
    for raw in listing.split(b"\0"):
        path = os.fsdecode(raw)
        if path and (kind_of(path) is not None or claims_private(path)):
            yield path, git.run("cat-file", "blob", f":{path}")

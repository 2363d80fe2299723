"""`ctxrepo check`: every problem of the assets in front of us, read from the files themselves.

It works without an index and without a user, because it also runs as a pre-commit hook and on a
machine that has only the team store.  What is checked beyond the files' own tables: names of folders that another
system could not hold or tell apart, ids that two files claim, private paths in the team's repository.

Content comes from the working tree, from git's index (`staged`: inside a pre-commit hook from the index that
git is about to commit, which for `git commit -a` is not the usual one), or from a commit (`between`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxrepo.asset.check import Problem, check, unreadable
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, check_size, decode, parse, parse_plain
from ctxrepo.asset.kinds import KINDS, kind_of
from ctxrepo.errors import Invalid, NotFound, UsageFault
from ctxrepo.store.git import Git, GitFailed
from ctxrepo.store.guards import claims_private, planted_paths
from ctxrepo.store.private import team_store
from ctxrepo.text.names import confined, refuse_lookalike
from ctxrepo.workspace.layout import MARKER, MEMORY, TASKS, Layout, current_folder, memory_of

_NAMED = {"knowledge": "knowledge base", "skills": "skill", MEMORY: "user", TASKS: "task"}
_TEAM_PLACES = (MARKER, "access.yaml", "knowledge", "skills")
_SYMLINK, _SUBMODULE = "120000", "160000"
_LINK = "This is a symbolic link; links are not followed."
_PRIVATE = "lies in a private folder, which the team's repository must not hold; `ctxrepo doctor --fix` takes it out."


def check_workspace(
    layout: Layout,
    user: str | None,
    paths: Sequence[str] = (),
    *,
    staged: bool = False,
    between: str | None = None,
) -> dict[str, Any]:
    """Every problem, in the order of the paths.

    Args:
        layout: the workspace.
        user: whose private stores are checked too; None checks the team store alone.
        paths: files or folders to check; all assets when empty.
        staged: check what the next commit of the team store would hold instead of the working tree.
        between: check what the commits `A...B` changed, as B holds it.

    Returns:
        `results` (path, line, field, message, level, and `text`, the line that is printed), and how many files
        were `checked`, how many `errors` and `warnings` there are.

    Raises:
        UsageFault: a path that is not in the workspace, or two things to check at once.
        NotFound: no such path, or no such commit.
    """
    if sum((bool(paths), staged, between is not None)) > 1:
        raise UsageFault("Paths, --staged and --range exclude each other.", hint="ctxrepo check --staged")
    if staged or between is not None:
        git = team_store(layout.root, layout.git_dir).git
        changed = _staged(git, layout) if between is None else _between(git, between)
        ids: dict[str, str] = {}
        found = [Problem(path, 1, "", _LINK, "error") for path, data in changed if data is None]
        for path, data in changed:
            found += _of_file(path, data, ids, new=True) if data is not None else []
        return _report(found, len(changed))
    return _of_tree(layout, user, paths)


def _report(found: Iterable[Problem], checked: int) -> dict[str, Any]:
    problems = sorted(set(found))
    fields = ("path", "line", "field", "message", "level")
    return {
        "results": [{name: getattr(each, name) for name in fields} | {"text": str(each)} for each in problems],
        "checked": checked,
        "errors": sum(problem.level == "error" for problem in problems),
        "warnings": sum(problem.level != "error" for problem in problems),
    }


def _of_tree(layout: Layout, user: str | None, paths: Sequence[str]) -> dict[str, Any]:
    """Problems of the files on disk; of all of them also what only shows in the whole."""
    chosen = [_inside(layout, path) for path in paths]
    places = chosen or [*_TEAM_PLACES, *([memory_of(user), TASKS] if user else [])]
    ids: dict[str, str] = {}
    found: list[Problem] = []
    checked = 0
    for path, full in _files(layout, places):
        found += [Problem(path, 1, "", _LINK, "error")] if os.path.islink(full) else _of_disk(path, full, ids)
        checked += 1
    if not chosen:
        found += _of_names(layout, user)
        planted = planted_paths(team_store(layout.root, layout.git_dir))
        found += [Problem(path, 1, "", _PRIVATE, "error") for path in planted]
    return _report(found, checked)


def _inside(layout: Layout, path: str) -> str:
    """A path given by a person, from the current folder or the workspace, as a path in the workspace.

    Raises:
        NotFound: there is nothing there. UsageFault: it lies outside.
    """
    outside = False
    for base in (current_folder(), layout.root, layout.private_root):
        full = os.path.join(base, path)
        if not os.path.lexists(full):
            continue
        folder, name = os.path.split(os.path.abspath(full))
        real = os.path.join(os.path.realpath(folder), name)
        for root in (layout.root, layout.private_root):
            relative = os.path.relpath(real, os.path.realpath(root)).replace(os.sep, "/")
            if relative != ".." and not relative.startswith("../"):
                return "" if relative == "." else relative
        outside = True
    if outside:
        raise UsageFault(f"{path} is not in the workspace {layout.root}.", hint="ctxrepo check")
    raise NotFound(f"There is no file or folder {path}.", hint="ctxrepo check")


def _place(layout: Layout, path: str) -> str:
    """Where a path of the workspace lies on disk."""
    private = path.partition("/")[0] in (MEMORY, TASKS)
    return os.path.join(layout.private_root if private else layout.root, path)


def _files(layout: Layout, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(path in the workspace, path on disk) of every asset at or below `paths`, and of every link in their way."""
    for path in dict.fromkeys(paths):
        full = _place(layout, path) if path else layout.root
        if os.path.islink(full) or os.path.isfile(full):
            if os.path.islink(full) or kind_of(path) is not None:
                yield path, full
            continue
        for here, folders, names in os.walk(full):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            below = [name for name in folders if os.path.islink(os.path.join(here, name))]
            for name in [*below, *sorted(names)]:
                file = os.path.join(here, name)
                inner = os.path.relpath(file, full).replace(os.sep, "/")
                whole = f"{path}/{inner}" if path else inner
                if kind_of(whole) is not None or (name in below and kind_of(f"{whole}/x/x.md") is not None):
                    yield whole, file


def _of_disk(path: str, full: str, ids: dict[str, str]) -> list[Problem]:
    """Problems of one file; `ids` collects who claimed which id first."""
    try:
        check_size(os.stat(full).st_size)
        with open(full, "rb") as handle:
            data = handle.read()
    except FrontmatterError as err:
        return [unreadable(err, path)]
    except OSError as err:
        return [Problem(path, 1, "", f"The file cannot be read: {err.strerror}.", "error")]
    return _of_file(path, data, ids, new=False)


def _of_file(path: str, data: bytes, ids: dict[str, str], *, new: bool) -> list[Problem]:
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
    return check(kind, parsed, path, new=new) + _claim(path, parsed, ids)


def _claim(path: str, parsed: Parsed, ids: dict[str, str]) -> list[Problem]:
    ident = str(parsed.fields.get("id") or "")
    first = ids.setdefault(ident.upper(), path) if ident else path
    if first == path:
        return []
    mended = "the next snapshot gives the younger file its own" if claims_private(path) else "take it out of the copy"
    return [Problem(path, parsed.lines.get("id", 1), "id", f"is also the id of {first}; {mended}.", "error")]


def _of_names(layout: Layout, user: str | None) -> list[Problem]:
    """Folders whose names do not hold everywhere, or look like a neighbour's."""
    found = []
    for folder, what in _NAMED.items():
        if folder in (MEMORY, TASKS) and user is None:
            continue
        place = _place(layout, folder)
        listed = sorted(os.listdir(place)) if os.path.isdir(place) else []
        names = [name for name in listed if not name.startswith(".") and os.path.isdir(os.path.join(place, name))]
        for number, name in enumerate(names):
            if folder == TASKS and name == "archive":
                continue
            try:
                confined(name, what)
                refuse_lookalike(name, names[:number], what)
            except Invalid as err:
                found.append(Problem(f"{folder}/{name}", 1, "", err.message, "error"))
    return found


def _staged(git: Git, layout: Layout) -> list[tuple[str, bytes | None]]:
    """(path, content) of every asset that the index holds otherwise than HEAD; None for a link."""
    return _changed(git, "--cached", env=_index_of_hook(layout))


def _index_of_hook(layout: Layout) -> Mapping[str, str]:
    """The index that git made for the commit whose hook we run in; empty elsewhere, and for another repository's."""
    named = os.environ.get("GIT_INDEX_FILE")
    if not named:
        return {}
    full = os.path.realpath(os.path.join(current_folder(), named))
    ours = os.path.dirname(full) == os.path.realpath(layout.git_dir)
    return {"GIT_INDEX_FILE": full} if ours else {}


def _between(git: Git, between: str) -> list[tuple[str, bytes | None]]:
    """(path, content) of every asset that the commits `A...B`, or `A..B`, changed, as B holds it; None for a link."""
    start, _, end = between.partition("...") if "..." in between else between.partition("..")
    if not start or not end or start.startswith("-") or end.startswith("-"):
        raise UsageFault(f"{between!r} is no range of commits.", hint="ctxrepo check --range origin/main...HEAD")
    try:
        return _changed(git, f"{start}...{end}")
    except GitFailed as fault:
        raise NotFound(f"git knows no range {between}: {fault.message}", hint="git log --oneline") from None


def _changed(git: Git, what: str, env: Mapping[str, str] | None = None) -> list[tuple[str, bytes | None]]:
    """(path, new content) of the assets, and of the private paths, among the files that differ."""
    listing = git.run("diff", "--raw", "--no-abbrev", "-z", "--no-renames", "--diff-filter=d", what, "--", env=env)
    words = listing.split(b"\0")
    found: list[tuple[str, str]] = []
    links: set[str] = set()
    for about, raw in zip(words[::2], words[1::2], strict=False):
        _, mode, _, blob, _ = about.decode("ascii").split()
        path = os.fsdecode(raw)
        if mode != _SUBMODULE and (kind_of(path) is not None or claims_private(path)):
            found.append((path, blob))
            links |= {path} if mode == _SYMLINK else set()
    contents = _blobs(git, [blob for _, blob in found])
    return [(path, None if path in links else data) for (path, _), data in zip(found, contents, strict=True)]


def _blobs(git: Git, ids: Sequence[str]) -> Iterator[bytes]:
    """The contents of blobs, in order, read by one process."""
    out = git.run("cat-file", "--batch", data="".join(f"{blob}\n" for blob in ids).encode()) if ids else b""
    at = 0
    for _ in ids:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[-1])
        yield out[end + 1 : end + 1 + size]
        at = end + size + 2

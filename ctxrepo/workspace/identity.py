"""Which project a folder belongs to: one rule, for reading and for writing.

Memory of project A must not appear in project B, and must be found again wherever one works on A. Other
tools took the current folder's name, or what git said at that moment, and read under one key what they
had written under another: in a linked worktree, a submodule, a sub-folder, or after a `cd` outside git.
So there is one function, and everything that reads or writes a project calls it:

1. a fixed name from the settings, as it is;
2. else the main repository that holds the folder: its linked worktrees and sub-folders share its identity,
   a submodule or another nested repository is a project of its own;
3. else the folder in which the session started, or the repository that holds that folder.

A repository is named by its `origin` (`github.com/acme/billing`), because that is the same on a
colleague's machine and in a second clone. Without one its name is the folder's with six hex digits of
the path, `billing-1f0c4e`: two folders called `billing` are two projects, and memory that mixes them is
worse than memory that is lost when the folder moves (a fixed name mends that). An `origin` that is a
path on this machine counts as that folder, so a clone shares the project of what it was cloned from.

The recall hook calls this at every prompt. It therefore reads the few files itself; starting `git`
would cost more than the whole recall. Environment variables such as `GIT_DIR` are ignored: a hook
that inherits them from somebody's `git commit` would name another repository than the one it stands in.
Not read: `include` and `insteadOf` in git's configuration, and any remote but `origin`.
"""

from __future__ import annotations

import os
import re
import zlib

CONFIG_LIMIT = 1_000_000  # bytes; a larger .git/config is no configuration
GITFILE_LIMIT = 8_192

# Hosts that a forge offers beside its own name, so that SSH passes a firewall.
HOST_ALIASES = {
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.gitlab.com": "gitlab.com",
    "ssh.dev.azure.com": "dev.azure.com",
    "ssh.github.com": "github.com",
}

_URL = re.compile(r"(?:[A-Za-z][\w+.-]*://)(?:[^/@]*@)*(?P<host>\[[^\]]*\]|[^/:]*)(?::\d*)?(?P<path>/.*|$)", re.S)
_SCP = re.compile(r"(?:[^/@:]*@)?(?P<host>\[[^\]]*\]|[^/:\\]{2,}):(?P<path>.*)", re.S)
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"\s*([A-Za-z][\w-]*)\s*=(.*)", re.S)
_VALUE_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|\\(.)|([#;].*)|([^"\\#;]+)', re.S)
_UNSAFE = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\"'`<>\\\\|*?#,;{}]+"
)


def project_identity(cwd: str, *, fixed: str | None = None, session_root: str | None = None) -> str:
    """Names the project that somebody works on in the folder `cwd`.

    Args:
        cwd: the current folder; it need not exist any more.
        fixed: a name from the settings that overrides everything.
        session_root: the folder in which the session started, if the caller knows it. It decides when
            `cwd` lies in no repository, so that a `cd` does not change the project.

    Returns:
        The identity: lower case (forges do not tell case apart) unless fixed, without blanks, never empty.
    """
    if fixed and fixed.strip():
        return fixed.strip()
    places = [_real(place) for place in (cwd, session_root) if place]
    for place in places:
        found = _find_repository(place)
        if found:
            return _repository_identity(*found)
    return _folder_identity(places[-1] if places else _real("."))


def remote_identity(url: str) -> str | None:
    """Reduces a remote's URL to `host/path`, the same for every way of reaching it.

    Credentials, port, scheme, a final `.git` and case are dropped. None for a path on this machine and
    for a URL that names no repository.
    """
    url = url.strip()
    match = _URL.fullmatch(url) or (None if "://" in url else _SCP.fullmatch(url))
    if not match or url.lower().startswith("file:"):
        return None
    host = match["host"].lower().strip("[].")
    host = HOST_ALIASES.get(host, host)
    path = _decode_percent(match["path"]).lower()
    if host == "dev.azure.com":
        path = re.sub(r"^/?v3/", "/", path).replace("/_git/", "/")
    parts = [part for part in path.split("/") if part not in ("", ".", "..", ".git")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    return _clean("/".join([host, *parts])) if host and any(parts) else None


def _real(path: str) -> str:
    return os.path.realpath(path.replace("\0", ""))


def _find_repository(folder: str) -> tuple[str | None, str] | None:
    """Climbs from `folder` to the first repository: its common git directory (None if gone) and its root."""
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isfile(dot_git):
            found = _follow_gitfile(dot_git, folder)
            if found:
                return found
        elif _is_git_dir(dot_git):
            return _common(dot_git)
        elif _is_git_dir(folder):
            return _common(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _is_git_dir(path: str) -> bool:
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    return os.path.isdir(os.path.join(path, "objects")) or os.path.isfile(os.path.join(path, "commondir"))


def _follow_gitfile(dot_git: str, folder: str) -> tuple[str | None, str] | None:
    """Reads `gitdir: …`; None when the file is no gitfile, or one of ours for a private store.

    A private store of a workspace (`memory/<user>`) is a part of that workspace, not a project. A gitfile
    that leads nowhere still marks a root: that of the main repository if its path tells, else its own folder.
    """
    text = _read(dot_git, GITFILE_LIMIT)
    if not text.startswith("gitdir:"):
        return None
    target = text.removeprefix("gitdir:").strip()
    slashed = target.replace("\\", "/")
    if "/ctxrepo/stores/" in slashed:
        return None
    for candidate in (target, slashed, *_across_systems(slashed)):
        git_dir = os.path.join(folder, candidate)
        if _is_git_dir(git_dir):
            return _common(git_dir)
    main = slashed.rpartition("/.git/worktrees/")[0]
    if re.match("[A-Za-z]:/", main):
        return None, main
    return None, (_real(os.path.join(folder, main)) if main else folder)


def _across_systems(path: str) -> list[str]:
    """The same place seen from inside a Linux that shares a machine with Windows."""
    drive = re.fullmatch(r"([A-Za-z]):/(.*)", path)
    linux = re.fullmatch(r"//wsl(?:\.localhost|\$)/[^/]+(/.*)", path)
    return ([f"/mnt/{drive[1].lower()}/{drive[2]}"] if drive else []) + ([linux[1]] if linux else [])


def _common(git_dir: str) -> tuple[str, str]:
    """The git directory that all worktrees share, and the root that stands for the repository.

    The root is the main worktree, or the git directory itself where no file says which folder that is
    (bare, or set apart): the worktrees of such a repository know nothing else in common.
    """
    pointer = _read(os.path.join(git_dir, "commondir"), GITFILE_LIMIT).strip()
    common = _real(os.path.join(git_dir, pointer.replace("\\", "/"))) if pointer else _real(git_dir)
    worktree = _config_value(common, "config", "core", None, "worktree") or _config_value(
        common, "config.worktree", "core", None, "worktree"
    )
    if worktree:
        return common, _real(os.path.join(common, worktree.replace("\\", "/")))
    return common, os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _repository_identity(common: str | None, root: str) -> str:
    url = _config_value(common, "config", "remote", "origin", "url") if common else None
    if not url:
        return _folder_identity(root)
    identity = remote_identity(url)
    if identity or ("://" in url and not url.lower().startswith("file://")):
        return identity or _folder_identity(root)
    path = re.sub(r"^file://(localhost)?", "", url, flags=re.I)
    origin = _real(os.path.join(root, path))
    return _folder_identity(os.path.dirname(origin) if os.path.basename(origin) == ".git" else origin)


def _folder_identity(path: str) -> str:
    """`<name>-<six hex digits of the path>`; a bare repository is called by its name without `.git`."""
    name = os.path.basename(path).lower().removesuffix(".git")
    if not name or name.startswith("."):
        name = os.path.basename(os.path.dirname(path)).lower() + name
    digest = zlib.crc32(os.fsencode(path)) & 0xFFFFFF
    return f"{_clean(name).strip('-/') or 'root'}-{digest:06x}"


def _config_value(git_dir: str, name: str, section: str, subsection: str | None, key: str) -> str | None:
    """The first value of a key in one of git's configuration files; None when it is not there."""
    text = _read(os.path.join(git_dir, name), CONFIG_LIMIT).removeprefix("\ufeff")
    here: tuple[str, str | None] = ("", None)
    for line in re.sub(r"\\\r?\n", "", text).split("\n"):
        header = _SECTION.match(line)
        if header:
            main, _, dotted = header[1].partition(".")
            quoted = None if header[2] is None else re.sub(r"\\(.)", r"\1", header[2])
            here = (main.lower(), quoted if quoted is not None else dotted.lower() or None)
            line = line[header.end() :]
        entry = _ENTRY.match(line)
        if entry and here == (section, subsection) and entry[1].lower() == key:
            return _unquote(entry[2]) or None
    return None


def _unquote(raw: str) -> str:
    escapes = {"n": "\n", "t": "\t", "b": "\b"}
    parts = []
    for quoted, escaped, comment, plain in _VALUE_PART.findall(raw):
        if comment:
            break
        parts.append(re.sub(r"\\(.)", lambda hit: escapes.get(hit[1], hit[1]), quoted) + escapes.get(escaped, escaped))
        parts.append(plain)
    return "".join(parts).strip()


def _read(path: str, limit: int) -> str:
    if not os.path.isfile(path):  # opening a pipe would wait for ever
        return ""
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _decode_percent(text: str) -> str:
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda hit: bytes([int(hit[1], 16)]), text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "replace")


def _clean(name: str) -> str:
    return _UNSAFE.sub("-", name)

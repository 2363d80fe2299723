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
would cost more than the whole recall, and compiling regular expressions a tenth of it. Environment
variables such as `GIT_DIR` are ignored: a hook that inherits them from somebody's `git commit` would name
another repository than the one it stands in.
Not read: `include` and `insteadOf` in git's configuration, and any remote but `origin`.
"""

from __future__ import annotations

import os
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

_UNSAFE = frozenset(" \"'`<>\\|*?#,;{}")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


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
    found = _host_and_path(url) if "://" in url else _scp_host_and_path(url)
    if found is None or url.lower().startswith("file:"):
        return None
    host = found[0].lower().strip("[].")
    host = HOST_ALIASES.get(host, host)
    path = _decode_percent(found[1]).lower()
    if host == "dev.azure.com":
        path = path.removeprefix("/").removeprefix("v3/").replace("/_git/", "/")
    parts = [part for part in path.split("/") if part not in ("", ".", "..", ".git")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    return _clean("/".join([host, *parts])) if host and any(parts) else None


def _host_and_path(url: str) -> tuple[str, str] | None:
    """The parts of `scheme://user@host:port/path`."""
    scheme, _, rest = url.partition("://")
    if not scheme[:1].isalpha() or not all(char.isalnum() or char in "+.-_" for char in scheme):
        return None
    authority, slash, path = rest.partition("/")
    place = authority.rpartition("@")[2]
    bracket = place.find("]") + 1 if place.startswith("[") else 0
    host, _, port = place[bracket:].partition(":")
    return (place[:bracket] + host, slash + path) if not port or port.isdigit() else None


def _scp_host_and_path(url: str) -> tuple[str, str] | None:
    """The parts of `user@host:path`, the short form of SSH; a Windows path is none."""
    person, at, rest = url.partition("@")
    if not at or "/" in person or ":" in person:
        rest = url
    bracket = rest.find("]") + 1 if rest.startswith("[") else 0
    host, colon, path = rest[bracket:].partition(":")
    host = rest[:bracket] + host
    return (host, path) if colon and len(host) > 1 and "/" not in host and "\\" not in host else None


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
    if main[1:3] == ":/" and main[0].isalpha():
        return None, main
    return None, (_real(os.path.join(folder, main)) if main else folder)


def _across_systems(path: str) -> list[str]:
    """The same place seen from inside a Linux that shares a machine with Windows."""
    if path[1:3] == ":/" and path[0].isalpha():
        return [f"/mnt/{path[0].lower()}/{path[3:]}"]
    for share in ("//wsl.localhost/", "//wsl$/"):
        if path.startswith(share):
            system, slash, rest = path.removeprefix(share).partition("/")
            return [slash + rest] if system and slash else []
    return []


def _common(git_dir: str) -> tuple[str, str]:
    """The git directory that all worktrees share, and the root that stands for the repository.

    The root is the main worktree, or the git directory itself where no file says which folder that is
    (bare, or set apart): the worktrees of such a repository know nothing else in common.
    """
    pointer = _read(os.path.join(git_dir, "commondir"), GITFILE_LIMIT).strip()
    common = _real(os.path.join(git_dir, pointer.replace("\\", "/"))) if pointer else _real(git_dir)
    worktree = config_value(common, "config", "core", None, "worktree") or config_value(
        common, "config.worktree", "core", None, "worktree"
    )
    if worktree:
        return common, _real(os.path.join(common, worktree.replace("\\", "/")))
    return common, os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _repository_identity(common: str | None, root: str) -> str:
    url = config_value(common, "config", "remote", "origin", "url") if common else None
    if not url:
        return _folder_identity(root)
    identity = remote_identity(url)
    if identity or ("://" in url and not url.lower().startswith("file://")):
        return identity or _folder_identity(root)
    path = url[len("file://") :] if url.lower().startswith("file://") else url
    origin = _real(os.path.join(root, path.removeprefix("localhost") if path != url else path))
    return _folder_identity(os.path.dirname(origin) if os.path.basename(origin) == ".git" else origin)


def _folder_identity(path: str) -> str:
    """`<name>-<six hex digits of the path>`; a bare repository is called by its name without `.git`."""
    name = os.path.basename(path).lower().removesuffix(".git")
    if not name or name.startswith("."):
        name = os.path.basename(os.path.dirname(path)).lower() + name
    digest = zlib.crc32(os.fsencode(path)) & 0xFFFFFF
    return f"{_clean(name).strip('-/') or 'root'}-{digest:06x}"


def config_value(git_dir: str, name: str, section: str, subsection: str | None, key: str) -> str | None:
    """The first value of a key in one of git's configuration files; None when it is not there."""
    text = _read(os.path.join(git_dir, name), CONFIG_LIMIT).removeprefix("\ufeff")
    if key not in text.lower():
        return None
    here: tuple[str, str | None] = ("", None)
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        line = line.strip()
        if line.startswith("["):
            header, _, line = line[1:].partition("]")
            main, quote, named = header.strip().partition('"')
            main, _, dotted = main.strip().partition(".")
            here = (main.lower(), _unquote(quote + named) if quote else dotted.lower() or None)
        name, equals, value = line.partition("=")
        if equals and here == (section, subsection) and name.strip().lower() == key:
            return _unquote(value) or None
    return None


def _unquote(raw: str) -> str:
    """A value as git reads it: escapes, quotes, and a comment that begins outside of them."""
    parts = []
    quoted = False
    rest = iter(raw.strip())
    for char in rest:
        if char == "\\":
            escaped = next(rest, "")
            parts.append(_ESCAPES.get(escaped, escaped))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            parts.append(char)
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
    first, *rest = text.encode("utf-8", "surrogateescape").split(b"%")
    parts = [first]
    for part in rest:
        try:
            parts.append(bytes([int(part[:2], 16)]) + part[2:] if len(part) > 1 else b"%" + part)
        except ValueError:
            parts.append(b"%" + part)
    return b"".join(parts).decode("utf-8", "replace")


def _clean(name: str) -> str:
    """The name with every run of blanks, invisible and unsafe characters as one hyphen."""
    kept: list[str] = []
    for char in name:
        if char.isprintable() and char not in _UNSAFE:
            kept.append(char)
        elif kept[-1:] != ["-"]:
            kept.append("-")
    return "".join(kept)

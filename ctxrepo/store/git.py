"""The one place that starts git.

A child gets an environment that is built, not inherited: ctxrepo runs inside other people's git
hooks, where `GIT_DIR` and `GIT_INDEX_FILE` point at their repository and a plain `git add` would
stage our file there. Repository and work tree are always named, because with its gitfile gone
`git -C memory/me` silently means the team's repository. Hooks, signing and the file system monitor
are off: an automatic commit must neither run a stranger's program nor wait for a passphrase.

Children run in a session of their own: a Ctrl-C or a `kill -9` of our process group then lets
a git that is half way through finish its few milliseconds and take its own locks away.

Rejected: GitPython's `repo.git`, which hands `os.environ` through and can add variables but not drop
them, and whose import alone costs as much as a whole transaction.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from ctxrepo.errors import CtxError

LOCAL_TIMEOUT = 300.0
NETWORK_TIMEOUT = 600.0
MOST_PATHS = 1000
_KEPT = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_\w+|HTTP_\w+|PROXY_\w+|ALLOW_PROTOCOL|EXEC_PATH"
    r"|CONFIG_NOSYSTEM|CONFIG_GLOBAL|CONFIG_SYSTEM|ATTR_NOSYSTEM)"
)
_QUIET = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "commit.gpgsign=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.fsync=committed,loose-object"),
)
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_AUTHORIZATION = re.compile(r"(?i)(authorization\s*:\s*|private-token\s*:\s*)[^'\"\r\n]+")


class GitFailed(CtxError):
    """Git ended with an error; `status` is its exit code and `output` what it said."""

    def __init__(self, message: str, *, status: int, output: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.output = output


def mask(text: str) -> str:
    """Returns `text` without the credentials that git repeats from URLs and headers."""
    return _AUTHORIZATION.sub(r"\1***", _CREDENTIALS.sub("***@", text))


def environment(inherited: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment of a git child: no `GIT_*` of a repository, no prompts, English messages."""
    kept = {key: value for key, value in inherited.items() if not key.startswith("GIT_") or _KEPT.fullmatch(key)}
    kept.pop("LANGUAGE", None)
    return (
        kept
        | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GCM_INTERACTIVE": "never"}
        | {
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            **(extra or {}),
        }
    )


class Git:
    """Git for one repository.

    Args:
        git_dir: its git directory (of a linked worktree: that worktree's).
        work_tree: the folder with its files; git also runs there.
    """

    def __init__(self, git_dir: str, work_tree: str) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree

    def command(self, args: Sequence[str], *, config: Iterable[str] = (), hooks: bool = False) -> list[str]:
        """Returns the whole command line of `git ARGS` for this repository."""
        settings = [part for setting in config for part in ("-c", setting)]
        quiet = _QUIET[2:] if hooks else _QUIET
        where = [f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}"]
        return ["git", *quiet, *settings, *where, *args]

    def run(
        self,
        *args: str,
        data: bytes = b"",
        ok: Sequence[int] = (0,),
        config: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = LOCAL_TIMEOUT,
        hooks: bool = False,
    ) -> bytes:
        """Runs git to its end and returns what it printed.

        Args:
            data: what it reads on its standard input.
            ok: exit codes that are no failure.
            config: `key=value` settings for this call.
            env: further variables, such as `GIT_INDEX_FILE`.
            timeout: seconds, after which it is ended.
            hooks: whether the user's hooks may run (a push of the team store only).

        Raises:
            GitFailed: any other exit code, with git's own words, credentials masked.
        """
        return self.result(*args, data=data, ok=ok, config=config, env=env, timeout=timeout, hooks=hooks).stdout

    def result(
        self,
        *args: str,
        data: bytes = b"",
        ok: Sequence[int] = (0,),
        config: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = LOCAL_TIMEOUT,
        hooks: bool = False,
    ) -> subprocess.CompletedProcess[bytes]:
        """Like `run`, but returns the exit code as well."""
        child = self.start(*args, config=config, env=env, hooks=hooks)
        try:
            out, err = child.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            end(child)
            raise GitFailed(
                f"git {args[0]} did not finish within {timeout:.0f} seconds.", status=-1, output=""
            ) from None
        except BaseException:
            end(child)
            raise
        if child.returncode not in ok:
            raise failure(args, child.returncode, err)
        return subprocess.CompletedProcess(list(args), child.returncode, out, err)

    def start(
        self,
        *args: str,
        config: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Starts git with all three streams piped, in a session of its own."""
        return spawn(self.command(args, config=config, hooks=hooks), cwd=self._folder(), env=env)

    def _folder(self) -> str:
        return self.work_tree if os.path.isdir(self.work_tree) else self.git_dir


def pathspecs(paths: Sequence[str]) -> Sequence[str]:
    """Returns the paths to name on a command line; none, which means all, when they would not fit on it."""
    return paths if len(paths) <= MOST_PATHS else []


def run_git(*args: str, cwd: str, env: Mapping[str, str] | None = None, timeout: float = LOCAL_TIMEOUT) -> bytes:
    """Runs git where no repository is known yet (`init`, `clone`, `rev-parse` in a folder)."""
    child = spawn(["git", *_QUIET, *args], cwd=cwd, env=env)
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException:
        end(child)
        raise
    if child.returncode != 0:
        raise failure(args, child.returncode, err)
    return out


def spawn(command: list[str], *, cwd: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a git command line.

    Raises:
        CtxError: git is not installed, or the folder is gone.
    """
    try:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=environment(os.environ, env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as fault:
        if fault.filename == cwd:
            raise CtxError(f"The folder {cwd} does not exist.") from None
        raise CtxError("git is not installed, or not on the PATH.", hint="apt install git") from None


def end(child: subprocess.Popen[bytes]) -> None:
    """Ends a child with everything that it started; gives it a moment to take its locks away."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signum)
        try:
            child.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            continue
        break
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def failure(args: Sequence[str], status: int, stderr: bytes) -> GitFailed:
    """Returns the error for a git command that failed, in git's own words."""
    said = mask(stderr.decode("utf-8", "replace")).strip()
    verb = next((arg for arg in args if not arg.startswith("-")), "")
    first = said.splitlines()[0] if said else f"exit code {status}"
    error = GitFailed(f"git {verb} failed: {first}", status=status, output=said)
    error.details = said.splitlines()[1:21]
    return error

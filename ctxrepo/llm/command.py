"""A model behind a command that reads a prompt on stdin and prints its answer: `claude -p`, `codex exec`, `llm`.

No shell, one process group with one deadline, a largest answer, an empty folder of its own (so that no project's
instructions, settings or hooks apply), and a mark in the environment: whatever of ctxrepo runs below it (hooks
above all) sees the mark and does nothing, otherwise a memory would be made of the question how to make memories.

For commands that are known, the flags that keep them from being agents are added, unless the user gave flags.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from ctxrepo.errors import UsageFault
from ctxrepo.llm.model import Limits, ModelFailed, Question
from ctxrepo.text.hidden import show_hidden
from ctxrepo.text.secrets import mask

DEPTH = "CTXREPO_LLM_DEPTH"
QUIET = {"CTXREPO_HOOK": "off", "CTXREPO_BACKGROUND": "off", DEPTH: "1"}
_DROPPED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR")
_KNOWN: dict[tuple[str, ...], tuple[str, ...]] = {
    ("claude", "-p"): (
        *("--output-format", "json", "--tools", "", "--setting-sources", "", "--strict-mcp-config"),
        *("--no-session-persistence", "--max-turns", "1"),
    ),
    ("codex", "exec"): ("-", "-s", "read-only", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config"),
}
_ERRORS = 4000


@dataclass(slots=True)
class Command:
    """A way to a model through a program.

    Args:
        line: the command line as the user wrote it; split like a shell does, run without one.
        inherited: the environment to start from.
    """

    line: str
    inherited: Mapping[str, str]

    def __post_init__(self) -> None:
        self.argv()

    def argv(self) -> list[str]:
        """The program and its arguments.

        Raises:
            UsageFault: nothing to run, or a quote that does not close.
        """
        try:
            words = shlex.split(self.line)
        except ValueError as fault:
            raise UsageFault(f"llm.command cannot be read: {fault}.", hint="llm.command: claude -p") from None
        if not words:
            raise UsageFault("llm.command is empty.", hint="llm.command: claude -p")
        return [*words, *_KNOWN.get((os.path.basename(words[0]), *words[1:]), ())]

    def __call__(self, question: Question, limits: Limits) -> str:
        parts = [
            question.system,
            *(text if role == "user" else f"You answered:\n{text}" for role, text in question.messages),
        ]
        prompt = "\n\n".join(part for part in parts if part)
        with tempfile.TemporaryDirectory(prefix="ctxrepo-llm-") as folder:
            status, out, err = self._run(prompt.encode("utf-8", "replace"), folder, limits)
        if status != 0:
            told = show_hidden(mask(" ".join(err.decode("utf-8", "replace").split())))[-300:]
            raise ModelFailed(f"{self._program} failed with code {status}{f': {told}' if told else ''}.", why="refused")
        return _unwrapped(out.decode("utf-8", "replace"), self._program)

    @property
    def _program(self) -> str:
        return os.path.basename(self.argv()[0])

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in self.inherited.items() if key not in _DROPPED}
        return kept | QUIET

    def _run(self, prompt: bytes, folder: str, limits: Limits) -> tuple[int, bytes, bytes]:
        try:
            child = subprocess.Popen(
                self.argv(),
                cwd=folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as fault:
            raise ModelFailed(
                f"{self._program} cannot be started: {fault.strerror}.", why="unreachable", hint="check llm.command"
            ) from None
        try:
            out, err = _talk(child, prompt, limits, self._program)
            return child.wait(timeout=5.0), out, err
        except subprocess.TimeoutExpired:
            raise _late(self._program, limits) from None
        finally:
            _end(child)


def _talk(child: subprocess.Popen[bytes], prompt: bytes, limits: Limits, program: str) -> tuple[bytes, bytes]:
    """Feeds and drains a child within the deadline; closes its streams."""
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    deadline = time.monotonic() + limits.seconds
    most = limits.characters_out * 8 + 65536
    out, err = bytearray(), bytearray()
    rest = memoryview(prompt)
    os.set_blocking(child.stdin.fileno(), False)
    with selectors.DefaultSelector() as waiting, child.stdout, child.stderr:
        waiting.register(child.stdin, selectors.EVENT_WRITE)
        waiting.register(child.stdout, selectors.EVENT_READ)
        waiting.register(child.stderr, selectors.EVENT_READ)
        while len(waiting.get_map()) > (child.stdin in _streams(waiting)):
            left = deadline - time.monotonic()
            if left <= 0:
                raise _late(program, limits)
            for key, _ in waiting.select(left):
                if key.fileobj is child.stdin:
                    rest = _feed(child, waiting, rest)
                    continue
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    waiting.unregister(key.fileobj)
                elif key.fileobj is child.stdout:
                    out += chunk
                else:
                    err = (err + chunk)[-_ERRORS:]
            if len(out) > most:
                raise ModelFailed(f"{program} printed more than {most:,} bytes.", why="too-long")
    return bytes(out), bytes(err)


def _streams(waiting: selectors.BaseSelector) -> list[object]:
    return [key.fileobj for key in waiting.get_map().values()]


def _feed(child: subprocess.Popen[bytes], waiting: selectors.BaseSelector, rest: memoryview) -> memoryview:
    assert child.stdin is not None
    try:
        rest = rest[os.write(child.stdin.fileno(), rest[:65536]) :]
    except BlockingIOError:
        return rest
    except OSError:
        rest = rest[:0]
    if not rest:
        waiting.unregister(child.stdin)
        with suppress(OSError):
            child.stdin.close()
    return rest


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends what still runs of the child and of everything that it started."""
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdin is not None:
        with suppress(OSError):
            child.stdin.close()


def _late(program: str, limits: Limits) -> ModelFailed:
    return ModelFailed(f"{program} did not answer within {limits.seconds:g} seconds.", why="late", again=True)


def _unwrapped(text: str, program: str) -> str:
    """The answer inside the envelope that `claude --output-format json` prints; any other text as it is."""
    if not text.lstrip().startswith('{"') or '"type"' not in text:
        return text
    try:
        envelope = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(envelope, dict) or envelope.get("type") != "result":
        return text
    if envelope.get("is_error") or not isinstance(envelope.get("result"), str):
        raise ModelFailed(f"{program} reported an error instead of an answer.", why="refused")
    return str(envelope["result"])

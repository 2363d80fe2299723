"""A model behind a command: real programs that answer, hang, flood, fail, fork, and look around."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from ctxrepo.errors import UsageFault
from ctxrepo.llm.command import Command
from ctxrepo.llm.model import Limits, Model, ModelFailed

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@pytest.fixture
def program(tmp_path: Path):
    """Makes a program of a shell script, by the name that is wished."""

    def make(script: str, name: str = "model") -> str:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def model(line: str, **limits: float) -> Model:
    bounds = Limits(**{"seconds": 10.0, "retries": 0, **limits})  # type: ignore[arg-type]
    return Model("double", Command(line, os.environ), bounds, sleep=lambda _: None)


def test_prompt_on_stdin_answer_on_stdout(program) -> None:
    """System text, schema and prompt arrive on stdin, whole, Chinese and all; stdout is the answer."""
    line = program('cat > "$HOME/prompt"; echo \'```json\n{"ok": true}\n```\'')
    assert model(line).ask_json("是真的吗？" * 20_000, SCHEMA, system="Be exact.") == {"ok": True}
    prompt = Path(os.environ["HOME"], "prompt").read_text(encoding="utf-8")
    assert prompt.startswith("Be exact.")
    assert prompt.endswith("是真的吗？" * 20_000)
    assert '"required": ["ok"]' in prompt


def test_runs_quiet_and_elsewhere(program, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in an empty folder, marked so that ctxrepo's own hooks stay silent below it."""
    monkeypatch.setenv("CLAUDECODE", "1")
    line = program('cat >/dev/null; echo "$CTXREPO_HOOK $CTXREPO_LLM_DEPTH [$CLAUDECODE] $(ls -A | wc -l) $PWD"')
    hook, depth, nested, files, folder = model(line).ask("?").split()
    assert (hook, depth, nested, files) == ("off", "1", "[]", "0")
    assert "ctxrepo-llm-" in folder
    assert not Path(folder).exists()


def test_no_shell(program, tmp_path: Path) -> None:
    """The line is split as a shell does and run without one: nothing is expanded or chained."""
    line = program('cat >/dev/null; printf "%s|" "$@"')
    assert model(f"{line} 'two words' '$(touch {tmp_path}/x);' '*'").ask("?") == f"two words|$(touch {tmp_path}/x);|*|"
    assert not (tmp_path / "x").exists()


def test_hanging_program_is_ended_with_its_children(program, tmp_path: Path) -> None:
    """A program that never answers is ended at the deadline, and so is what it started."""
    line = program(f"sleep 60 & echo $! > {tmp_path}/child; sleep 60")
    start = time.monotonic()
    with pytest.raises(ModelFailed) as caught:
        model(line, seconds=0.5).ask("?")
    assert caught.value.why == "late"
    assert time.monotonic() - start < 3
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("the child of the program still runs")


def test_program_that_reads_nothing(program) -> None:
    """One that ignores a long prompt is no error; its answer counts."""
    assert model(program("echo fine")).ask("x" * 150_000) == "fine"


def test_background_child_does_not_hold_the_answer(program) -> None:
    """A grandchild that keeps stdout open is waited for no longer than the deadline."""
    start = time.monotonic()
    with pytest.raises(ModelFailed):
        model(program("cat >/dev/null; (sleep 30) & echo fine"), seconds=1).ask("?")
    assert time.monotonic() - start < 4


def test_flood(program) -> None:
    """Output without end is cut at the limit; errors without end do not fill the memory."""
    with pytest.raises(ModelFailed) as caught:
        model(program("yes"), characters_out=1000).ask("?")
    assert caught.value.why == "too-long"
    with pytest.raises(ModelFailed) as caught:
        model(program("cat >/dev/null; yes oops | head -c 3000000 >&2; exit 3")).ask("?")
    assert len(caught.value.message) < 500


def test_failure_is_told_without_secrets(program) -> None:
    """An exit code is a failure in the program's own words, keys masked, control characters shown."""
    line = program("cat >/dev/null; printf 'bad key sk-proj-abcdef123456789 \\033[31m' >&2; exit 7")
    with pytest.raises(ModelFailed) as caught:
        model(line).ask("?")
    assert "code 7" in caught.value.message
    assert "abcdef123456789" not in caught.value.message
    assert "\033" not in caught.value.message


def test_known_programs_are_kept_from_being_agents(program) -> None:
    """`claude -p` and `codex exec` get the flags that switch tools off; a line with flags stays as it is."""
    claude = program("", "claude")
    assert "--tools" in Command(f"{claude} -p", {}).argv()
    assert "read-only" in Command("codex exec", {}).argv()
    assert Command("claude -p --model x", {}).argv() == ["claude", "-p", "--model", "x"]
    assert Command("llm -m small", {}).argv() == ["llm", "-m", "small"]


def test_envelope(program) -> None:
    """The envelope of `claude --output-format json` is opened; an error in it is one."""
    good = json.dumps({"type": "result", "is_error": False, "result": '{"ok": true}'})
    assert model(program(f"cat >/dev/null; cat <<'X'\n{good}\nX")).ask_json("?", SCHEMA) == {"ok": True}
    bad = json.dumps({"type": "result", "is_error": True, "result": "limit reached"})
    with pytest.raises(ModelFailed):
        model(program(f"cat >/dev/null; cat <<'X'\n{bad}\nX")).ask("?")


def test_no_program() -> None:
    """A missing program is unreachable; an empty or broken line is refused when it is set up."""
    with pytest.raises(ModelFailed) as caught:
        model("/no/such/program --flag").ask("?")
    assert caught.value.why == "unreachable"
    for line in ("", "   ", "claude 'unclosed"):
        with pytest.raises(UsageFault):
            Command(line, {})

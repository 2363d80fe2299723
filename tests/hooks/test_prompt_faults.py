"""Whatever is wrong, the recall hook lets the agent go on: exit 0, stderr empty, nothing or a right answer, in time."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hooks.conftest import ASKS_CHILI, CHILI
from tests.support.git import git
from tests.support.live import COMMAND, EVENT, Fired, Live, payload

SECONDS = 3.0
SECRET = "zebra-7731"
INDEX = Path("state", "memory", "me", "index")


def silent(fired: Fired) -> bool:
    """Nothing was said, in order and in time."""
    return fired.context == "" and fired.seconds < SECONDS


def right(fired: Fired) -> bool:
    """The memory came as ever."""
    return fired.context.endswith(f") {CHILI}\n</recalled-memories>") and fired.seconds < SECONDS


def index_files(live: Live) -> list[Path]:
    return sorted(path for path in (live.local / INDEX).rglob("*") if path.is_file())


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The lock of a process that does not let go."""
    with path.open("r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def test_without_a_workspace_it_is_silent(live: Live, tmp_path: Path) -> None:
    """No folder, a folder that is none, a file: no answer, and no complaint."""
    (tmp_path / "file").touch()
    for place in (tmp_path / "nowhere", tmp_path, tmp_path / "file", "\udcff", ""):
        assert silent(live.fire(ASKS_CHILI, options=["--workspace", str(place)], env={"CTXREPO_WORKSPACE": None}))
    (live.root / "ctxrepo.yaml").unlink()
    assert silent(live.fire(ASKS_CHILI))


def test_a_workspace_that_nobody_has_set_up_here_is_silent(live: Live, tmp_path: Path) -> None:
    """A fresh clone has no users yet."""
    git(tmp_path, "clone", "-q", str(live.root), "clone")

    assert silent(live.fire(ASKS_CHILI, options=["--workspace", str(tmp_path / "clone")]))
    assert silent(live.fire(ASKS_CHILI, options=["--workspace", str(tmp_path / "clone"), "--user", "me"]))
    assert not (tmp_path / "clone" / ".git" / "ctxrepo").exists()


@pytest.mark.parametrize("where", ["", "state", INDEX, "stores", "stores/memory/me.git"])
def test_missing_local_state_is_silent_or_unimportant(live: Live, where: str | Path) -> None:
    """Any of the folders that ctxrepo keeps for itself may be gone."""
    shutil.rmtree(live.local / where)
    fired = live.fire(ASKS_CHILI)

    assert silent(fired) or right(fired)


def test_every_file_of_the_index_may_be_damaged(live: Live) -> None:
    """Each in turn missing, empty, cut or overwritten: never a wrong word, a panic's trace, or another exit code."""
    dice = random.Random(5)
    answered = set()
    for path in index_files(live):
        whole = path.read_bytes()
        half = len(whole) // 2
        damages: list[bytes | None] = [None, b"", whole[:half], dice.randbytes(len(whole))]
        if path.suffix in (".fast", ".idx", ".term", ".store"):
            damages += [dice.randbytes(40) + whole[40:], whole[:half] + dice.randbytes(8) + whole[half + 8 :]]
        for damage in damages:
            path.unlink(missing_ok=True) if damage is None else path.write_bytes(damage)
            fired = live.fire(ASKS_CHILI, env={"RUST_BACKTRACE": "full"})
            assert silent(fired) or right(fired), (path.name, damage)
            answered.add(bool(fired.out))
        path.write_bytes(whole)
    assert answered == {True, False}
    assert right(live.fire(ASKS_CHILI))


def test_the_index_heals_at_the_next_sync(live: Live) -> None:
    """A damaged index is silent once; the sync that follows builds it anew."""
    for path in index_files(live):
        if path.suffix == ".store":
            path.write_bytes(b"")
    assert silent(live.fire(ASKS_CHILI))
    assert live.run("sync", "--quiet").returncode == 0
    assert right(live.fire(ASKS_CHILI))


def test_a_writer_that_holds_its_locks_disturbs_nobody(live: Live) -> None:
    """The lock of the store, of the index and of tantivy's writer are no business of a reader's."""
    state = live.local / "state" / "memory" / "me"
    for path in [state / "lock", state / "index" / "lock", *state.rglob(".tantivy-writer.lock")]:
        with held(path):
            assert right(live.fire(ASKS_CHILI)), path


def test_a_process_that_stopped_inside_tantivy_costs_seconds_at_most(live: Live) -> None:
    """tantivy waits for its own lock without limit; the hook does not."""
    (path,) = (live.local / INDEX).rglob(".tantivy-meta.lock")
    with held(path):
        assert silent(live.fire(ASKS_CHILI))
    assert right(live.fire(ASKS_CHILI))


def test_a_pipe_in_the_place_of_a_file_costs_seconds_at_most(live: Live, tmp_path: Path) -> None:
    """Opening it would wait for ever."""
    copies = []
    for number, where in enumerate(("hook-me.json", "settings.yaml", INDEX / "current")):
        copies.append(Live(Path(shutil.copytree(live.root, tmp_path / f"copy{number}", symlinks=True))))
        (copies[-1].local / where).unlink()
        os.mkfifo(copies[-1].local / where)
    with ThreadPoolExecutor() as pool:
        for fired in pool.map(lambda copy: copy.fire(ASKS_CHILI), copies):
            assert silent(fired) or right(fired)


BROKEN_CONFIGS = {
    "missing": None,
    "empty": b"",
    "cut": b'{"user": "me", "set',
    "binary": bytes(range(256)),
    "a list": b"[]",
    "null": b"null",
    "a number": b"1e999",
    "no fields": b'{"user": "me"}',
    "another user's": b'{"user": "you", "settings": {}, "bases": []}',
    "settings missing": b'{"user": "me", "settings": {}, "bases": []}',
    "settings of no kind": b'{"user": "me", "settings": [1], "bases": 3}',
    "deep": b"[" * 200_000,
    "folder": b"/",
}


@pytest.mark.parametrize("content", BROKEN_CONFIGS.values(), ids=BROKEN_CONFIGS)
def test_a_broken_hook_configuration_is_silent_and_heals(live: Live, content: bytes | None) -> None:
    """Whatever stands in the compiled file: nothing is said, and a sync writes it anew."""
    path = live.local / "hook-me.json"
    path.unlink()
    if content == b"/":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert silent(live.fire(ASKS_CHILI))
    if content == b"/":
        path.rmdir()
    live.sync()
    assert right(live.fire(ASKS_CHILI))


@pytest.mark.parametrize(
    "content",
    [b"recall: [", b"<<<<<<< HEAD\nrecall: {limit: 1}\n=======\n>>>>>>> x\n", bytes(range(256)), b"", b"\xff\xfe"],
)
def test_broken_workspace_settings_do_not_matter(live: Live, content: bytes) -> None:
    """The hook reads what was compiled, and a sync over the broken file compiles the defaults."""
    (live.root / "ctxrepo.yaml").write_bytes(content)
    assert right(live.fire(ASKS_CHILI))
    assert live.run("sync", "--quiet").returncode == 0
    assert right(live.fire(ASKS_CHILI))


def test_a_missing_memory_folder_is_silent(live: Live) -> None:
    """What is gone from the disk is not quoted from the index."""
    shutil.rmtree(live.mine())
    assert silent(live.fire(ASKS_CHILI))


@pytest.mark.parametrize("store", ["team", "memory/me"])
def test_a_merge_or_rebase_under_way_does_not_matter(live: Live, store: str) -> None:
    """A person may be in the middle of something in the team's store or in their own."""
    folder = live.root if store == "team" else live.root / store
    git(folder, "switch", "-q", "-c", "side")
    (folder / "note.txt").write_text("side\n")
    git(folder, "add", "note.txt")
    git(folder, "commit", "-q", "-m", "side")
    git(folder, "switch", "-q", "main")
    (folder / "note.txt").write_text("main\n")
    git(folder, "add", "note.txt")
    git(folder, "commit", "-q", "-m", "main")
    for command in (["merge", "side"], ["rebase", "side"]):
        done = subprocess.run(["git", *command], cwd=folder, capture_output=True)
        assert done.returncode != 0
        assert right(live.fire(ASKS_CHILI)), command
        git(folder, command[0], "--abort")


def as_root(script: str, *arguments: object) -> list[str]:
    """A command line that runs `script` in a mount namespace of its own, or a skip where that is not allowed."""
    wrap = ["unshare", "--mount", "sh", "-e", "-c", script, "sh", *map(str, arguments)]
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    return wrap


def test_a_full_disk_does_not_matter(live: Live, tmp_path: Path) -> None:
    """On a file system without a free byte the answer comes all the same; what cannot be written is left out."""
    copy = tmp_path / "copy"
    shutil.copytree(live.root, copy, symlinks=True)
    script = (
        'mount -t tmpfs -o size=4m none "$1"; cp -a "$2/." "$1"; cat /dev/zero > "$1/fill" 2>/dev/null || true;'
        ' test "$(df --output=avail "$1" | tail -n 1)" -eq 0; shift 2; exec "$@"'
    )
    fired = live.fire(ASKS_CHILI, wrap=as_root(script, live.root, copy), env={"CTXREPO_BACKGROUND": None})
    assert right(fired)


def test_no_byte_can_be_written(live: Live) -> None:
    """With a limit of 0 bytes for every file the answer comes all the same."""
    wrap = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"]
    assert right(live.fire(ASKS_CHILI, wrap=wrap, env={"CTXREPO_BACKGROUND": None}))
    (live.local / "hook-me.json").unlink()
    assert silent(live.fire(ASKS_CHILI, wrap=wrap, env={"CTXREPO_BACKGROUND": None}))


def test_a_read_only_workspace_is_silent_or_answers(live: Live) -> None:
    """On a file system that is mounted read-only nothing is written, and nothing is complained about."""
    script = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'
    fired = live.fire(ASKS_CHILI, wrap=as_root(script, live.root), env={"CTXREPO_BACKGROUND": None})
    assert silent(fired) or right(fired)
    assert right(live.fire(ASKS_CHILI))


def test_state_that_belongs_to_somebody_else_is_silent_or_answers(live: Live, tmp_path: Path) -> None:
    """Without the right to write there, or even to read, the agent goes on."""
    wrap = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"] * (os.geteuid() == 0)
    if wrap and subprocess.run([*wrap, "true"], capture_output=True).returncode:
        pytest.skip("capabilities cannot be dropped here")
    for mode in (0o555, 0o000):
        folders = [path for path in (live.local, *live.local.rglob("*")) if path.is_dir()]
        for folder in reversed(folders):
            folder.chmod(mode)
        fired = live.fire(ASKS_CHILI, wrap=wrap, env={"CTXREPO_BACKGROUND": None})
        for folder in folders:
            folder.chmod(0o755)
        assert silent(fired) or right(fired), mode


GARBAGE = {
    "empty": b"",
    "blanks": b" \n\n",
    "binary": bytes(range(256)) * 40,
    "no JSON": b"what is this\n",
    "an array": b"[]",
    "null": b"null",
    "a number": b"17",
    "a text": b'"prompt"',
    "not a number": b'{"prompt": NaN}',
    "cut": b'{"prompt": "\xe8\xbe\xa3\xe8\x8f\x9c',
    "cut inside a character": b'{"prompt": "\xe8\xbe',
    "two objects": b'{"prompt": "a"}\n{"prompt": "b"}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep in a field": b'{"prompt": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a long number": b'{"prompt": "a", "x": ' + b"9" * 100_000 + b"}",
    "UTF-16": json.dumps({"prompt": ASKS_CHILI}, ensure_ascii=False).encode("utf-16"),
    "prompt missing": b"{}",
    **{
        f"prompt {value!r}": json.dumps({"prompt": value}).encode()
        for value in (None, 1, True, [], ["a"], {}, "", "\0")
    },
}


def test_garbage_on_stdin_is_silent(live: Live) -> None:
    """Whatever is piped in instead of a payload."""
    for name, data in GARBAGE.items():
        assert silent(live.fire(raw=data)), name


@pytest.mark.parametrize("value", [None, 1, [], {"a": 1}, "\0", "\ud800", "x" * 100_000])
def test_other_fields_of_any_kind_do_no_harm(live: Live, value: object) -> None:
    """A host may send anything in them."""
    names = ("cwd", "source", "session_id", "agent_type", "transcript_path", "hook_event_name", "permission_mode")
    fired = live.fire(raw=json.dumps({"prompt": ASKS_CHILI, **dict.fromkeys(names, value)}).encode())

    assert right(fired) or (value == "\ud800" and silent(fired))


@pytest.mark.parametrize(
    "prompt", ["\ud83d", "\ud800" + ASKS_CHILI, ASKS_CHILI + "\udc00", ASKS_CHILI + "\x00\x1b\u202e"]
)
def test_half_characters_in_the_prompt_do_no_harm(live: Live, prompt: str) -> None:
    """Lone surrogates are valid JSON, and JavaScript cuts emoji like that."""
    fired = live.fire(raw=json.dumps({"prompt": prompt}).encode())

    assert silent(fired) or right(fired)


def test_bytes_that_are_no_utf8_do_no_harm(live: Live) -> None:
    """A prompt in another encoding is searched as far as it can be read."""
    for encoding in ("gb18030", "utf-8"):
        text = f'{{"prompt": "{ASKS_CHILI} \\u00e9"}}'.encode(encoding)
        fired = live.fire(raw=text.replace(b" ", b"\xff "))
        assert silent(fired) or right(fired)


def test_a_prompt_of_five_megabytes_costs_little(live: Live) -> None:
    """A pasted log is read at its ends; the whole process stays under a second of CPU."""
    live.add(f"{SECRET} stands at the end of the log")
    line = "2026-11-29T10:00:00Z INFO worker heartbeat 辣菜 处理了请求 ok\n"
    log = line * (5_000_000 // len(line.encode()))
    fired = live.fire(f"{log}\n{SECRET} stands where?")

    assert fired.cpu < 1.0
    assert fired.seconds < SECONDS
    assert SECRET in fired.context


def test_one_word_of_a_million_characters_costs_little(live: Live) -> None:
    """Neither a base64 blob nor a run of Han, of digits or of accents makes the analyzer slow."""
    for text in ("QUJD" * 250_000, "菜" * 1_000_000, "1" * 1_000_000, "e\u0301" * 500_000, "a_bC" * 250_000):
        fired = live.fire(text)
        assert fired.cpu < 1.0
        assert fired.seconds < SECONDS
        assert (fired.code, fired.err) == (0, b"")


def open_ended(live: Live, pieces: list[bytes], pause: float = 0.0) -> Fired:
    """Fires the hook with a stdin that nobody closes; writes `pieces` with pauses between them."""
    begun = time.monotonic()
    command = [COMMAND, *EVENT, "--workspace", str(live.root), "--user", "me"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=live.root.parent
    ) as child:
        assert child.stdin and child.stdout and child.stderr
        for piece in pieces:
            child.stdin.write(piece)
            child.stdin.flush()
            time.sleep(pause)
        out, err = child.stdout.read(), child.stderr.read()
        code = child.wait(10)
        return Fired(code, out, err, time.monotonic() - begun, 0.0)


def test_a_stdin_that_never_closes(live: Live) -> None:
    """Without data, with blanks, with half a payload: silence in time; with a whole one: the answer, at once."""
    data = json.dumps(payload(ASKS_CHILI, live.root.parent), ensure_ascii=False).encode()

    unfinished = ([], [b"\n"], [data[: len(data) // 2]])
    with ThreadPoolExecutor() as pool:
        assert all(map(silent, pool.map(lambda pieces: open_ended(live, pieces), unfinished)))
    whole = open_ended(live, [data + b"\n"])
    assert right(whole)
    assert whole.seconds < 1.5


def test_a_payload_that_comes_in_pieces(live: Live) -> None:
    """A slow host's payload is waited for, also when a piece happens to end with a brace."""
    data = json.dumps({"x": {"y": 1}, **payload(ASKS_CHILI, live.root.parent)}).encode()
    cut = data.index(b"}") + 1

    assert right(open_ended(live, [data[:cut], data[cut:-1], data[-1:]], pause=0.3))


def test_closed_streams_do_no_harm(live: Live) -> None:
    """Without stdin, without stdout, without stderr, without any of them, or with a reader that has gone."""
    answer = json.dumps(payload(ASKS_CHILI, live.root.parent), ensure_ascii=False).encode()
    for closing, speaks in (("<&-", False), (">&-", False), ("2>&-", True), ("<&- >&- 2>&-", False)):
        fired = live.fire(raw=answer, wrap=["sh", "-c", f'exec "$@" {closing}', "sh"])
        assert (right if speaks else silent)(fired), closing
    broken = live.fire(raw=answer, wrap=["bash", "-c", '"$@" > >(exec true); sleep 0.1; exit $?', "bash"])
    assert silent(broken)
    with subprocess.Popen(
        [COMMAND, *EVENT, "--workspace", str(live.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin and child.stdout
        child.stdout.close()
        child.stdin.write(answer)
        child.stdin.close()
        assert child.wait(10) == 0
    assert right(live.fire(ASKS_CHILI))


HOSTILE_ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "C locale": {"LC_ALL": "C", "LANG": None},
    "no locale": {"LC_ALL": None, "LANG": None},
    "unknown locale": {"LC_ALL": "xx_YY.ISO-8859-1"},
    "other stream encoding": {"PYTHONIOENCODING": "ascii:strict"},
    "no home": {"HOME": None},
    "home nowhere": {"HOME": "/nonexistent"},
    "git variables": {
        "GIT_DIR": "/nonexistent",
        "GIT_WORK_TREE": "/nonexistent",
        "GIT_INDEX_FILE": "/nonexistent",
        "GIT_COMMON_DIR": "/nonexistent",
        "GIT_OBJECT_DIRECTORY": "/nonexistent",
    },
    "warnings": {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
    "no path": {"PATH": "/nonexistent"},
    "project nowhere": {"CLAUDE_PROJECT_DIR": "/nonexistent/\udcff"},
}


@pytest.mark.parametrize("env", HOSTILE_ENVIRONMENTS.values(), ids=HOSTILE_ENVIRONMENTS)
def test_the_environment_does_not_matter(live: Live, env: dict[str, str | None]) -> None:
    """Locale, HOME, inherited git variables, stricter Python: the answer is the same, in UTF-8."""
    assert right(live.fire(ASKS_CHILI, env=env))


def test_a_python_that_was_told_to_know_ascii_alone_is_silent_or_answers(live: Live) -> None:
    """File names are UTF-8; who switches that off gets no worse than nothing."""
    fired = live.fire(ASKS_CHILI, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert silent(fired) or right(fired)


def test_a_folder_with_any_name_is_a_workspace(live: Live, tmp_path: Path) -> None:
    """Blanks, quotes, Chinese; where the bytes are no UTF-8 text, which the index needs, the hook is silent."""
    for name in ("with 'quotes' \" and blanks", "团队 上下文"):
        live = Live(live.root.rename(tmp_path / name))
        assert right(live.fire(ASKS_CHILI)), name
        assert live.run("sync", "--quiet").returncode == 0, name
        assert right(live.fire(ASKS_CHILI)), name
    live = Live(live.root.rename(tmp_path / os.fsdecode(b"latin-\xe9")))
    assert silent(live.fire(ASKS_CHILI))


def test_a_deleted_working_folder_does_not_matter(live: Live, tmp_path: Path) -> None:
    """The agent's folder was a scratch folder; the answer comes, and so does the one to a payload without `cwd`."""
    place = tmp_path / "scratch"
    place.mkdir()
    wrap = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh"]
    assert right(live.fire(ASKS_CHILI, place=place, wrap=wrap))
    place.mkdir()
    assert right(live.fire(raw=json.dumps({"prompt": ASKS_CHILI}).encode(), place=place, wrap=wrap))
    place.mkdir()
    assert silent(live.fire(ASKS_CHILI, place=place, wrap=wrap, options=[], env={"CTXREPO_WORKSPACE": None}))


def log_of(live: Live) -> str:
    path = live.local / "hook-errors.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_the_error_log_says_why_and_never_what_was_asked(live: Live) -> None:
    """After faults of many kinds each line has a time and a reason, and no line holds a word of the prompt."""
    prompts = [{"prompt": f"{SECRET} {ASKS_CHILI}"}, {"prompt": f"\ud800{SECRET} 辣菜"}]
    (live.local / "hook-me.json").write_text('{"user": "me", "settings": {}, "bases": []}')
    for prompt in prompts:
        live.fire(raw=json.dumps(prompt).encode())
    live.sync()
    shutil.rmtree(live.local / INDEX)
    for prompt in prompts:
        live.fire(raw=json.dumps(prompt).encode())
    lines = log_of(live).splitlines()

    assert any("IndexUnavailable" in line for line in lines)
    assert any("KeyError" in line for line in lines)
    assert all(line.startswith("20") and " at " in line for line in lines)
    assert SECRET not in log_of(live)
    assert "辣菜" not in log_of(live)


def test_the_error_log_stays_small(live: Live) -> None:
    """Before it grows beyond 64 KB it begins anew."""
    shutil.rmtree(live.local / INDEX)
    (live.local / "hook-errors.log").write_text("x" * 63_999)
    live.fire(ASKS_CHILI)
    assert 64_000 < len(log_of(live)) < 67_000
    live.fire(ASKS_CHILI)
    assert 0 < len(log_of(live)) < 3_000
    assert "x" not in log_of(live).replace("IndexUnavailable", "").replace("index", "")


def test_success_logs_nothing(live: Live) -> None:
    """A log that grows without faults would hide those that matter."""
    assert right(live.fire(ASKS_CHILI))
    assert live.fire("hello").out == b""
    assert log_of(live) == ""

"""What every test gets: an empty machine, a clock that it can read, and no long runs by accident.

A test never sees the developer's git configuration, home folder, time zone, colours or current
folder, and a child process that it starts sees the same as the test itself. Forgetting to say which
workspace is meant fails, because the default one is a path that cannot exist.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("ctxrepo", deadline=None, database=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("ctxrepo")

ASK_FIRST = ("bench", "soak")
GITCONFIG = "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected output of transcripts")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects benchmarks and long runs unless `-m` names them."""
    asked = config.getoption("markexpr", "")
    left_out = [mark for mark in ASK_FIRST if mark not in asked]
    later = [item for item in items if any(item.get_closest_marker(mark) for mark in left_out)]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in set(later)]


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of this test: only a git identity in it. Delete `.gitconfig` to test without one."""
    folder = tmp_path_factory.mktemp("home")
    (folder / ".gitconfig").write_text(GITCONFIG, encoding="utf-8")
    nowhere = folder / "nowhere"
    nowhere.mkdir()
    for name in list(os.environ):
        if name.startswith(("GIT_", "CTXREPO_", "XDG_", "CLAUDE", "CURSOR_")):
            monkeypatch.delenv(name)
    settings = {
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "CTXREPO_WORKSPACE": str(folder / "this-test-chose-no-workspace"),
        "CTXREPO_BACKGROUND": "off",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "120",
        "EDITOR": "false",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    monkeypatch.chdir(nowhere)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Writes files, `{relative path: content}`, below `tmp_path` and returns that folder."""

    def build(files: Mapping[str, str | bytes], root: Path = tmp_path) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return build


class Clock:
    """Unix seconds that advance by one at every reading, from 2026-11-29T10:00:00Z."""

    def __init__(self, start: float = 1_795_946_400.0) -> None:
        self.time = start

    def __call__(self) -> float:
        self.time += 1
        return self.time


@pytest.fixture
def clock() -> Clock:
    """A clock of this test's own, so that two runs give the same output."""
    return Clock()

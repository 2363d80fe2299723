"""The hermetic fixtures hold what they promise."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.support.git import git, repository

pytest_plugins = ["pytester"]


def test_git_knows_only_the_test_identity(tmp_path: Path) -> None:
    """A commit made by plain git carries the identity of the fixture, nothing of the developer's."""
    folder = repository(tmp_path / "r")

    assert git(folder, "log", "-1", "--format=%an <%ae>") == "Test <test@example.org>"
    assert git(folder, "branch", "--show-current") == "main"


def test_no_setting_of_the_machine_reaches_a_test(home: Path) -> None:
    """The environment holds no git variable but ours, and the current folder is empty."""
    assert {name for name in os.environ if name.startswith("GIT_")} == {"GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT"}
    assert Path.home() == home
    assert os.listdir() == []
    assert time.strftime("%Z") == "UTC"
    assert not os.path.exists(os.environ["CTXREPO_WORKSPACE"])


def test_tree_writes_text_and_bytes(tree, tmp_path: Path) -> None:
    """A tree holds exactly the given bytes, folders included."""
    root = tree({"a/b.md": "辣\r\n", "c.bin": b"\x00"})

    assert root == tmp_path
    assert (root / "a/b.md").read_bytes() == "辣\r\n".encode()
    assert (root / "c.bin").read_bytes() == b"\x00"


def test_clock_ticks(clock: Clock) -> None:
    """Two readings differ by one second, and the first is always the same."""
    assert time.gmtime(clock())[:6] == (2026, 11, 29, 10, 0, 1)
    assert clock() - clock() == -1


@pytest.mark.parametrize(
    ("asked", "runs"),
    [
        ("", ["plain"]),
        ("bench", ["slow"]),
        ("soak", ["long"]),
        ("not bench", ["plain"]),
        ("bench or soak", ["slow", "long"]),
    ],
)
def test_long_runs_wait_to_be_asked(pytester: pytest.Pytester, asked: str, runs: list[str]) -> None:
    """Benchmarks and long runs are collected only when -m names their marker."""
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n  bench: b\n  soak: s\n")
    pytester.makepyfile(
        "import pytest\ndef test_plain(): pass\n"
        "@pytest.mark.bench\ndef test_slow(): pass\n@pytest.mark.soak\ndef test_long(): pass\n"
    )

    result = pytester.runpytest_subprocess("-m", asked, "-v", "-p", "no:cacheprovider")

    passed = [line.split("::test_")[1].split()[0] for line in result.outlines if "PASSED" in line]
    assert passed == runs

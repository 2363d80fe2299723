"""Public evaluation data lies outside the repository; where it is missing, what needs it is not collected."""

from __future__ import annotations

import pytest

from .quality import BENCH, table

NEEDS_DATA = "test_quality.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if BENCH is None:
        items[:] = [item for item in items if item.path.name != NEEDS_DATA]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if table:
        terminalreporter.write_line("\n".join(["", "figure  reach           what", *map(str, table)]))
    if BENCH is None and "bench" in config.getoption("markexpr", ""):
        terminalreporter.write_line(f"not collected: {NEEDS_DATA}, no evaluation data; CTXREPO_BENCH names its folder")

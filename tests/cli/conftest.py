"""A workspace of the user `me`, and the command line standing in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.template import new_workspace


@pytest.fixture
def team(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new workspace."""
    return new_workspace(tmp_path / "team", tmp_path_factory)


@pytest.fixture
def ctx(team: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`ctxrepo …` in that workspace."""
    return Command(team, capsys, monkeypatch)

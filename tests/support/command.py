"""The command line in this process: what a person typed, what came on which stream, with which exit code."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxrepo.cli import run


class Answer(NamedTuple):
    """What one call gave."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Its lines on stdout."""
        return self.out.splitlines()

    @property
    def hint(self) -> str:
        """What the error says to do next."""
        return next((line.removeprefix("Hint: ") for line in self.err.splitlines() if line.startswith("Hint: ")), "")


class Command:
    """Calls `ctxrepo` in a folder, by default the workspace."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capture = capture
        self._patch = patch
        patch.delenv("CTXREPO_WORKSPACE", raising=False)

    def __call__(self, *arguments: str, code: int = 0, cwd: Path | None = None, stdin: bytes = b"") -> Answer:
        """Runs one command and fails unless it ends with `code`."""
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capture.readouterr()
        before = os.getcwd()
        os.chdir(cwd or self.folder)
        try:
            came = run(list(arguments))
        finally:
            os.chdir(before)
        out, err = self._capture.readouterr()
        assert came == code, f"exit code {came}\n{out}\n{err}"
        return Answer(came, out, err)

    def json(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """The one object that the command prints with `--json`."""
        return json.loads(self(*arguments, "--json", **options).out)

    def add(self, text: str, *arguments: str, **options: Any) -> str:
        """Remembers a fact and returns the tail of its id."""
        return str(self.json("memory", "add", text, *arguments, **options)["tail"])

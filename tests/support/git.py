"""Real git, for tests that set a repository up or look at what became of it."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Runs git in `folder` and returns what it printed, without the last newline; raises when it fails."""
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def repository(folder: Path, *, commit: bool = True) -> Path:
    """Creates a repository in `folder`, by default with one empty commit, and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder

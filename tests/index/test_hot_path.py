"""What the recall hook loads of the index stays light."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {
    "asyncio",
    "click",
    "dataclasses",
    "frontmatter",
    "git",
    "hashlib",
    "inspect",
    "logging",
    "pathlib",
    "rich",
    "ruamel",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
    "watchdog",
    "yaml",
}


def test_reading_and_asking_for_the_watcher_import_nothing_heavy() -> None:
    """`dataclasses` alone would cost as much as starting Python. (datetime comes with tantivy.)"""
    code = "import sys; import ctxrepo.index.reader, ctxrepo.index.heartbeat; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ctxrepo.index.reader" in loaded
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True
    )
    assert loaded & HEAVY <= set(bare.stdout.split())

"""A disk without a free byte is told as what it is, and nothing is lost by it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.hooks.test_prompt_faults import as_root
from tests.support.live import COMMAND, Live


def test_a_full_disk_is_no_bug(tmp_path: Path) -> None:
    """Sync, list and recall either work or refuse with the reason; once there is room the new file is found."""
    live = Live.made(tmp_path / "team")
    live.add("对辣菜过敏，聚餐要避开")
    copy = tmp_path / "copy"
    shutil.copytree(live.root, copy, symlinks=True)
    fact = live.root / "memory" / "me" / "facts" / "by-hand" / "garden.md"
    script = """
        mount -t tmpfs -o size=3m none "$1"; cp -a "$2/." "$1"
        mkdir -p "$(dirname "$3")"; echo "the garden gate" > "$3"
        cat /dev/zero > "$1/fill" 2>/dev/null || true
        for verb in sync "memory list" "recall garden"; do
            code=0; "$4" $verb --workspace "$1" || code=$?; echo "code $code"
        done
        rm "$1/fill"; "$4" memory search garden --workspace "$1"
    """
    done = subprocess.run(
        as_root(script, live.root, copy, fact, COMMAND), capture_output=True, text=True, check=False, timeout=120
    )

    codes = [line.removeprefix("code ") for line in done.stdout.splitlines() if line.startswith("code ")]
    assert len(codes) == 3, done.stderr
    assert set(codes) <= {"0", "1"}, done.stderr
    assert "Bug in ctxrepo" not in done.stderr and "No space left" in done.stderr + done.stdout
    assert done.returncode == 0, done.stderr
    assert "the garden gate" in done.stdout

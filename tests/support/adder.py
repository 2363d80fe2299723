"""Adds facts until it is told otherwise or killed, and says which ones are done.

    python -m tests.support.adder ROOT PREFIX COUNT

Prints `ready`, and after each acknowledged fact its path in the workspace.
"""

from __future__ import annotations

import os
import sys

from ctxrepo.api import open_workspace


def main(root: str, prefix: str, count: int) -> None:
    with open_workspace(root, user="me") as repo:
        os.write(1, b"ready\n")
        for number in range(count):
            fact = repo.memory.add(f"{prefix} number {number}", project="*")
            os.write(1, fact["path"].encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

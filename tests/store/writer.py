"""Writes facts through a store until it is told otherwise, and says which ones are done.

    python -m tests.store.writer TEAM NAME PREFIX COUNT [MODE]

Prints one line per acknowledged write, after the transaction has returned: its path and content's
hash. MODE `many` writes three files per transaction, `edit` rewrites one file, `one` (the default) adds one file.
"""

from __future__ import annotations

import os
import sys

from ctxrepo.store import private
from ctxrepo.store.files import etag


def main(team: str, name: str, prefix: str, count: int, mode: str = "one") -> None:
    store = private.open_private(private.open_team(team), name)
    os.write(1, b"ready\n")
    for number in range(count):
        files = {f"facts/{prefix}/{number:04}.md": f"{prefix} {number}\n".encode() * 20}
        if mode == "many":
            files |= {f"more/{prefix}/{number:04}-{k}.md": f"{prefix} {number} {k}\n".encode() for k in range(2)}
        if mode == "edit":
            files |= {f"shared/{prefix}.md": f"state {number} of {prefix}\n".encode() * 50}
        with store.transaction("memory.add", actor="me", subject=f"memory: add {prefix} {number}") as tx:
            for path, data in files.items():
                tx.write(path, data)
        said = "".join(f"{path} {etag(data)}\n" for path, data in files.items())
        os.write(1, said.encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), *sys.argv[5:])

"""The only place that prints: results to stdout, everything else to stderr.

With `--json` a command prints one object and nothing else; for people there are sentences and
tables: drawn by rich on a terminal, plain tab-free columns when piped.  Text that comes out of
files is never interpreted as markup or terminal control: a memory must not be able to repaint the
screen of the person who reviews it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unicodedata import east_asian_width

from ctxrepo.errors import CtxError

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """`text` with control, bidirectional and zero-width characters written as `<U+200B>`."""
    return _CONTROL.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def emit(result: Mapping[str, Any], *, as_json: bool, text: Callable[[], None]) -> None:
    """Prints `result` as JSON, or runs `text` for people."""
    if as_json:
        sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=2, default=str) + "\n")
    else:
        text()


def line(text: str = "") -> None:
    """One line of a result."""
    sys.stdout.write(visible(text).replace("\r", "") + "\n")


def note(text: str) -> None:
    """A remark beside the result, on stderr."""
    sys.stderr.write(visible(text) + "\n")


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table for people; columns of plain text, two spaces apart, when stdout is no terminal."""
    cells = [[visible(" ".join(str(cell).split())) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(*headings, box=None, header_style="bold", pad_edge=False)
        for row in cells:
            drawn.add_row(*[Text(cell, overflow="ellipsis", no_wrap=True) for cell in row])
        Console().print(drawn)
        return
    widths = [max(map(_width, column)) for column in zip(headings, *cells, strict=True)]
    for row in [list(headings), *cells]:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        line("  ".join(padded).rstrip())


def _width(text: str) -> int:
    """Columns that `text` takes on a terminal; Chinese characters take two."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def error(fault: CtxError, *, as_json: bool) -> None:
    """A fault that its reader can mend: what, details, and what to run next."""
    if as_json:
        fields = {"message": fault.message, "hint": fault.hint, "details": fault.details, "exit_code": fault.exit_code}
        sys.stderr.write(json.dumps({"error": fields}, ensure_ascii=False) + "\n")
        return
    note(f"Error: {fault.message}")
    for detail in fault.details:
        note(f"  {detail}")
    if fault.hint:
        note(f"Hint: {fault.hint}")

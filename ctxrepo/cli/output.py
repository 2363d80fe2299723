"""The only place that prints: results to stdout, everything else to stderr.

With `--json` a command prints one object and nothing else; for people there are sentences and
tables: drawn by rich on a terminal, plain columns two spaces apart when piped.  Text that comes out of
files is never interpreted as markup or terminal control: a memory must not be able to repaint the
screen of the person who reviews it, so what cannot be seen is written out (`pass⟨U+200B⟩word`).
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unicodedata import category, east_asian_width

from ctxrepo.errors import CtxError
from ctxrepo.text.hidden import show_hidden

GAP = "  "
SHORT = 10
"""Characters of a commit id that are shown; any beginning that only one commit has is understood."""
_NO_WIDTH = ("Mn", "Me", "Cf")


def prepare() -> None:
    """Makes the streams print whatever a file name or a text holds, also where the locale is not UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def visible(text: str) -> str:
    """`text` with control, bidirectional and zero-width characters written out; line breaks and tabs stay."""
    return show_hidden(text.replace("\r\n", "\n")).replace("\r", "⟨U+000D⟩")


def emit(result: Mapping[str, Any], *, as_json: bool, text: Callable[[], None]) -> None:
    """Prints `result` as JSON, or runs `text` for people."""
    if as_json:
        _print_json(sys.stdout, result, indent=2)
    else:
        text()


def line(text: str = "") -> None:
    """One line of a result."""
    sys.stdout.write(visible(text) + "\n")


def block(text: str) -> None:
    """Lines that were made visible already, or that belong to an answer as it is."""
    sys.stdout.write(text.rstrip("\n") + "\n")


def heading(text: str) -> None:
    """A line that stands out on a terminal."""
    shown = visible(text)
    sys.stdout.write(f"\x1b[1m{shown}\x1b[0m\n" if _is_styled() else f"{shown}\n")


def note(text: str) -> None:
    """A remark beside the result, on stderr; what was printed before comes before."""
    sys.stdout.flush()
    sys.stderr.write(visible(text) + "\n")


def flush() -> None:
    """Sends what was printed on its way, before another process prints."""
    sys.stdout.flush()


def moment(stamp: str) -> str:
    """A time of an asset or commit as people read it in a table: `2026-11-29 10:00`, UTC like everything stored."""
    return stamp[:16].replace("T", " ")


def counted(number: int, noun: str) -> str:
    """`1 fact`, `2 facts`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def shortened(text: str, most: int) -> str:
    """`text` as one line of at most so many characters."""
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def undo_hint(commit: str | None) -> None:
    """The command that takes an operation back; nothing when it made no commit."""
    if commit:
        line(f"Undo with: ctxrepo undo {commit[:SHORT]}")


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table; only on a terminal the last column is cut to what fits."""
    cells = [[visible(" ".join(str(cell).split())) for cell in row] for row in rows]
    if _is_terminal():
        _draw(headings, cells)
        return
    widths = [max(map(_width, column)) for column in zip(headings, *cells, strict=True)]
    for row in [list(headings), *cells]:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(GAP.join(padded).rstrip() + "\n")


def _draw(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    fixed = sum(max(map(cell_len, column)) for column in list(zip(headings, *cells, strict=True))[:-1])
    room = max(20, console.width - fixed - len(GAP) * (len(headings) - 1))
    drawn = Table(box=None, header_style="bold" if _is_styled() else "", pad_edge=False, padding=(0, len(GAP), 0, 0))
    for name in headings:
        drawn.add_column(name, no_wrap=True)
    for row in cells:
        last = row[-1] if cell_len(row[-1]) <= room else set_cell_size(row[-1], room - 1).rstrip() + "…"
        drawn.add_row(*[Text(cell) for cell in (*row[:-1], last)])
    console.print(drawn, crop=False, no_wrap=True, overflow="ignore")


def _width(text: str) -> int:
    """Columns that `text` takes on a terminal; Chinese characters take two, accents and joiners none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if category(char) in _NO_WIDTH and char != "\xad" else 2 if east_asian_width(char) in "WF" else 1
        for char in text
    )


def error(fault: CtxError, *, as_json: bool) -> None:
    """A fault that its reader can mend: what, details, and what to run next."""
    if as_json:
        fields = {"message": fault.message, "hint": fault.hint, "details": fault.details, "exit_code": fault.exit_code}
        _print_json(sys.stderr, {"error": fields})
        return
    note(f"Error: {fault.message}")
    for detail in fault.details:
        note(f"  {detail}")
    if fault.hint:
        note(f"Hint: {fault.hint}")


def _print_json(stream: Any, value: Mapping[str, Any], indent: int | None = None) -> None:
    """One object and a line break; in pure ASCII where the stream could not carry anything else."""
    is_utf8 = (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8, indent=indent, default=str)
    stream.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _is_styled() -> bool:
    """Whether a terminal is there that wants bold print."""
    return _is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

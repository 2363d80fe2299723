"""Names of users, bases, skills and tasks, and the paths made of them: confined to the workspace on every system.

A name becomes a folder, is pushed, and is checked out elsewhere: under Windows, where `aux`, `a:b` and `a.` are not
what they seem; under macOS, where `Ada` and `ada` are one folder; on a screen, where a Cyrillic `а` looks like a
Latin one.  So a name must be valid everywhere, and one that somebody could take for an existing one is refused.

Look-alikes are told by NFKC, case folding and a short table of Cyrillic and Greek letters that look Latin.  The full
table of Unicode (6,000 entries) was left out: it also equates `1` and `l`, and `rn` and `m`, which are different
names to people.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable

from ctxrepo.errors import Invalid
from ctxrepo.text.hidden import find_hidden, show_hidden

MAX_NAME = 64  # characters
MAX_PROJECT = 255
MAX_PATH = 512
MAX_SLUG = 60

_FORBIDDEN = re.compile(r'[/\\<>:"|?*]')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
_RESERVED = {"task": {"archive"}}  # tasks/archive holds the finished ones
_GIT_FOLDER = re.compile(r"(?:\.git|git~[0-9]+)", re.IGNORECASE)
_LOOKS_LATIN = str.maketrans(
    "авекмнорстухіѕјԛԝһӏԁѵɡαβεζηικμνορτυχγıօ",
    "abekmhopctyxisjqwhldvgabezhikmvoptuxyio",
)


def confined(name: str, what: str) -> str:
    """Gives the name back if it may name a `what` in a workspace.

    Args:
        name: as somebody typed it or as a file says it.
        what: "user", "knowledge base", "skill", "task" or "project"; the first word of the message.

    Raises:
        Invalid: it leads outside, is no name on some system, or holds what cannot be seen.
    """
    if what == "project":
        return _confined_project(name)
    fault = _segment_fault(name) or _name_fault(name, what)
    if fault:
        raise Invalid(f"The {what} name {show_hidden(name[:80])!r} {fault}.", hint=_proposal(name))
    return name


def confined_path(path: str, what: str = "file") -> str:
    """Gives a relative path back if every part of it stays below the folder it is meant for, on every system.

    Raises:
        Invalid: absolute, with `..`, with a backslash, into a git directory, or with a part that is no name.
    """
    fault = "is empty" if not path else f"is longer than {MAX_PATH} characters" if len(path) > MAX_PATH else None
    if not fault and (path.startswith("/") or re.match(r"[A-Za-z]:", path)):
        fault = "is absolute; paths are relative to the workspace"
    for part in path.split("/") if not fault else ():
        fault = _segment_fault(part) or ("leads into a git directory" if _GIT_FOLDER.fullmatch(part) else None)
        if fault:
            break
    if fault:
        raise Invalid(f"The {what} path {show_hidden(path[:120])!r} {fault}.")
    return path


def inside(root: str, path: str) -> str:
    """Gives the real path of `path` below `root`, symlinks followed on both sides; the file need not exist.

    Raises:
        Invalid: it is outside, whether by `..` or by a symlink.
    """
    real_root = os.path.realpath(root)
    real = os.path.realpath(os.path.join(real_root, path))
    if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
        raise Invalid(f"{path!r} leads outside of {root!r}, through a symlink or `..`; it is not followed.")
    return real


def lookalike_key(name: str) -> str:
    """Gives what two names share that a file system or a reader takes for one."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return folded.translate(_LOOKS_LATIN).rstrip(". ")


def equivalent(a: str, b: str) -> bool:
    """Tells whether two names differ only in case, in Unicode form, or in letters that look alike."""
    return lookalike_key(a) == lookalike_key(b)


def refuse_lookalike(name: str, existing: Iterable[str], what: str) -> None:
    """Refuses a new name that somebody could take for another one that exists; the very same name passes.

    Raises:
        Invalid: with the existing name in the hint.
    """
    for other in existing:
        if other != name and equivalent(other, name):
            raise Invalid(
                f"The {what} name {name!r} differs from the existing {other!r} only in case or look.",
                hint=f"Use {other!r}, or choose another name.",
            )


def slug(text: str, fallback: str = "note") -> str:
    """Makes a readable file name of the beginning of a text: letters of any script, Latin lower-cased, words joined
    by `-`.

    Returns:
        1 to 60 characters that `confined` accepts; `fallback` for a text without letters.
    """
    folded = unicodedata.normalize("NFKC", text[: 8 * MAX_SLUG]).lower()
    kept = "".join(char if _is_letter(char) else " " for char in folded)
    words = unicodedata.normalize("NFC", "-".join(kept.split()))
    short = words[:MAX_SLUG]
    if len(words) > MAX_SLUG and words[MAX_SLUG] != "-" and short.rfind("-") > MAX_SLUG // 2:
        short = short[: short.rfind("-")]
    short = short.strip("-")
    if not short or _DEVICES.fullmatch(short):
        return f"{fallback}-{short}" if short else fallback
    return short


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM" and not "\ufe00" <= char <= "\ufe0f"


def _segment_fault(part: str) -> str | None:
    """Says what is wrong with one part of a path, or None."""
    if not part.strip():
        return "is empty or has an empty part"
    if part in (".", ".."):
        return f"holds `{part}`"
    if found := find_hidden(part):
        return f"holds the hidden character {found[0].name}"
    if "\n" in part or "\t" in part or "\r" in part:
        return "holds a line break or a tab"
    if match := _FORBIDDEN.search(part):
        return f"holds {match.group()!r}, which not every system allows"
    if part != part.strip() or part.endswith("."):
        return "begins or ends with a space, or ends with a dot"
    if _DEVICES.fullmatch(part.split(".")[0].rstrip()):
        return "is a device under Windows"
    if unicodedata.normalize("NFC", part) != part:
        return "is not in Unicode form NFC, so it would be another name on another system"
    return None


def _name_fault(name: str, what: str) -> str | None:
    if len(name) > MAX_NAME or len(name.encode()) > 3 * MAX_NAME:
        return f"is longer than {MAX_NAME} characters"
    if name[0] in ".-~@":
        return f"begins with `{name[0]}`"
    if name.casefold() in _RESERVED.get(what, ()) or _GIT_FOLDER.fullmatch(name):
        return "is reserved"
    return None


def _confined_project(name: str) -> str:
    """Checks a project identity such as `github.com/acme/billing`; it is compared, never opened as a path.

    Raises:
        Invalid: empty, `*`, too long, with hidden characters, or with a part such as `..`.
    """
    fault = None
    if not name.strip() or name != name.strip():
        fault = "is empty or has spaces around it"
    elif name == "*":
        fault = "is no single project; `*` stands for all of them"
    elif len(name) > MAX_PROJECT:
        fault = f"is longer than {MAX_PROJECT} characters"
    elif found := find_hidden(name):
        fault = f"holds the hidden character {found[0].name}"
    elif re.search(r"[\\\n\r\t]", name) or unicodedata.normalize("NFC", name) != name:
        fault = "holds a backslash, a line break or a tab, or is not in Unicode form NFC"
    elif any(part in ("", ".", "..") for part in name.removeprefix("/").split("/")):
        fault = "has an empty part, `.` or `..`"
    if fault:
        raise Invalid(f"The project name {show_hidden(name[:120])!r} {fault}.")
    return name


def _proposal(name: str) -> str | None:
    proposal = slug(name, fallback="my")
    return f"{proposal!r} would do." if proposal not in ("my", name) else None

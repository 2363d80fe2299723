"""Settings: one table (`asset.kinds.SETTINGS`), three files, each allowed to say less than one might think.

Defaults, then ctxrepo.yaml of the workspace, then the user's own file, then this machine's file: the later one wins.
A workspace file comes with a clone, so whoever may push may write it: it can set thresholds and sizes within bounds,
and nothing that names a command, an address, a key, or a path outside.  That is an allow-list, the `scope` of each
row; a setting that is not meant for a file is a problem there and has no effect.  (Tools that read everything from a
checked-in file ran the commands of whoever wrote it.)

A key may stand in its section or with its dots (`recall: {threshold: 0.4}` or `recall.threshold: 0.4`).  What is
wrong is reported with its line, and everything else of the file holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ctxrepo.asset.check import Problem, unreadable
from ctxrepo.asset.fields import Unfit, nearest, read_value
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, parse_plain
from ctxrepo.asset.kinds import SCOPES, SETTINGS, Setting
from ctxrepo.errors import Invalid
from ctxrepo.text.names import confined

_TABLE: dict[str, Setting] = {setting.field.name: setting for setting in SETTINGS}
_SECTIONS = {name.rpartition(".")[0] for name in _TABLE if "." in name}
_NAMES = {"project": "project", "user": "user"}  # settings that name something, and what

FILES = {"workspace": "ctxrepo.yaml", "user": "your own settings file", "machine": "the settings of this clone"}


def load(text: str, scope: str, path: str = "ctxrepo.yaml") -> tuple[dict[str, object], list[Problem]]:
    """Reads a file of settings.

    Args:
        text: its content.
        scope: which file it is: "workspace", "user" or "machine".
        path: as it should show in problems.

    Returns:
        The settings that hold, by dotted name, and what is wrong with the rest.
    """
    try:
        return read(parse_plain(text), scope, path)
    except FrontmatterError as err:
        return {}, [unreadable(err, path)]


def read(parsed: Parsed, scope: str, path: str = "ctxrepo.yaml") -> tuple[dict[str, object], list[Problem]]:
    """Does what `load` does for a file that was parsed already."""
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for name, value in _flat(parsed.fields):
        fault = _fault(name, value, scope, values)
        if fault:
            line = parsed.lines.get(name) or parsed.lines.get(name.rpartition(".")[0], 1)
            problems.append(Problem(path, line, name, fault, "error"))
    return values, problems


def defaults() -> dict[str, object]:
    """Gives every setting as it is when no file says otherwise."""
    return {name: setting.field.default for name, setting in _TABLE.items()}


def merge(*layers: Mapping[str, object]) -> dict[str, object]:
    """Lays settings over the defaults, a later layer over an earlier one.

    Args:
        layers: what `load` gave for the workspace's, the user's and this machine's file, in that order.
    """
    result = defaults()
    for layer in layers:
        result.update(layer)
    return result


def compiled(merged: Mapping[str, object]) -> dict[str, object]:
    """Gives what the recall hook needs, as plain JSON: `project` and everything of `recall.`, dots kept."""
    return {name: value for name, value in merged.items() if name == "project" or name.startswith("recall.")}


def _flat(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in fields.items():
        if key in _SECTIONS and isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        elif not (key in _SECTIONS and value is None):
            yield key, value


def _fault(name: str, value: object, scope: str, values: dict[str, object]) -> str | None:
    """Takes one setting over into `values`, or says why not."""
    setting = _TABLE.get(name)
    if setting is None:
        return "must be a map of settings." if name in _SECTIONS else f"is no setting.{nearest(name, list(_TABLE))}"
    if SCOPES.index(scope) < SCOPES.index(setting.scope):
        return f"may not come with a clone; it belongs into {FILES[setting.scope]}, and has no effect here."
    if name in values:
        return "stands twice, in its section and with its dots."
    try:
        understood = read_value(setting.field, value)
        if isinstance(understood, str) and name in _NAMES:
            confined(understood, _NAMES[name])
    except Unfit as err:
        return str(err) + "."
    except Invalid as err:
        return err.message
    values[name] = understood
    return None

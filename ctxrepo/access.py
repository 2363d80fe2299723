"""Who belongs to a workspace and what each was granted, as access.yaml says it.

Here the file becomes a value; its rules are in `asset.access_rules`.  What is wrong in the file grants nothing: a
member with an unknown role is a reader, an unknown right is none, and a grant to somebody unknown falls away.  A file
that cannot be read grants nobody anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctxrepo.asset.access_rules import members_of
from ctxrepo.asset.check import Problem, check, unreadable
from ctxrepo.asset.frontmatter import FrontmatterError, parse_plain
from ctxrepo.asset.kinds import RIGHTS, ROLES


class Access(NamedTuple):
    """What access.yaml says, names that it does not know left out."""

    members: dict[str, str]  # user -> reader, member or admin
    groups: dict[str, tuple[str, ...]]  # group -> users
    grants: dict[str, dict[str, str]]  # knowledge base -> user or "@group" -> read, write or control


def load(text: str, path: str = "access.yaml") -> tuple[Access, list[Problem]]:
    """Reads an access.yaml and gives what holds of it, with everything that is wrong."""
    try:
        parsed = parse_plain(text)
    except FrontmatterError as err:
        return Access({}, {}, {}), [unreadable(err, path)]
    problems = check("access", parsed, path)
    members = {name: role if role in ROLES else ROLES[0] for name, role in members_of(parsed.fields).items()}
    groups = {
        group: tuple(person for person in people if person in members)
        for group, people in _map_of(parsed.fields, "groups").items()
        if isinstance(people, list)
    }
    known = {*members, *(f"@{group}" for group in groups)}
    grants = {
        base: {
            who: str(right).lower() for who, right in rights.items() if who in known and str(right).lower() in RIGHTS
        }
        for base, rights in _map_of(parsed.fields, "grants").items()
        if isinstance(rights, dict)
    }
    return Access(members, groups, grants), problems


def _map_of(fields: Mapping[str, object], key: str) -> dict[str, object]:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}

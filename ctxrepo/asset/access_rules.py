"""What access.yaml must be, beyond the types of its three fields: known roles and rights, known people and groups.

The file says who may do what, so a slip in it must not pass: an unknown role or right, a group without its `@`, and a
grant to somebody who is no member are errors.  Rights are written in small letters; capitals are understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ctxrepo.asset.fields import nearest
from ctxrepo.asset.header import text_of
from ctxrepo.asset.kinds import RIGHTS, ROLES
from ctxrepo.errors import Invalid
from ctxrepo.text.names import confined, equivalent

Finding = tuple[str, str, str]


def access_problems(fields: Mapping[str, object]) -> Iterator[Finding]:
    """Yields place, message and level of every rule that an access.yaml breaks."""
    members = members_of(fields)
    yield from _name_faults("members", list(members), "user")
    for name, role in members.items():
        if role not in ROLES:
            yield f"members.{name}", f"has the role {role!r}, not one of {', '.join(ROLES)}.", "error"
    groups = _map_of(fields, "groups")
    yield from _name_faults("groups", list(groups), "group")
    for group, people in groups.items():
        place = f"groups.{group}"
        if not isinstance(people, list):
            yield place, "must be a list of members.", "error"
            continue
        for number, person in enumerate(people):
            if not isinstance(person, str) or person not in members:
                yield f"{place}[{number}]", f"is no member: {person!r}.{nearest(str(person), list(members))}", "error"
    yield from _grant_problems(_map_of(fields, "grants"), list(members), list(groups))


def members_of(fields: Mapping[str, object]) -> dict[str, str]:
    """Gives the role of every member; in a plain list everybody is a `member`."""
    members = fields.get("members")
    if isinstance(members, list):
        return {text_of(name): "member" for name in members if not isinstance(name, list | dict)}
    roles = _map_of(fields, "members")
    return {name: "member" if role is None else str(role).lower() for name, role in roles.items()}


def _grant_problems(grants: Mapping[str, object], members: list[str], groups: list[str]) -> Iterator[Finding]:
    yield from _name_faults("grants", list(grants), "knowledge base")
    known = [*members, *(f"@{group}" for group in groups)]
    for base, rights in grants.items():
        if not isinstance(rights, dict):
            yield f"grants.{base}", "must be a map of members or @groups to rights.", "error"
            continue
        for who, right in rights.items():
            place = f"grants.{base}.{who}"
            if who not in known:
                mend = f" Did you mean '@{who}'?" if who in groups else nearest(who, known)
                yield place, f"is neither a member nor an @group.{mend}", "error"
            if str(right).lower() not in RIGHTS:
                yield place, f"is {right!r}, not one of {', '.join(RIGHTS)}.", "error"


def _name_faults(section: str, names: list[str], what: str) -> Iterator[Finding]:
    for number, name in enumerate(names):
        try:
            confined(name, what)
        except Invalid as err:
            yield f"{section}.{name}", err.message, "error"
        for other in names[:number]:
            if equivalent(name, other):
                yield f"{section}.{name}", f"differs from {other!r} only in case or look.", "error"


def _map_of(fields: Mapping[str, object], key: str) -> dict[str, object]:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}

"""access.yaml: what is wrong in it is named, and grants nothing."""

from __future__ import annotations

import pytest

from ctxrepo import access

GOOD = """\
members:
  mei: admin
  tom: member
  ada:
groups:
  finance: [tom]
grants:
  billing:
    "@finance": control
    mei: Read
"""


def test_a_good_file_is_a_value() -> None:
    """Roles, groups and rights, rights in small letters."""
    got, problems = access.load(GOOD)

    assert problems == []
    assert got.members == {"mei": "admin", "tom": "member", "ada": "member"}
    assert got.groups == {"finance": ("tom",)}
    assert got.grants == {"billing": {"@finance": "control", "mei": "read"}}


def test_a_plain_list_makes_everybody_a_member() -> None:
    """The shortest form that a small team needs."""
    assert access.load("members: [mei, tom]\n")[0].members == {"mei": "member", "tom": "member"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("admin", "boss", "2: members.mei: has the role 'boss', not one of reader, member, admin."),
        ("[tom]", "[tim]", "6: groups.finance[0]: is no member: 'tim'. Did you mean 'tom'?"),
        ("[tom]", "tom", "6: groups.finance: must be a list of members."),
        (
            '"@finance"',
            "finance",
            "9: grants.billing.finance: is neither a member nor an @group. Did you mean '@finance'?",
        ),
        ("control", "own", "9: grants.billing.@finance: is 'own', not one of read, write, control."),
        (
            "billing:",
            "../x:",
            "8: grants.../x: The knowledge base name '../x' holds '/', which not every system allows.",
        ),
        ("  tom: member", "  tom:\n  Tom:", "4: members.Tom: differs from 'tom' only in case or look."),
        ("grants:", "grant:", "7: grant: is not known here. Did you mean 'grants'?"),
        (
            "[tom]",
            "[tom",
            "6: The list in brackets that begins here is not closed; brackets that are text need quotes.",
        ),
    ],
)
def test_a_slip_is_an_error(old: str, new: str, expected: str) -> None:
    """With its line and, where there is one, the nearest right name."""
    problems = [str(problem) for problem in access.load(GOOD.replace(old, new, 1))[1]]

    assert f"access.yaml:{expected}" in problems


def test_what_is_wrong_grants_nothing() -> None:
    """An unknown role reads only, an unknown right or name has none, an unreadable file gives nobody anything."""
    text = GOOD.replace("admin", "boss").replace("control", "own").replace("mei: Read", "eve: write")

    got, _ = access.load(text)

    assert got.members["mei"] == "reader"
    assert got.grants == {"billing": {}}
    assert access.load("members: {")[0] == access.Access({}, {}, {})

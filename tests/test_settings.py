"""Settings: what comes with a clone may do no harm, and a slip is named."""

from __future__ import annotations

import json

import pytest

from ctxrepo import settings
from ctxrepo.asset.kinds import SETTINGS


def test_defaults_are_those_of_the_design() -> None:
    """Without any file."""
    got = settings.merge()

    assert got["recall.threshold"] == 0.4
    assert got["recall.limit"] == 3
    assert got["recall.floor"] == 0.3
    assert got["recall.half_life_days"] == 30
    assert got["recall.preference_days"] == 60
    assert got["recall.max_chars"] == 9000
    assert got["recall.max_tokens"] == 500
    assert got["index.passage_chars"] == 600
    assert got["memory.folder_entries"] == 1000
    assert got["watch.quiet_seconds"] == 10
    assert got["project"] is None


def test_a_section_and_dots_are_the_same() -> None:
    """Either way of writing a setting is understood, also half a number."""
    for text in ("recall:\n  threshold: .5\n  limit: 4\n", "recall.threshold: .5\nrecall.limit: 4\n"):
        assert settings.load(text, "workspace") == ({"recall.threshold": 0.5, "recall.limit": 4}, [])
    assert settings.load("", "workspace") == ({}, [])
    assert settings.load("recall:\n# nothing yet\n", "workspace") == ({}, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "recall:\n  treshold: 0.5\n",
            "2: recall.treshold: is no setting. Did you mean 'recall.threshold'?",
        ),
        ("a: 1\nrecall: 3\n", "2: recall: must be a map of settings."),
        ("recall.threshold: 2\n", "1: recall.threshold: is 2, not between 0 and 1."),
        ("recall.limit: 1.5\n", "1: recall.limit: must be a whole number."),
        ("recall.limit: many\n", "1: recall.limit: must be a number."),
        (
            "recall:\n  limit: 1\nrecall.limit: 2\n",
            "3: recall.limit: stands twice, in its section and with its dots.",
        ),
        (
            "recall:\n  limit: 1\n  limit: 2\n",
            "3: The key 'limit' stands twice, first in line 2; remove one of them.",
        ),
        ("project: a/../b\n", "1: project: The project name 'a/../b' has an empty part, `.` or `..`."),
        ("- a\n", "1: The header is not a map of `key: value` lines but a list."),
    ],
)
def test_a_slip_is_named_with_its_line(text: str, expected: str) -> None:
    """The last problem is the one the text was made for."""
    assert str(settings.load(text, "workspace")[1][-1]) == f"ctxrepo.yaml:{expected}"


def test_one_slip_does_not_take_the_rest_with_it() -> None:
    """What is right in a file holds."""
    values, problems = settings.load("recall:\n  threshold: 0.5\n  limit: -1\n", "workspace")

    assert values == {"recall.threshold": 0.5}
    assert len(problems) == 1


HARMFUL = ["user: mallory", "watch:\n  quiet_seconds: 0", "watch.poll: always", "llm.command: rm -rf /"]
HARMFUL += ["llm:\n  endpoint: http://x", "api_key: x", "index.path: /tmp/x", "hooks: [x]"]


@pytest.mark.parametrize("text", HARMFUL)
def test_a_cloned_file_cannot_set_more_than_thresholds(text: str) -> None:
    """Commands, endpoints, keys, paths and who I am do not come with a clone."""
    values, problems = settings.load(text, "workspace")

    assert values == {}
    assert len(problems) == 1
    assert problems[0].level == "error"


def test_the_users_and_the_machines_file_may_say_more() -> None:
    """A setting may stand in its own file and in every one that comes later."""
    assert settings.load("watch.quiet_seconds: 5\n", "user")[0] == {"watch.quiet_seconds": 5.0}
    assert settings.load("watch.quiet_seconds: 5\nuser: me\nrecall.limit: 1\n", "machine")[0] == {
        "watch.quiet_seconds": 5.0,
        "user": "me",
        "recall.limit": 1,
    }
    assert settings.load("user: me\n", "user")[0] == {}
    assert settings.load("user: ../../etc\n", "machine")[0] == {}


def test_later_files_win() -> None:
    """Workspace, user, machine."""
    merged = settings.merge({"recall.limit": 1, "recall.floor": 0.1}, {"recall.limit": 2}, {"recall.limit": 5})

    assert (merged["recall.limit"], merged["recall.floor"], merged["recall.threshold"]) == (5, 0.1, 0.4)


def test_the_hook_gets_plain_json() -> None:
    """Only what recall needs, and nothing that would need a parser."""
    compiled = settings.compiled(settings.merge({"project": "github.com/acme/x"}))

    assert json.loads(json.dumps(compiled)) == compiled
    assert compiled["project"] == "github.com/acme/x"
    assert compiled["recall.max_chars"] == 9000
    assert not any(name.startswith(("watch.", "memory.", "user")) for name in compiled)


def test_nothing_a_clone_may_set_is_a_command_or_a_path() -> None:
    """The allow-list holds numbers, and one name that is checked."""
    harmless = {setting.field.type for setting in SETTINGS if setting.scope == "workspace"}

    assert harmless == {"number", "integer", "line"}
    assert [s.field.name for s in SETTINGS if s.scope == "workspace" and s.field.type == "line"] == ["project"]

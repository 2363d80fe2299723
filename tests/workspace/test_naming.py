"""Names of assets: what they may be, what is near when nothing answers, what several answers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.errors import Denied, NotFound, UsageFault
from ctxrepo.workspace import naming


def test_a_path_an_id_its_beginning_or_its_tail(
    repo: ContextRepository, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any case, from any folder."""
    fact = repo.memory.add("Named in many ways")
    monkeypatch.chdir(team / "memory/me/facts")
    inner = fact["path"].removeprefix("memory/me/facts/")

    for ref in (fact["id"], fact["id"].lower(), fact["tail"], fact["path"], inner, str(team / fact["path"])):
        assert naming.find(repo, ref).path == fact["path"]
    assert naming.find(repo, fact["id"][:22]).path == fact["path"]


def test_an_ambiguous_name_lists_the_candidates(repo: ContextRepository) -> None:
    """Ids of one day begin alike; exit code 2, and each candidate with path and words."""
    facts = [repo.memory.add(words) for words in ("one of two", "two of two")]

    with pytest.raises(UsageFault, match="means 2 assets") as caught:
        naming.find(repo, facts[0]["id"][:6])
    assert {line.split("  ")[1] for line in caught.value.details} == {fact["path"] for fact in facts}
    assert "more characters" in str(caught.value.hint)


@pytest.mark.parametrize("ref", ["deploys", "DEPLOYS.md", "go-out-on", "Tuesday", "facts/2026-11/deploys-go-out.md"])
def test_a_guess_is_answered_with_what_is_near(repo: ContextRepository, ref: str) -> None:
    """Nothing is picked for the person, but what they may have meant is shown with the command for it."""
    fact = repo.memory.add("Deploys go out on Tuesday")
    repo.memory.add("Tea is green")

    with pytest.raises(NotFound) as caught:
        naming.find(repo, ref)
    assert [line.split("  ")[0] for line in caught.value.details] == [fact["tail"]]
    assert caught.value.hint == f"ctxrepo show {fact['tail']}"


def test_a_slip_in_a_tail_is_forgiven_in_the_hint(repo: ContextRepository) -> None:
    """One wrong character of six."""
    fact = repo.memory.add("Slips happen")
    slip = fact["tail"][:-1] + ("0" if fact["tail"][-1] != "0" else "1")

    with pytest.raises(NotFound) as caught:
        naming.find(repo, slip)
    assert caught.value.details[0].startswith(fact["tail"])


def test_a_short_or_empty_name_means_nothing(repo: ContextRepository) -> None:
    """It would name half the store."""
    fact = repo.memory.add("Short")

    for ref in ("", fact["tail"][-3:], "\x00", "%", "../.."):
        with pytest.raises(NotFound):
            naming.find(repo, ref)


def test_near_misses_never_show_another_agents_facts(repo: ContextRepository, team: Path) -> None:
    """Neither as a hit nor as a proposal."""
    with open_workspace(team, agent="codex") as codex:
        secret = codex.memory.add("Deploys of codex only")
    with open_workspace(team, agent="claude-code") as claude:
        with pytest.raises(NotFound) as caught:
            naming.find(claude, "deploys")
        assert caught.value.details == []
        with pytest.raises(Denied):
            naming.find(claude, secret["id"])
    assert naming.find(repo, secret["id"]).path == secret["path"]

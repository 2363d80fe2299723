"""`ctxrepo recall` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxrepo.cli.demo import make_live
from tests.support.command import Command
from tests.support.git import git

BILLING = ("--project", "github.com/lantern-tea/billing")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example workspace, alive."""
    folder = tmp_path_factory.mktemp("live") / "example"
    make_live(folder, "mei")
    return folder


@pytest.fixture
def live(example: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`ctxrepo …` in the example; these tests only read."""
    return Command(example, capsys, monkeypatch)


def texts(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [hit["text"] for hit in answer["results"]]


def test_a_prompt_recalls_what_matters(live: Command) -> None:
    """One table, best first, with the tail that other commands take."""
    lines = live("recall", "周五聚餐能点辣菜吗").lines

    assert lines[0].split() == ["score", "relevance", "id", "kind", "created", "text"]
    assert lines[1].split()[2:] == ["wke65q", "preference", "2026-10-12", "对辣菜过敏，聚餐要避开。"]
    assert len(lines) == 2


def test_small_talk_recalls_nothing_and_says_how_near_it_was(live: Command) -> None:
    """Exit code 0: an empty answer is an answer."""
    answer = live.json("recall", "谢谢，早点休息")

    assert answer["results"] == []
    assert answer["nearest"]["relevance"] < answer["threshold"] == 0.4
    assert live("recall", "谢谢，早点休息").lines[1].endswith("less than 0.4; --explain says why.")


def test_explain_shows_every_factor_and_what_stayed_out(live: Command) -> None:
    """The score is the product that is printed; the superseded rule names its successor."""
    answer = live.json("recall", "how are invoice numbers built", "--explain", *BILLING)
    (hit,) = answer["results"]
    factors = hit["factors"]
    out = live("recall", "how are invoice numbers built", "--explain", *BILLING).out
    product = (
        factors["relevance"] * factors["match"] ** 4 * factors["time"] * factors["importance"] * factors["confidence"]
    )

    assert hit["tail"] == "t8bgn6"
    assert product == pytest.approx(hit["score"], abs=0.01)
    assert {left["tail"]: left["why"] for left in answer["left_out"]}["xafmjq"] == "superseded by t8bgn6"
    assert {"terms", "user", "agent", "project", "threshold"} <= set(answer)
    assert "match 1⁴" in out
    assert "relevance: coverage" in out
    assert "xafmjq  superseded by t8bgn6" in out


SHOP = ("--project", "github.com/lantern-tea/shop", "--agent", "claude-code")
OTHER = ("--project", "github.com/acme/other")


@pytest.mark.parametrize(
    ("question", "options", "why"),
    [
        ("deploy 前要跑什么检查", OTHER, "holds in project github.com/lantern-tea/billing"),
        ("staging 数据库冻结了吗", BILLING, "expired 2026-10-07"),
        ("the flaky checkout test with a gift card", SHOP, "belongs to agent codex"),
    ],
)
def test_what_stays_out_has_its_reason(live: Command, question: str, options: tuple[str, ...], why: str) -> None:
    """Another project, another agent, a time that is over."""
    answer = live.json("recall", question, "--explain", *options)

    reasons = {left["why"]: left["text"] for left in answer["left_out"]}
    assert why in reasons
    assert (reasons[why] == "…") == ("agent" in why)
    assert not any(hit["status"] != "active" for hit in answer["results"])


def test_knowledge_answers_beside_memory(live: Command) -> None:
    """Only when asked."""
    question = "what must run before a deploy"

    assert {hit["class"] for hit in live.json("recall", question, *BILLING)["results"]} == {"memory"}
    found = live.json("recall", question, "--knowledge", *BILLING)["results"]
    assert {hit["class"] for hit in found} == {"memory", "knowledge"}
    assert all(hit["reviewed"] for hit in found)


@pytest.mark.parametrize(
    ("question", "cls", "path"),
    [
        ("draft release notes for the deploy", "skill", "skills/draft-release-notes/SKILL.md"),
        ("十月退款对账", "task", "tasks/01M867CA60Y6PJEQNQ2SDAMT2W/TASK.md"),
        ("move to one invoice number sequence", "task", "tasks/01M745KW7092KCAGWHEDXFW5S6/TASK.md"),
        ("退款现行做法", "entity", "memory/mei/entities/退款.md"),
        ("refund older than seven days", "knowledge", "knowledge/billing/refund-policy.md"),
    ],
)
def test_every_class_is_searchable(live: Command, question: str, cls: str, path: str) -> None:
    """Skills, tasks (finished ones too), entity pages and documents; each alone when named alone."""
    found = live.json("recall", question, "--class", cls, *BILLING)["results"]

    assert found[0]["path"] == path
    assert {hit["class"] for hit in found} == {cls}


def test_classes_can_be_combined(live: Command) -> None:
    """`--class` is repeatable, and --knowledge adds to it."""
    everything = ("--knowledge", "--threshold", "0", "--limit", "20")
    found = live.json("recall", "退款", "--class", "task", "--class", "entity", *everything, *BILLING)["results"]

    assert {hit["class"] for hit in found} == {"task", "entity", "knowledge"}


def test_limit_and_threshold_are_taken(live: Command) -> None:
    """Above the settings of the workspace."""
    many = live.json("recall", "退款", "--threshold", "0", "--limit", "50", *BILLING)["results"]

    assert len(many) > 3
    assert len(live.json("recall", "退款", "--threshold", "0", "--limit", "2", *BILLING)["results"]) == 2
    assert live.json("recall", "退款", "--threshold", "1", *BILLING)["results"] == []


def test_nothing_of_another_user_is_ever_seen(live: Command) -> None:
    """Tom's facts are not in Mei's recall, whatever the threshold."""
    question = "never promise a customer a refund date"

    assert texts(live.json("recall", question, "--user", "tom", "--threshold", "0"))
    everything = live.json("recall", question, "--threshold", "0", "--limit", "200", "--explain")
    assert not any("/tom/" in hit["path"] for hit in [*everything["results"], *everything["left_out"]])


def test_an_edit_of_a_document_takes_it_out_until_it_is_committed(ctx: Command, team: Path) -> None:
    """Reviewed is what the default branch holds; explain says so."""
    path = team / "knowledge/ops/backup.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Backup\nThe nightly backup runs at three and is kept for ninety days.\n")
    question = ("recall", "how long is the nightly backup kept", "--knowledge", "--explain")
    before = ctx.json(*question)
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", "backup")

    assert before["results"] == []
    assert [left["why"] for left in before["left_out"]] == ["not reviewed: the default branch does not hold it so"]
    assert [hit["path"] for hit in ctx.json(*question)["results"]] == ["knowledge/ops/backup.md"]


def test_a_document_is_named_by_its_title(live: Command) -> None:
    """Which its text need not repeat."""
    out = live("recall", "refund older than seven days", "--knowledge", *BILLING).out

    assert "Refund policy: " in out
    assert "Refund policy: # Refund policy" not in out

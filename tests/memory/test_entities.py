"""Entities and relations of a text."""

from __future__ import annotations

import pytest

from ctxrepo.memory.extraction.entities import MOST, Relation, entities, relations


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("We'll use PostgreSQL rather than MySQL for the ledger.", {"PostgreSQL", "MySQL"}),
        ("Karim owns the search service.", {"Karim"}),
        (
            "Ask the New York office about `checkout_total` in app/cart.py.",
            {"New York", "checkout_total", "app/cart.py"},
        ),
        ("我对辣菜过敏", {"辣菜"}),
        ("订单服务的负责人换成了陈晨", {"订单服务", "陈晨"}),
        ("测试环境的数据库地址是 db-test.internal:5433", {"测试环境", "db-test.internal:5433"}),
        ("客户名字是「宏达」", {"宏达"}),
    ],
)
def test_names_are_found(text: str, wanted: set[str]) -> None:
    """Capitals, code, quotes and Chinese noun phrases."""
    assert wanted <= set(entities(text))


@pytest.mark.parametrize("text", ["Never do this on Monday.", "I prefer short answers.", "以后再说吧", "好的"])
def test_ordinary_words_are_none(text: str) -> None:
    """Days, pronouns and the first word of a sentence are no names."""
    assert entities(text) == []


def test_a_known_name_is_found_in_any_case_but_not_inside_a_word() -> None:
    """What has a page already comes first and is written as there."""
    assert entities("the ledger uses postgresql", known=["PostgreSQL", "led"])[0] == "PostgreSQL"
    assert "led" not in entities("the ledger is closed", known=["led"])


def test_there_are_never_too_many() -> None:
    """A list of names is cut."""
    assert len(entities(" and ".join(f"Name{number}X" for number in range(30)))) == MOST


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I'm allergic to peanuts.", Relation("user", "avoids", "peanuts")),
        ("我对辣菜过敏", Relation("user", "avoids", "辣菜")),
        ("We use Kafka instead of RabbitMQ.", Relation("Kafka", "replaces", "RabbitMQ")),
        ("Karim owns the search service.", Relation("Karim", "owns", "search service")),
        ("订单服务的负责人是陈晨", Relation("陈晨", "owns", "订单服务")),
        ("The gateway runs on port 8443.", Relation("gateway", "runs on", "port 8443")),
    ],
)
def test_simple_relations_are_read(text: str, wanted: Relation) -> None:
    """Who avoids, owns, replaces, runs on what."""
    assert wanted in relations(text)

"""The graph of entities: what is drawn, and that no name can break out of a format."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from ctxrepo.asset.frontmatter import Parsed
from ctxrepo.asset.kinds import values
from ctxrepo.errors import NotFound
from ctxrepo.memory.graph import FORMATS, Edge, alias_names, graph, render
from ctxrepo.memory.held import Held

NASTY = 'x"]; click "javascript:alert(1)" </text><script>\\\n end'


def held(ident: str, *entities: str, kind: str = "fact", **fields: Any) -> Held:
    header = {"id": ident, "entities": list(entities), **fields}
    return Held(f"facts/{ident}.md", "e", Parsed(header, {}, "t", 1, "t"), values(kind, header), ident, "t", 0.0)


def test_what_one_fact_names_hangs_together() -> None:
    """Two entities are joined once per fact that names both, whatever the case of their names."""
    found = graph([held("1", "Tom", "退款"), held("2", "tom", "退款"), held("3", "Ana")])

    assert [(node.name, len(node.facts)) for node in found.nodes] == [("Tom", 2), ("退款", 2), ("Ana", 1)]
    assert found.edges == (Edge("Tom", "退款", "", 2),)


def test_a_relation_carries_its_verb() -> None:
    """A relation that extraction wrote down is drawn with its verb instead of the bare line."""
    found = graph([held("1", "Tom", "billing", relations=["Tom | owns | billing", "broken"])])

    assert found.edges == (Edge("Tom", "billing", "owns", 1),)


def test_what_is_no_longer_true_is_not_drawn() -> None:
    """Superseded and forgotten facts leave the graph."""
    found = graph([held("1", "Tom", status="superseded"), held("2", "Ana", status="forgotten"), held("3", "Lea")])

    assert [node.name for node in found.nodes] == ["Lea"]


def test_one_entity_and_its_surroundings() -> None:
    """Asked for one thing, only what lies within so many steps is drawn, and an alias finds it."""
    facts = [held("1", "A", "B"), held("2", "B", "C"), held("3", "C", "D")]
    aliases = alias_names([held("p", kind="entity", title="A", aliases=["Alpha"])])

    assert {node.name for node in graph(facts, entity="alpha", aliases=aliases).nodes} == {"A", "B"}
    assert {node.name for node in graph(facts, entity="A", depth=2).nodes} == {"A", "B", "C"}
    with pytest.raises(NotFound):
        graph(facts, entity="nobody")


def test_a_large_memory_is_cut_to_its_main_things() -> None:
    """Beyond the limit the things stay that most facts name, and every edge has both ends."""
    found = graph([held(str(n), f"thing {n % 200}", "hub") for n in range(500)], limit=20)

    names = {node.name for node in found.nodes}
    assert len(names) == 20
    assert found.nodes[0].name == "hub"
    assert all({edge.one, edge.other} <= names for edge in found.edges)


@pytest.mark.parametrize("form", FORMATS)
def test_no_name_breaks_out_of_its_format(form: str) -> None:
    """A name full of quotes, tags and line breaks stays text."""
    found = graph([held("1", NASTY, "safe", relations=[f'{NASTY} | </svg>" | safe'])])

    text = render(found, form)

    if form == "svg":
        root = ElementTree.fromstring(text)
        assert not [element for element in root.iter() if element.tag.endswith("script")]
    elif form == "json":
        assert " ".join(NASTY.split()) in {node["name"] for node in json.loads(text)["nodes"]}
    elif form == "dot":
        assert all(line.count('"') - line.count('\\"') in (0, 2, 4, 6) for line in text.splitlines())
    else:
        assert "<script>" not in text
        assert all(line.count('"') % 2 == 0 for line in text.splitlines())
        assert 'click "' not in text


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_memory_has_an_empty_graph(form: str) -> None:
    """Nothing to draw is drawn as nothing, in every format."""
    assert render(graph([]), form).strip()


def test_a_drawing_is_the_same_each_time() -> None:
    """The layout begins at the same places and uses no chance."""
    facts = [held(str(n), f"a{n % 7}", f"b{n % 5}") for n in range(40)]

    assert render(graph(facts), "svg") == render(graph(facts), "svg")

"""The small validator gives the verdicts of the full one."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxrepo.llm.shape import faults

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.0, 1.0, 2.5]) | st.text("ab", max_size=4)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"]


def with_keywords(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    bounds = st.integers(0, 3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.booleans(),
            "items": inner,
            "enum": st.lists(scalars, min_size=1, max_size=3),
            "const": scalars,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "minLength": bounds, "maxLength": bounds, "minItems": bounds, "maxItems": bounds,
            "minimum": st.integers(-3, 3), "maximum": st.integers(-3, 3),
            "pattern": st.sampled_from(["^a", "b$", "ab"]),
            "title": st.just("x"), "description": st.just("y"),
        },
    )  # fmt: skip


schemas = st.recursive(with_keywords(st.just({})), with_keywords, max_leaves=4)


@settings(max_examples=600)
@given(values, schemas)
def test_agrees_with_jsonschema(value: Any, schema: dict[str, Any]) -> None:
    """Whatever the value and the schema, both find it right or both find it wrong."""
    assert bool(faults(value, schema)) is not jsonschema.Draft202012Validator(schema).is_valid(value)


def test_says_where() -> None:
    """A fault names its place and what was expected."""
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "maxLength": 2}}}}
    assert faults({"a": ["ok", "long"]}, schema) == ["the answer.a[1] must have at most 2 characters."]
    assert faults([], schema) == ["the answer must be object."]


@pytest.mark.parametrize("keyword", ["oneOf", "$ref", "format", "uniqueItems", "patternProperties", "requird"])
def test_unknown_keywords_are_not_passed_over(keyword: str) -> None:
    """A keyword that is not checked is the caller's mistake and not a silent yes."""
    with pytest.raises(ValueError, match="not checked"):
        faults({}, {keyword: []})

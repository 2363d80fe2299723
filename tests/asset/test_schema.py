"""What is generated from the tables is up to date and means what the tables mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ctxrepo.asset.frontmatter import parse, parse_plain
from ctxrepo.asset.kinds import KINDS, SETTINGS, kind_of
from ctxrepo.asset.schema import json_schema, reference, schema_text, settings_markdown, write_schemas

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example-workspace"
ASSETS = sorted(path for path in EXAMPLE.rglob("*") if path.is_file() and kind_of(path.relative_to(EXAMPLE).as_posix()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_in_the_repository_is_up_to_date(kind: str) -> None:
    """`python -m ctxrepo.asset.schema schemas/` mends it."""
    assert (ROOT / "schemas" / f"{kind}.schema.json").read_text("utf-8") == schema_text(kind)


def test_there_are_no_other_schemas(tmp_path: Path) -> None:
    """A kind that was renamed leaves nothing behind."""
    written = {Path(path).name for path in write_schemas(str(tmp_path))}

    assert written == {path.name for path in (ROOT / "schemas").glob("*.json")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_valid_json_schema(kind: str) -> None:
    """Draft 2020-12, as the file says."""
    schema = json.loads(schema_text(kind))

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.relative_to(EXAMPLE).as_posix())
def test_the_example_workspace_fits_the_schemas(path: Path) -> None:
    """Real files of every kind pass an independent validator."""
    kind = kind_of(path.relative_to(EXAMPLE).as_posix())
    assert kind is not None
    read = parse_plain if path.suffix == ".yaml" else parse

    errors = list(Draft202012Validator(json_schema(kind)).iter_errors(read(path.read_text("utf-8")).fields))

    assert errors == []


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("fact", {"importance": 2}),
        ("fact", {"kind": "opinion"}),
        ("fact", {"id": "x"}),
        ("fact", {"tags": [{"a": "b"}]}),
        ("skill", {"name": "x"}),
        ("skill", {"name": "x", "description": "d", "owner": "me"}),
        ("workspace", {"recall": {"treshold": 0.4}}),
        ("workspace", {"user": "me"}),
        ("workspace", {"watch": {"quiet_seconds": 5}}),
    ],
)
def test_the_schemas_refuse_what_the_tables_refuse(kind: str, fields: dict[str, object]) -> None:
    """A schema that accepts everything would be up to date as well."""
    assert not Draft202012Validator(json_schema(kind)).is_valid(fields)


def test_the_documentation_names_every_field_and_setting() -> None:
    """The tables in the documentation leave nothing out."""
    text = reference()

    for kind in KINDS.values():
        assert all(f"| `{field.name}` |" in text for field in kind.fields)
    assert settings_markdown().count("\n") == len(SETTINGS) + 2
    assert "| `recall.threshold` | number 0 to 1 | `0.4` | least relevance that is recalled | workspace |" in text

"""JSON Schemas (2020-12) and documentation tables, made from the tables in `kinds`.

`python -m ctxrepo.asset.schema schemas/` writes the schemas, for editors and for tools that know nothing of ctxrepo.
They say what a table can say; what needs two fields, the path or the text is left to `ctxrepo check`.  A single value
where a list is due is good to `check` and so to the schema.

`$id` is a URN: the schemas lie in the repository and are found by path, no server has to answer for them.
"""

from __future__ import annotations

import json
import os
import sys

from ctxrepo.asset.fields import TYPES, Field
from ctxrepo.asset.kinds import KINDS, SETTINGS, Kind

_LISTS = {"lines": "line", "ids": "id"}


def json_schema(kind: str) -> dict[str, object]:
    """Gives the JSON Schema of a kind's header, or of the whole file for a YAML file."""
    table = KINDS[kind]
    properties: dict[str, object] = {}
    for field in table.fields:
        _place(properties, field, closed=table.others == "refused")
    schema: dict[str, object] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:ctxrepo:{kind}",
        "title": table.title,
        "description": f"{table.where}: {table.meaning}",
        "type": "object",
        "properties": properties,
    }
    if required := [field.name for field in table.fields if field.need == "required"]:
        schema["required"] = required
    if table.others == "refused":
        schema["additionalProperties"] = False
    return schema


def schema_text(kind: str) -> str:
    """Gives the content of `schemas/<kind>.schema.json`."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"


def markdown(kind: str) -> str:
    """Gives the table of a kind's fields as Markdown."""
    table = KINDS[kind]
    rows = [_row(field) for field in table.fields]
    return _table(["field", "type", "default", "meaning"], rows)


def settings_markdown() -> str:
    """Gives the table of all settings as Markdown, with the first file that may set each."""
    rows = [[*_row(setting.field), setting.scope] for setting in SETTINGS]
    return _table(["setting", "type", "default", "meaning", "from"], rows)


def write_schemas(folder: str) -> list[str]:
    """Writes every schema into a folder and gives the paths."""
    paths = []
    for kind in KINDS:
        path = os.path.join(folder, f"{kind}.schema.json")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(schema_text(kind))
        paths.append(path)
    return paths


def _place(properties: dict[str, object], field: Field, *, closed: bool) -> None:
    """Puts a field into the properties; a dotted name goes into the map of its first part, or stands there as it is."""
    section, _, name = field.name.rpartition(".")
    schema = _field_schema(field)
    if section:
        inner = properties.setdefault(section, {"type": ["object", "null"], "properties": {}})
        assert isinstance(inner, dict)
        if closed:
            inner["additionalProperties"] = False
        inner["properties"][name] = schema
    properties[field.name] = schema


def _field_schema(field: Field) -> dict[str, object]:
    of_type: dict[str, object] = dict(TYPES[field.type].schema)
    if field.low is not None:
        of_type["minimum"] = field.low
    if field.high is not None:
        of_type["maximum"] = field.high
    if field.longest:
        of_type["maxLength"] = field.longest
    if field.choices:
        of_type = {"enum": list(field.choices)}
    schema: dict[str, object] = {"description": field.meaning[:1].upper() + field.meaning[1:] + "."}
    alternatives = [of_type]
    if field.type in _LISTS:
        alternatives.append(dict(TYPES[_LISTS[field.type]].schema))
    if field.need != "required":
        alternatives.append({"type": "null"})
    schema |= of_type if len(alternatives) == 1 else {"anyOf": alternatives}
    if field.default not in (None, (), {}):
        schema["default"] = field.default
    return schema


def _row(field: Field) -> list[str]:
    kind = TYPES[field.type].title
    if field.choices:
        kind = " \\| ".join(f"`{choice}`" for choice in field.choices)
    elif field.low is not None and field.high is not None:
        kind += f" {field.low:g} to {field.high:g}"
    elif field.longest:
        kind += f", up to {field.longest} characters"
    default = "required" if field.need == "required" else ""
    if field.default not in (None, (), {}):
        default = f"`{field.default}`"
    return [f"`{field.name}`", kind, default, field.meaning.replace("|", "\\|")]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _describe(kind: Kind) -> str:
    return f"### {kind.title}\n\n`{kind.where}`: {kind.meaning}\n\n{markdown(kind.name)}"


def reference() -> str:
    """Gives the documentation of every kind and of the settings as Markdown."""
    parts = [_describe(kind) for kind in KINDS.values() if kind.name != "workspace"]
    return "\n".join([*parts, f"### Settings\n\n{settings_markdown()}"])


if __name__ == "__main__":
    write_schemas(*sys.argv[1:2] or ["schemas"])

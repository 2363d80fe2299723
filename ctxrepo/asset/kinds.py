"""The kinds of assets and the fields of each, written once.

`check`, the JSON Schemas, the documentation tables and the settings are made from these tables; so is what every
other module takes for the default of a missing field (`values`).  A field that is not in the table of its kind is the
user's own: it is kept and left alone, except in SKILL.md, whose specification knows no other fields, and in
ctxrepo.yaml and access.yaml, where an unknown key is a slip that would silently change nothing.

Ids and dates are nowhere required: what a person writes by hand gets them at the next snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctxrepo.asset.fields import Field, Unfit, read_value

FACT_KINDS = ("preference", "rule", "decision", "correction", "fact", "experience", "task-state")
FACT_STATUSES = ("active", "superseded", "invalidated", "forgotten", "candidate", "conflict")
DOCUMENT_STATUSES = ("draft", "verified", "demoted", "superseded", "withdrawn")
ROLES = ("reader", "member", "admin")
RIGHTS = ("read", "write", "control")  # each includes those before it
SCOPES = ("workspace", "user", "machine")  # files of settings; a later one overrides an earlier one


class Kind(NamedTuple):
    """One kind of file."""

    name: str
    title: str
    where: str  # path in the workspace
    meaning: str
    fields: tuple[Field, ...]
    others: str = "kept"  # a key that is not in the table: "kept", or "refused"
    body: str = "free"  # the text below the header: "needed", "free", or "none" for a YAML file


class Setting(NamedTuple):
    """One setting: a field, and the first of `SCOPES` whose file may set it."""

    field: Field
    scope: str


_ID = Field("id", "id", "identity that survives renaming; made at the next snapshot if missing")
_CREATED = Field("created", "time", "when it was written down, UTC")
_UPDATED = Field("updated", "time", "when it last changed, UTC")
_ENTITIES = Field("entities", "lines", "names of people, things and places it is about", ())
_TAGS = Field("tags", "lines", "free labels", ())
_CONFIDENCE = Field("confidence", "number", "how sure it is", 0.8, low=0, high=1)
_SUPERSEDES = Field("supersedes", "ids", "ids that it takes the place of", ())
_SUPERSEDED_BY = Field("superseded_by", "id", "the id that took its place")

FACT = Kind(
    "fact",
    "Memory fact",
    "memory/<user>/facts/<YYYY-MM>/<slug>-<end of id>.md",
    "One fact in the user's words; the text is the body.",
    (
        _ID,
        Field("kind", "choice", "what sort of fact it is", "fact", choices=FACT_KINDS),
        Field("status", "choice", "only active facts are recalled", "active", choices=FACT_STATUSES),
        _CREATED,
        _UPDATED,
        Field("project", "line", "project identity in which it holds, `*` for all", "*"),
        Field("agent", "line", "agent that it is for, `*` for all", "*"),
        Field("importance", "number", "weight in recall", 0.5, low=0, high=1),
        _CONFIDENCE,
        _ENTITIES,
        Field("relations", "lines", "what it says of two of them, `A | verb | B`", ()),
        _TAGS,
        Field("source", "line", "where it comes from: cli, hand, an agent's name, import:…", "hand"),
        Field("session", "line", "agent session in which it was said"),
        Field("turn", "integer", "place in that session", low=0),
        Field("sources", "lines", "every place that said so, once several were merged", ()),
        Field("seen", "integer", "how often it was said", low=1),
        Field("uses", "integer", "how often it was recalled, as of the last consolidation", low=0),
        Field("last_used", "time", "when it was last recalled, as of the last consolidation"),
        Field("valid_from", "time", "not recalled before"),
        Field("valid_until", "time", "not recalled after; a date includes its day"),
        _SUPERSEDES,
        _SUPERSEDED_BY,
        Field("conflicts_with", "ids", "ids that say otherwise, until somebody decides", ()),
        Field("reason", "text", "why it was decided or changed"),
    ),
    body="needed",
)

ENTITY = Kind(
    "entity",
    "Entity page",
    "memory/<user>/entities/<slug>.md",
    "What is known about one thing; written by consolidation, editable.",
    (
        _ID,
        Field("title", "line", "name of the thing", need="wanted"),
        Field("aliases", "lines", "other names of it", ()),
        _UPDATED,
    ),
)

RULES = Kind(
    "rules",
    "Memory rules",
    "memory/<user>/rules.md",
    "What to remember and what not; the body tells it in prose.",
    (
        _ID,
        Field("rules", "lines", "one rule a line, `name: when CONDITION do ACTION`, each in quotes", ()),
    ),
)

KB = Kind(
    "kb",
    "Knowledge base",
    "knowledge/<kb>/KB.md",
    "What a base is for, who answers for it, how it is reviewed.",
    (
        _ID,
        Field("title", "line", "name for people", need="wanted"),
        Field(
            "description", "text", "purpose in one sentence; agents choose a base by it", need="wanted", longest=1024
        ),
        Field("owner", "line", "user who answers for it", need="wanted"),
        Field("review", "choice", "whether changes wait for approval", "required", choices=("required", "none")),
        Field("status", "choice", "archived bases are not recalled", "active", choices=("active", "archived")),
        _CREATED,
    ),
)

DOCUMENT = Kind(
    "document",
    "Knowledge document",
    "knowledge/<kb>/**/*.md",
    "One document of a base.",
    (
        _ID,
        Field("title", "line", "name for people; the first heading if missing"),
        Field("description", "text", "what it answers, in one sentence", longest=1024),
        Field("owner", "line", "user who answers for it; the base's owner if missing"),
        Field("status", "choice", "where it stands in its life", "verified", choices=DOCUMENT_STATUSES),
        _CONFIDENCE,
        Field("applies_to", "lines", "products, versions or projects it holds for", ()),
        Field("audience", "lines", "who it is written for", ()),
        Field("sources", "lines", "where it comes from: addresses, files, ids", ()),
        Field("effective_from", "time", "holds from"),
        Field("effective_until", "time", "holds until; a date includes its day"),
        _SUPERSEDES,
        _SUPERSEDED_BY,
        _ENTITIES,
        _TAGS,
        _CREATED,
        _UPDATED,
        Field("promotion", "id", "the proposal that brought it in"),
    ),
    body="needed",
)

SKILL = Kind(
    "skill",
    "Skill",
    "skills/<name>/SKILL.md",
    "A procedure in the Agent Skills format.",
    (
        Field("name", "line", "equal to the folder's name; begins with a verb", need="required", longest=64),
        Field("description", "text", "what it does, when to use it and when not", need="required", longest=1024),
        Field("license", "line", "short name, or a file in the folder"),
        Field("compatibility", "line", "what it needs to run", longest=500),
        Field("allowed-tools", "line", "tools it may use, separated by spaces"),
        Field("metadata", "text_map", "everything else, as texts"),
    ),
    others="refused",
    body="needed",
)

TASK = Kind(
    "task",
    "Task",
    "tasks/<id>/TASK.md",
    "State of one piece of work; prose below.",
    (
        _ID,
        Field("title", "line", "what is to be done", need="wanted"),
        Field("user", "line", "who works on it"),
        Field("project", "line", "project identity"),
        Field("status", "choice", "where it stands", "open", choices=("open", "done", "archived")),
        Field("phase", "line", "name of the present phase"),
        Field("phases", "maps", "each with name, status, result", ()),
        Field("calls", "maps", "skills that were called, with parameters and results", ()),
        Field("open_questions", "lines", "what has to be answered before it goes on", ()),
        Field("session", "line", "agent session that last worked on it"),
        _CREATED,
        _UPDATED,
    ),
)

SETTINGS: tuple[Setting, ...] = (
    Setting(Field("project", "line", "fixed project identity instead of the repository's"), "workspace"),
    Setting(Field("recall.threshold", "number", "least relevance that is recalled", 0.4, low=0, high=1), "workspace"),
    Setting(Field("recall.limit", "integer", "facts that a hook brings", 3, low=0, high=50), "workspace"),
    Setting(Field("recall.floor", "number", "weight that age cannot take away", 0.3, low=0, high=1), "workspace"),
    Setting(
        Field("recall.half_life_days", "number", "days in which the rest of the weight halves", 30.0, low=0.1),
        "workspace",
    ),
    Setting(
        Field("recall.preference_days", "number", "days for which a preference keeps its full weight", 60.0, low=0),
        "workspace",
    ),
    Setting(
        Field("recall.max_chars", "integer", "characters and bytes of a hook's answer", 9000, low=500, high=9000),
        "workspace",
    ),
    Setting(
        Field("recall.max_tokens", "integer", "tokens of recalled memory in one prompt", 500, low=50, high=8000),
        "workspace",
    ),
    Setting(
        Field(
            "index.passage_chars", "integer", "length of the passages a text is indexed in", 600, low=100, high=10_000
        ),
        "workspace",
    ),
    Setting(
        Field("memory.folder_entries", "integer", "files in one month's folder", 1000, low=10, high=10_000), "workspace"
    ),
    Setting(
        Field(
            "memory.forget_days", "integer", "days without recall after which little facts are forgotten", 180, low=0
        ),
        "workspace",
    ),
    Setting(
        Field("memory.forget_importance", "number", "importance up to which that may happen", 0.3, low=0, high=1),
        "workspace",
    ),
    Setting(Field("memory.usage_bytes", "integer", "size of the log of recalls", 4_000_000, low=10_000), "workspace"),
    Setting(Field("memory.nightly", "line", "time of the nightly consolidation, `off` for none", "03:30"), "user"),
    Setting(
        Field("watch.quiet_seconds", "number", "quiet time before hand edits are committed", 10.0, low=0, high=86_400),
        "user",
    ),
    Setting(
        Field(
            "watch.poll",
            "choice",
            "look at every file now and then instead of waiting for the system to tell",
            "auto",
            choices=("auto", "always"),
        ),
        "user",
    ),
    Setting(
        Field("llm.base_url", "line", "OpenAI-compatible endpoint of a language model, up to and with /v1"), "user"
    ),
    Setting(Field("llm.model", "line", "name of the model there"), "user"),
    Setting(Field("llm.api_key_env", "line", "environment variable that holds the key for it"), "user"),
    Setting(Field("llm.command", "line", "program that answers a prompt on stdin, such as `claude -p`"), "user"),
    Setting(Field("llm.timeout_seconds", "number", "time for one answer", 60.0, low=1, high=3600), "user"),
    Setting(Field("llm.retries", "integer", "further tries when it is busy or late", 2, low=0, high=5), "user"),
    Setting(
        Field(
            "llm.max_input_chars", "integer", "characters that one question may have", 200_000, low=1000, high=4_000_000
        ),
        "user",
    ),
    Setting(
        Field(
            "llm.max_output_chars", "integer", "characters that one answer may have", 100_000, low=1000, high=1_000_000
        ),
        "user",
    ),
    Setting(Field("user", "line", "whose private memory this machine works with"), "machine"),
)

WORKSPACE = Kind(
    "workspace",
    "Workspace settings",
    "ctxrepo.yaml",
    "Settings that come with every clone, so only harmless ones.",
    tuple(setting.field for setting in SETTINGS if setting.scope == "workspace"),
    others="refused",
    body="none",
)

ACCESS = Kind(
    "access",
    "Access",
    "access.yaml",
    "Who belongs to the workspace and what each may do with a knowledge base.",
    (
        Field(
            "members", "members", f"user name to role: {', '.join(ROLES)}; a plain list makes everybody a member", {}
        ),
        Field("groups", "map", "group name to a list of members", {}),
        Field("grants", "map", f"knowledge base to a map of member or `@group` to {', '.join(RIGHTS)}", {}),
    ),
    others="refused",
    body="none",
)

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (FACT, ENTITY, RULES, KB, DOCUMENT, SKILL, TASK, WORKSPACE, ACCESS)
}


def kind_of(path: str) -> str | None:
    """Tells the kind of the file at a path (relative to the workspace, with `/`), or None if it is no asset."""
    parts = path.split("/")
    name = parts[-1]
    if len(parts) == 1:
        return {"ctxrepo.yaml": "workspace", "access.yaml": "access"}.get(name)
    if not name.endswith(".md") or any(part.startswith(".") for part in parts):
        return None
    match parts:
        case ["memory", _, "rules.md"]:
            return "rules"
        case ["memory", _, "facts", _, *_]:
            return "fact"
        case ["memory", _, "entities", _]:
            return "entity"
        case ["knowledge", _, "KB.md"]:
            return "kb"
        case ["knowledge", _, "originals", *_]:
            return None
        case ["knowledge", _, _, *_]:
            return "document"
        case ["skills", _, "SKILL.md"]:
            return "skill"
        case ["tasks", _, *_] if name == "TASK.md":
            return "task"
    return None


def values(kind: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Gives every field of a kind's table, understood and with defaults; what does not fit counts as missing.

    For readers that go on whatever `check` says: an index, a list, a recall.
    """
    result: dict[str, object] = {}
    for field in KINDS[kind].fields:
        try:
            result[field.name] = read_value(field, fields.get(field.name))
        except Unfit:
            result[field.name] = field.default
    return result

"""What SKILL.md must and should be, beyond the types of its fields.

Errors are the rules of the Agent Skills specification (agentskills.io), as its reference validator has them: any
agent may refuse a skill that breaks one.  Warnings are what hosts accept or what makes a skill work badly: fields
that only one host knows, and the house rules (a name that begins with a verb, a description that says when *not* to
use it).

The verbs are a list, not a tagger: a skill's name is two or three words without a sentence around them, on which
part-of- speech taggers guess, and a list can be read.  Words that end in -ing pass, since the specification's own
examples do so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

MAX_BODY_LINES = 500

SPEC_FIELDS = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
_HOST_FIELDS = """
    agent argument-hint arguments context disable-model-invocation effort hooks model paths shell
    user-invocable version when_to_use
"""
_VERBS = """
    add adjust aggregate analyse analyze annotate answer apply approve archive ask assemble assess assign attach
    audit backup benchmark book bootstrap build bump calculate call cancel capture categorize change check choose
    clarify clean clear clone close collect compare compile compose compress compute configure confirm connect
    consolidate convert copy correct count crawl create debug decide decrypt define delete deploy describe design
    detect diagnose diff disable discover dispatch document download draft edit enable encrypt enrich enter escalate
    estimate evaluate examine execute expand explain explore export extend extract fetch file fill filter find fix
    follow forecast forget format gather generate get grade group guide handle help identify implement import
    improve index inspect install integrate interview introduce investigate invoke issue join label launch lint list
    load locate lock log look lookup maintain make manage map mark match measure merge migrate mock model monitor
    move name negotiate normalize notify onboard open optimize order organize outline pack package parse patch pay
    perform pick place plan polish post predict prepare present preview prioritize process produce profile promote
    prompt proofread propose provision prune publish pull purge push query quote rank read rebase rebuild recall
    recommend reconcile record recover redact reduce refactor refine refresh refund register reject release reload
    remember remind remove rename render renew repair replace reply report request research reserve reset resize
    resolve respond restart restore resume retrieve retry return review revise rewrite roll rollback rotate route
    run sanitize save scaffold scale scan schedule score scrape screen search secure select send serve set settle
    setup share ship show sign simplify simulate solve sort split start stop store structure submit suggest
    summarise summarize sync tag take teach test trace track train transcribe transfer transform translate triage
    trim troubleshoot tune undo uninstall unlock update upgrade upload use validate vendor verify view visualize
    watch wrap write
"""
HOST_FIELDS = frozenset(_HOST_FIELDS.split())
VERBS = frozenset(_VERBS.split())

_NAME = re.compile(r"[a-z0-9-]+")
_WHEN_NOT = re.compile(
    r"\b(?:do not|don['’]t|not (?:for|to|when|if|use|meant|suitable|intended)|never|avoid|except|unless|instead of"
    r"|rather than|only (?:when|if|for)|outside)\b|不要|不用于|不适用|不应|不能用|不处理"
    r"|请勿|勿用|避免|除非|除外|禁止|仅限|只在|只用于",
    re.IGNORECASE | re.ASCII,
)


def skill_problems(fields: Mapping[str, object], body: str, path: str) -> Iterator[tuple[str, str, str]]:
    """Yields field, message and level of every rule that a SKILL.md breaks.

    Args:
        path: of the SKILL.md, with the skill's folder as the last but one part.
    """
    for key in fields:
        if key in HOST_FIELDS:
            yield key, "is known to some hosts only, and refused by others; put it under `metadata`.", "warning"
        elif key not in SPEC_FIELDS:
            yield key, "is not in the Agent Skills format; put it under `metadata`.", "error"
    name = fields.get("name")
    if isinstance(name, str) and name:
        yield from _name_problems(name, path)
    description = fields.get("description")
    if isinstance(description, str) and description:
        if re.search(r"[<>]", description):
            yield "description", "holds `<` or `>`, which some hosts refuse.", "warning"
        if not _WHEN_NOT.search(description):
            yield "description", "does not say when not to use it.", "warning"
    if isinstance(fields.get("allowed-tools"), list):
        yield "allowed-tools", "must be one text with spaces between the tools.", "error"
    metadata = fields.get("metadata")
    for key, value in metadata.items() if isinstance(metadata, dict) else ():
        if isinstance(value, bool | int | float):
            yield f"metadata.{key}", f'must be text; write `{key}: "{value}"`.', "warning"
    if body.count("\n") > MAX_BODY_LINES:
        yield "body", f"has over {MAX_BODY_LINES} lines; move details into references/.", "warning"


def _name_problems(name: str, path: str) -> Iterator[tuple[str, str, str]]:
    if not _NAME.fullmatch(name):
        yield "name", f"is {name[:80]!r}; only a-z, 0-9 and `-` are allowed.", "error"
    elif name.startswith("-") or name.endswith("-") or "--" in name:
        yield "name", "must not begin or end with `-`, nor hold `--`.", "error"
    elif name.split("-")[0] not in VERBS and not name.split("-")[0].endswith("ing"):
        yield "name", "should begin with a verb, such as `query-order-status`.", "warning"
    parts = path.split("/")
    if len(parts) > 1 and parts[-2] != name:
        yield "name", f"is {name[:80]!r} in a folder called {parts[-2]!r}; the two must be equal.", "error"

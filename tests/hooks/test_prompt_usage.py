"""The hook notes what it recalled, after it has answered, and nothing of the prompt's words."""

from __future__ import annotations

import json
from pathlib import Path

from ctxrepo.memory import usage
from tests.support.live import Live


def test_a_recall_is_noted_with_its_session_and_a_checksum(tmp_path: Path) -> None:
    """Consolidation counts uses from this log; an unanswered prompt leaves no line."""
    live = Live.made(tmp_path / "team")
    path = live.add("对辣菜过敏，聚餐要避开", kind="preference")
    prompt = "周五聚餐能点辣菜吗"

    assert live.fire(prompt, session_id="s1", prompt_id="p1").context
    assert not live.fire("谢谢").context

    (event,) = usage.read(str(live.local / "state" / "memory" / "me"))
    (ident,) = event["ctxrepo.record.ids"]
    assert path.stem.endswith(ident[-6:].lower())
    assert event["gen_ai.conversation.id"] == "s1" and event["ctxrepo.turn.id"] == "p1"
    assert event["ctxrepo.agent"] == "claude-code"
    assert event["ctxrepo.prompt.hash"] == usage.hash_of(prompt)
    assert "辣菜" not in json.dumps(event, ensure_ascii=False)

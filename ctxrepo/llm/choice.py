"""Which model the user has chosen, if any: their own settings file or `CTXREPO_LLM_*`, nothing that comes with a clone.

A key in the environment alone chooses nothing: whoever has `OPENAI_API_KEY` for another program did not ask for
their memories to be sent anywhere.  Keys are not kept in settings files; the settings may name the variable that holds
one (`llm.api_key_env`).  `OPENAI_API_KEY` itself is used for OpenAI's own address only, or where it is named.

Inside a model that ctxrepo itself started there is no model: a question would answer itself for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from ctxrepo.errors import UsageFault
from ctxrepo.llm.command import DEPTH, Command
from ctxrepo.llm.endpoint import DEFAULT_BASE, Endpoint
from ctxrepo.llm.model import Limits, Model


def chosen_model(settings: Mapping[str, object], environ: Mapping[str, str]) -> Model | None:
    """Returns the model to ask, None when the user chose none.

    Args:
        settings: merged settings; `llm.` rows may come from the user's file only.
        environ: the environment; `CTXREPO_LLM_BASE_URL`, `_MODEL`, `_API_KEY`, `_COMMAND` win over the settings.

    Raises:
        UsageFault: half a choice, or both ways at once.
    """
    if environ.get(DEPTH):
        return None
    command = _said(settings, environ, "command")
    base, name = _said(settings, environ, "base_url"), _said(settings, environ, "model")
    if not (command or base or name):
        return None
    limits = Limits(
        seconds=float(str(settings["llm.timeout_seconds"])),
        retries=int(str(settings["llm.retries"])),
        characters_in=int(str(settings["llm.max_input_chars"])),
        characters_out=int(str(settings["llm.max_output_chars"])),
    )
    if command:
        if base:
            raise UsageFault("Both llm.command and llm.base_url are set; one of them must go.", hint="ctxrepo status")
        way = Command(command, environ)
        return Model(" ".join(command.split()[:2]), way, limits)
    if not name:
        raise UsageFault("llm.base_url is set, but llm.model is not.", hint="export CTXREPO_LLM_MODEL=…")
    address = (base or DEFAULT_BASE).rstrip("/")
    return Model(name, Endpoint(address, name, _key(address, settings, environ)), limits)


def _said(settings: Mapping[str, object], environ: Mapping[str, str], name: str) -> str:
    return environ.get(f"CTXREPO_LLM_{name.upper()}", "").strip() or str(settings.get(f"llm.{name}") or "").strip()


def _key(address: str, settings: Mapping[str, object], environ: Mapping[str, str]) -> str:
    own = environ.get("CTXREPO_LLM_API_KEY", "").strip()
    if own:
        return own
    named = str(settings.get("llm.api_key_env") or "").strip()
    if named:
        if named not in environ:
            raise UsageFault(f"llm.api_key_env names {named}, which is not set.", hint=f"export {named}=…")
        return environ[named].strip()
    ours = urlsplit(DEFAULT_BASE)
    theirs = urlsplit(address)
    return (
        environ.get("OPENAI_API_KEY", "").strip()
        if (theirs.scheme, theirs.netloc) == (ours.scheme, ours.netloc)
        else ""
    )

"""Keys, passwords and tokens in text, found on every way in and masked before anything is stored.

Three ways a secret is told, from sure to likely: by its own form (`AKIA…`, `ghp_…`, a PEM block), by the label it is
assigned to (`DB_PASSWORD=…`, `"token": "…"`), and by a sentence (`the password is …`, `密码是…`).  The less sure the
way, the more the value itself must look like a secret: prose about keys, tokens and 密码策略 has to come through
unharmed, or people switch the screening off.

Word boundaries are spelled out in ASCII.  Python's `\\b` counts Chinese characters as letters, so `凭证为sk_test_…` has
no boundary before the key.  Every pattern starts at a literal and has bounded gaps, so that time grows with the
length of the text and with nothing else (0.6 s for the worst megabyte, 0.5 ms for a page).

Rejected: entropy of any word (flags commit ids, ULIDs and paths, of which a workspace is full), and detect-secrets
(works by lines of source code and uses `\\b`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Secret(NamedTuple):
    """One secret: what it is, and where it stands, label excluded."""

    kind: str
    start: int
    end: int


_PEM = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z0-9 ]{0,40}-----)?"
_FREE = r"(?<![A-Za-z0-9_-])"

_FORMS: tuple[tuple[str, str], ...] = (
    ("private key", _PEM),
    ("AWS key", _FREE + r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("Alibaba Cloud key", _FREE + r"LTAI[0-9A-Za-z]{12,30}(?![0-9A-Za-z])"),
    ("Tencent Cloud key", _FREE + r"AKID[0-9A-Za-z]{28,40}(?![0-9A-Za-z])"),
    ("GitHub token", _FREE + r"(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})"),
    ("GitLab token", _FREE + r"gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{16,255}"),
    ("Slack token", _FREE + r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}"),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,200}"),
    ("Stripe key", _FREE + r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{3,255}"),
    ("API key", _FREE + r"sk-(?:proj-|svcacct-|admin-|ant-|or-v1-|lf-)[A-Za-z0-9_-]{6,255}"),
    ("API key", _FREE + r"sk-[A-Za-z0-9][A-Za-z0-9_-]{5,255}"),
    ("API key", _FREE + r"(?:gsk_|xai-|pplx-|r8_|hf_|nvapi-|tvly-|fw_)[A-Za-z0-9_-]{20,255}"),
    ("Google key", _FREE + r"(?:AIza[0-9A-Za-z_-]{30,60}|ya29\.[0-9A-Za-z_-]{20,255}|GOCSPX-[0-9A-Za-z_-]{20,60})"),
    ("registry token", _FREE + r"(?:npm_[A-Za-z0-9]{30,60}|pypi-Ag[\w-]{20,400}|dckr_pat_[\w-]{20,60})"),
    ("cloud token", _FREE + r"(?:do[opr]_v1_[a-f0-9]{40,80}|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,60})"),
    ("bot token", r"(?<![0-9A-Za-z_-])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,40}"),
    ("JWT", _FREE + r"eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000}"),
)
# A text without any of these holds no such secret; looking for them first makes the usual text five times cheaper.
_FORM_STARTS = (
    *(
        "PRIVATE KEY",
        "AKIA",
        "ASIA",
        "ABIA",
        "ACCA",
        "LTAI",
        "AKID",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
    ),
    *(
        "glpat-",
        "gldt-",
        "glrt-",
        "glptt-",
        "glcbt-",
        "xox",
        "xapp-",
        "hooks.slack.com/",
        "sk_",
        "rk_",
        "whsec_",
        "sk-",
    ),
    *("gsk_", "xai-", "pplx-", "r8_", "hf_", "nvapi-", "tvly-", "fw_", "AIza", "ya29.", "GOCSPX-", "npm_", "pypi-Ag"),
    *("dckr_pat_", "_v1_", "SG.", ":AA", "eyJ"),
)
_LABEL_STARTS = (
    "pass",
    "pwd",
    "pin",
    "key",
    "secret",
    "token",
    "credential",
    "密",
    "口令",
    "令牌",
    "凭证",
    "凭据",
    "私钥",
)
_FORM = re.compile("|".join(f"(?P<f{number}>{pattern})" for number, (_, pattern) in enumerate(_FORMS)), re.ASCII)

_BARE_KEY = re.compile(r"sk-(?!proj-|svcacct-|admin-|ant-|or-v1-|lf-)")
_URL = re.compile(r"://(?P<user>[^\s/:@'\"<>]{0,80}):(?P<value>[^\s/@'\"<>]{3,120})@(?=[A-Za-z0-9\[])")
_BEARER = re.compile(
    r"(?<![A-Za-z0-9])(?:bearer|basic|authorization:?[ \t]{1,4}token)[ \t]{1,4}"
    r"(?P<value>[A-Za-z0-9._~+/-]{8,4000}={0,2})",
    re.IGNORECASE | re.ASCII,
)

_PASSWORDS = r"pass(?:word|wd|phrase|code)|pwd|密\s?码|口令|(?<![A-Za-z])pin(?:\scode)?"
_OTHERS = (
    r"(?:api|access|secret|private|auth|signing|encryption|account|master|app|license)[ _-]?(?:access[ _-]?)?key"
    r"|apikey|secret|token|credentials?|密\s?钥|令牌|凭证|凭据|私钥"
)
_LABEL = rf"(?P<label>(?P<password>{_PASSWORDS})|{_OTHERS})"
_OPEN = r"(?P<quote>[\"'`“‘「『]?)"
_ASSIGNED = re.compile(
    _LABEL + r"[\"'`”\]]{0,2}(?P<sep>\s{0,3}(?:=>|:=|={1,2}|:|：|＝)\s{0,3})" + _OPEN + r"(?P<value>[!-~]{3,4000})",
    re.IGNORECASE | re.ASCII,
)
_SAID = re.compile(
    _LABEL
    + r"(?:[ \t]{1,3}(?:for|of|on|to)[ \t]{1,3}[\w./-]{1,40}){0,2}"
    + r"(?:[ \t]{1,3}(?:is|was|are|will[ ]be|has[ ]been|set|changed|reset|reads)"
    + r"(?:[ \t]{1,3}(?:now|set|changed|reset|to)){0,3}[ \t:]{1,4}"
    + r"|\s{0,3}(?:现在|目前|就|还|仍)?(?:是|为|叫|改成了?|改为了?|换成了?|设成了?|设为了?|设置为)[ \t:：]{0,4})"
    + _OPEN
    + r"(?P<value>[^\s\"'`”’」』，。；、！？]{2,200})",
    re.IGNORECASE | re.ASCII,
)
_CLOSING = str.maketrans("\"'`“‘「『", "\"'`”’」』")

_PLACEHOLDER = re.compile(
    r"[<\[{$%(*.…x_-].{0,2}$|[<\[{$%(&*].*|x{3,}.*|.*(?:\*{3}|\.{3}|…|xxxx|[<>]|\$\{|\{\{).*|your.*"
    r"|my[-_](?:super[-_])?(?:api|secret|token|pass).*"
    r"|.*(?:example|placeholder|redacted|change[-_]?me|dummy|masked|not[-_]?a[-_]?real|insert[-_]|-here$|_here$).*"
    r"|(?:pass(?:word|wd)?|secret|token|key|user(?:name)?|value|string|str|text|null|none|nil|true|false|undefined"
    r"|required|optional|hidden|empty|unset|missing|invalid|expired|encrypted|hashed|stored|disabled|enabled|object"
    r"|number|boolean)[0-9]?",
    re.IGNORECASE | re.ASCII,
)
_TERM = re.compile(  # what a sentence says about a secret: its length, its age, its algorithm
    r"(?:[0-9]+(?:\.[0-9]+)?[-_]?(?:char(?:acter)?|byte|bit|digit|letter|word|day|hour|hr|min(?:ute)?|sec(?:ond)?|week"
    r"|month|year|time|[kmg]b?|ms|s|h|d|x|st|nd|rd|th|password|fa|step)s?(?:[-_][a-z]+)*"
    r"|(?:base|sha|aes|rsa|md|hs|rs|es|ps|ed|x|p|utf|oauth|argon|pbkdf|bcrypt|scrypt|curve|secp|blake|hmac|uuid|ulid"
    r"|guid|http|tls|ssl|ipv|v|s|k|ec|i|n|java|python|node|web|log|fido|totp|hotp|level|tier|type|step|phase|rfc|iso"
    r"|pkcs|ver|version)[-_]?[0-9]+[a-z]?[0-9]*(?:[-_./][a-z0-9]+){0,3})",
    re.IGNORECASE | re.ASCII,
)
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[{].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|(?:\.{0,2}|~)/.*|[a-z]+://.*|[@!].*", re.ASCII
)
_MANY_WORDS = re.compile(r"[a-z]+(?:-[a-z]+){3,}", re.IGNORECASE | re.ASCII)
_ENVIRONMENT = re.compile(r"[A-Z0-9_]*\Z", re.ASCII)


def find_secrets(text: str) -> list[Secret]:
    """Finds the secrets of a text, in order and without overlaps."""
    found: list[Secret] = []
    candidates = {*_by_form(text), *_by_carrier(text)}
    lower = text.lower()
    if any(start in lower for start in _LABEL_STARTS):
        candidates |= {*_by_label(text), *_by_sentence(text)}
    for secret in sorted(candidates, key=lambda one: (one.start, -one.end, one.kind)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return found


def mask(text: str) -> str:
    """Gives the text with every secret replaced by `⟨secret: kind⟩`; masking twice changes nothing more."""
    parts: list[str] = []
    last = 0
    for secret in find_secrets(text):
        parts += text[last : secret.start], f"⟨secret: {secret.kind}⟩"
        last = secret.end
    return "".join(parts) + text[last:]


def _by_form(text: str) -> Iterator[Secret]:
    """Finds what is a secret by its own form."""
    if not any(start in text for start in _FORM_STARTS):
        return
    for match in _FORM.finditer(text):
        kind = _FORMS[int((match.lastgroup or "f0")[1:])][0]
        value = match.group()
        bare = _BARE_KEY.match(value) is not None
        if "EXAMPLE" in value or re.search(r"x{4}|X{4}", value) or (bare and not _is_bare_key(value[3:])):
            continue
        yield Secret(kind, *match.span())


def _by_carrier(text: str) -> Iterator[Secret]:
    """Finds the password of an address and the token of an Authorization header."""
    for match in _URL.finditer(text):
        if not _is_placeholder(match["value"]):
            yield Secret("password", *match.span("value"))
    for match in _BEARER.finditer(text):
        value = match["value"]
        opaque = value.endswith("=") or sum(char.isdigit() for char in value) > 1
        if opaque and not _is_placeholder(value) and not _TERM.fullmatch(value):
            yield Secret("token", *match.span("value"))


def _by_label(text: str) -> Iterator[Secret]:
    """Finds `label = value`, by what the value looks like and how much the assignment looks like configuration."""
    for match in _ASSIGNED.finditer(text):
        value = _cut(match["value"], match["quote"])
        quoted = bool(match["quote"])
        start = match.start("value")
        if quoted:
            sure = len(value) >= 4 and " " not in value
        else:
            tight = match["sep"].strip() == match["sep"] and "=" in match["sep"]
            head = text[max(0, match.start() - 40) : match.start()]
            shouted = match["label"].isupper() and _ENVIRONMENT.search(head) is not None
            sure = tight and len(value) >= 6 and (shouted or match["password"] is not None)
        if _is_code(value) or _is_placeholder(value):
            continue
        if _looks_secret(value, match["password"]) or (sure and not _TERM.fullmatch(value) and not value.isdigit()):
            yield Secret(_kind(match), start, start + len(value))


def _by_sentence(text: str) -> Iterator[Secret]:
    for match in _SAID.finditer(text):
        start = match.start("value")
        if match["quote"]:
            closing = text.find(match["quote"].translate(_CLOSING), start, start + 200)
            value = text[start:closing] if closing > start else match["value"]
            if len(value) >= 3 and "\n" not in value and not _is_placeholder(value) and not _TERM.fullmatch(value):
                yield Secret(_kind(match), start, start + len(value))
            continue
        ascii_part = re.match(r"[!-~]+", match["value"])
        if ascii_part is None:
            continue
        value = _cut(ascii_part.group(), "")
        if _looks_secret(value, match["password"]) and not _is_code(value) and not _is_placeholder(value):
            yield Secret(_kind(match), start, start + len(value))


def _kind(match: re.Match[str]) -> str:
    return "password" if match["password"] else "token"


def _cut(value: str, quote: str) -> str:
    """Cuts what follows the value: the closing quote, or the punctuation of the sentence."""
    if quote:
        closing = value.find(quote.translate(_CLOSING))
        return value[:closing] if closing >= 0 else value
    value = re.split(r"[\"'`;]|,(?:\w+=|$)|&\w+=|\)(?=[^A-Za-z0-9]|$)", value, maxsplit=1)[0]
    return value.rstrip(".,:?!)}]")


def _looks_secret(value: str, password: str | None) -> bool:
    """Tells whether a value told in passing is a secret rather than a word."""
    if _TERM.fullmatch(value):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if digits == len(value):
        return password is not None and digits >= (4 if password.lower().startswith("pin") else 6)
    if len(value) >= 6 and digits and letters:
        return True
    odd = sum(char in "!@#$%^&*+=~?" for char in value)
    return (len(value) >= 6 and bool(odd) and bool(letters)) or _MANY_WORDS.fullmatch(value) is not None


def _is_bare_key(rest: str) -> bool:
    """Tells an `sk-…` key from a word such as `sk-learn`: long and mixed, or at least three digits beside letters."""
    digits = sum(char.isdigit() for char in rest)
    letters = sum(char.isalpha() for char in rest)
    return bool(letters) and digits >= 3


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value) is not None


def _is_code(value: str) -> bool:
    return _CODE.fullmatch(value) is not None

"""Secrets are found next to any script, and talk about secrets passes.

The keys are put together at run time and are of no account, so that scanners of repositories stay calm.
"""

from __future__ import annotations

import time

import pytest

from ctxrepo.text import secrets
from ctxrepo.text.secrets import find_secrets, mask

ALNUM = "A1b2C3d4E5f6G7h8J9k0L1m2N3p4Q5r6S7t8U9v0"
UPPER = "A1B2C3D4E5F6G7H8"
JWT = ".".join(["eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0In0", "dBjftJeZ4CVPmB92K27u"])
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow" + ALNUM + "\nabc\n-----END RSA " + "PRIVATE KEY-----"
STRIPE = "sk_" + "test_" + "ABC123def"
OPENAI = "sk" + "-proj-" + ALNUM
BARE = "sk" + "-abc123"
GITHUB = "gh" + "p_" + ALNUM[:36]

HITS = [
    # (text, what must be gone)
    (f"凭证为{STRIPE}，请保存", STRIPE),
    (f"key {BARE}", BARE),
    (f"密钥{OPENAI}不要外传", OPENAI),
    ("AKIA" + UPPER, "AKIA" + UPPER),
    ("用这个AKIA" + UPPER + "登录", "AKIA" + UPPER),
    ("ASIA" + UPPER, "ASIA" + UPPER),
    ("LTAI" + ALNUM[:20], "LTAI" + ALNUM[:20]),
    ("AKID" + ALNUM[:32], "AKID" + ALNUM[:32]),
    (GITHUB, GITHUB),
    (f"https://{GITHUB}@github.com/acme/x.git", GITHUB),
    ("github" + "_pat_" + ALNUM, ALNUM),
    ("gl" + "pat-" + ALNUM[:20], ALNUM[:20]),
    ("xo" + "xb-1234567890-" + ALNUM, ALNUM),
    ("https://hooks.slack" + ".com/services/T0000/B0000/" + ALNUM, ALNUM),
    ("sk_" + "live_" + ALNUM, ALNUM),
    ("rk_" + "live_" + ALNUM, ALNUM),
    ("wh" + "sec_" + ALNUM, ALNUM),
    ("sk" + "-ant-api03-" + ALNUM, ALNUM),
    ("sk" + "-or-v1-" + ALNUM, ALNUM),
    ("sk" + "-" + ALNUM, ALNUM),
    ("gs" + "k_" + ALNUM, ALNUM),
    ("hf" + "_" + ALNUM[:34], ALNUM[:34]),
    ("AI" + "za" + ALNUM[:35], ALNUM[:35]),
    ("ya" + "29." + ALNUM, ALNUM),
    ("GOC" + "SPX-" + ALNUM[:28], ALNUM[:28]),
    ("np" + "m_" + ALNUM[:36], ALNUM[:36]),
    ("py" + "pi-AgEI" + ALNUM, ALNUM),
    ("S" + "G." + ALNUM[:22] + "." + ALNUM[:40], ALNUM[:22]),
    ("do" + "p_v1_" + "a1b2c3d4" * 8, "a1b2c3d4" * 8),
    ("123456789:" + "AA" + ALNUM[:33], ALNUM[:33]),
    (JWT, JWT),
    (f"令牌：{JWT}。", JWT),
    (PEM, "MIIEow"),
    (PEM.split("-----END")[0], "MIIEow"),
    (f"Authorization: Bearer {ALNUM}", ALNUM),
    (f"curl -H 'authorization: bearer {ALNUM}' x", ALNUM),
    ("Authorization: Basic " + "dXNlcjpwYXNzMTIz" + "NA==", "dXNlcjpwYXNzMTIzNA"),
    ("remember: prod password is hunter2", "hunter2"),
    ("The database password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("password for staging is S3cret!x", "S3cret!x"),
    ("my password is correct-horse-battery-staple", "correct-horse-battery-staple"),
    ("the password was changed to Blue42Sky", "Blue42Sky"),
    ("the password has been set to Blue42Sky", "Blue42Sky"),
    ('the passphrase is "open sesame please"', "open sesame please"),
    ("密码是hunter2", "hunter2"),
    ("密码是 Abc12345，别告诉别人", "Abc12345"),
    ("数据库密码改成了Qwe!2345", "Qwe!2345"),
    ("密码：abc123", "abc123"),
    ("密码是“芝麻开门”", "芝麻开门"),
    ("wifi密码为88888888", "88888888"),
    ("口令是 Tea-2026!", "Tea-2026!"),
    (f"令牌是{ALNUM}", ALNUM),
    (f"API密钥: {ALNUM}", ALNUM),
    ("PIN is 4821", "4821"),
    ("password: 123456", "123456"),
    ("export TOKEN=abcdefgh", "abcdefgh"),
    (f"export OPENAI_API_KEY={ALNUM}", ALNUM),
    ("export DB_PASSWORD='p4ss w0rd'", "p4ss"),
    ("PGPASSWORD=hunter psql -h db", "hunter"),
    ("API_SECRET=correcthorse", "correcthorse"),
    (f'{{"api_key": "{ALNUM}"}}', ALNUM),
    (f"client_secret: {ALNUM}", ALNUM),
    (f"aws_secret_access_key = {ALNUM}", ALNUM),
    (f"secret access key: {ALNUM}", ALNUM),
    (f"https://x.example/cb?access_token={ALNUM}&state=1", ALNUM),
    ("Server=db;User=sa;Password=Qw3rty99;Database=x", "Qw3rty99"),
    ("postgres://app:Qw3rty99@db.internal:5432/app", "Qw3rty99"),
    ("redis://:Qw3rty99@cache:6379", "Qw3rty99"),
    ("git clone https://me:Qw3rty99@git.internal/x", "Qw3rty99"),
    ("password=letmein1", "letmein1"),
    ("token => " + ALNUM, ALNUM),
    ("`secret`: `" + ALNUM + "`", ALNUM),
]

INNOCENTS = [
    "密码策略：至少 12 位，每 90 天更换一次",
    "密码长度为12位",
    "密码是8位数字",
    "密码是用 bcrypt 存的",
    "密码为必填项",
    "密码：见 1Password",
    "密钥是用 ed25519 生成的",
    "密钥放在 Vault 里",
    "令牌有效期是 7200 秒",
    "token 是 JWT 格式",
    "凭证由管理员发放",
    "忘记密码怎么办",
    "口令要每季度换一次",
    "接口用令牌鉴权，不要把令牌写进日志",
    "私钥不能提交到仓库",
    "API 密钥的轮换周期是 30 天",
    "the password is required",
    "the password is stored in the vault",
    "The password was changed last week",
    "password is case-sensitive",
    "the password is SHA-256 hashed",
    "the token is base64-encoded",
    "token is 32 bytes",
    "the token is 256-bit",
    "The access token expires after 3600 seconds",
    "refresh token: 7 days",
    "max_tokens: 500",
    "max_tokens=4096",
    "total tokens = 84852",
    "tokenizer: whitespace",
    "token: v2 format",
    "the API key is in 1Password, ask Tom",
    "API key: see the wiki",
    "api_key: your-api-key-here",
    "api_key=<YOUR_API_KEY>",
    "API_KEY=xxxxxxxxxxxx",
    "password: ********",
    "password: (ask Mei)",
    "password: required",
    "password = os.environ['DB_PASSWORD']",
    "token = secrets.token_hex(16)",
    "token = get_token(user1)",
    "password: str = Field(min_length=12)",
    "secret: config.app.secret",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: ${DB_PASSWORD}",
    "password: $DB_PASSWORD1",
    "export PATH=/usr/local/bin:$PATH",
    "TOKEN_FILE=/run/secrets/token1",
    "secret=/run/secrets/db1",
    "docker login --password-stdin",
    "postgres://user:password@localhost/db",
    "https://user:<token>@host/x",
    "ssh://git@github.com/acme/billing.git",
    "http://localhost:8080/@scope/pkg",
    "mailto:ada@example.org",
    "sk-learn and sk-folding-cube are names",
    "keys begin with sk_test_ or sk_live_",
    "keys look like sk-... or ghp_...",
    "AKIAIOSFODNN7" + "EXAMPLE",
    "Use Bearer authentication for the API",
    "bearer tokens are short-lived",
    "basic understanding of HTTP/2 needed",
    "id: 01M4QTK0203AF9ADT8N1WKE65Q",
    "commit 9d905d543f0a2b1c9d905d543f0a2b1c9d905d54",
    "deploy-前要先跑-make-check-mney9s.md",
    "The secret is that nobody reads the manual",
    "secrets are screened on every way in",
    "private key authentication is on",
    "the public key is ssh-ed25519",
    "a pin in the map is red",
    "passwords: 12 of them were weak",
    "error: token expired",
    "password reset link: https://x.example/reset",
    '{"token": null, "password": true}',
    '"password": "string"',
    "credential type is OAuth2",
    "the key is under the doormat",
    "our secret: fresh leaves",
    "task-manager risk-averse ask-123456",
]


def test_the_sets_are_large_enough() -> None:
    """A screening that was tried on a handful proves nothing."""
    assert len(HITS) >= 60
    assert len(INNOCENTS) >= 60


@pytest.mark.parametrize(
    ("text", "secret"), HITS, ids=[text[:24].encode("ascii", "replace").decode() for text, _ in HITS]
)
def test_secrets_are_found_and_masked(text: str, secret: str) -> None:
    """What is stored afterwards does not hold the secret, whatever stands beside it."""
    for surrounded in (text, f"请记住{text}", f"note: {text}\nmore text"):
        assert secret not in mask(surrounded)
        assert len(find_secrets(surrounded)) >= 1


@pytest.mark.parametrize("text", INNOCENTS)
def test_talk_about_secrets_passes(text: str) -> None:
    """Prose, code, documentation and placeholders come through unharmed."""
    assert mask(text) == text


def test_the_place_of_a_secret_is_exact() -> None:
    """The label stays readable, and only the value is replaced."""
    text = "prod password is hunter2, key " + BARE + "."

    assert [text[one.start : one.end] for one in find_secrets(text)] == ["hunter2", BARE]
    assert mask(text) == "prod password is ⟨secret: password⟩, key ⟨secret: API key⟩."


def test_every_form_is_looked_for() -> None:
    """The quick look before the patterns knows the beginning of each form that the patterns know."""
    hits = [text for text, _ in HITS if next(secrets._by_form(text), None)]

    assert {secret.kind for text in hits for secret in secrets._by_form(text)} == {kind for kind, _ in secrets._FORMS}


PREFIXES = "gh+o_ gh+u_ gh+s_ gh+r_ gl+rt- gl+dt- gl+ptt- gl+cbt- xox+p- xox+a- xa+pp- rk_+test_ sk-+svcacct-"
PREFIXES += " sk-+admin- sk-+lf- xa+i- pp+lx- r8+_ nv+api- tv+ly- fw+_ dc+kr_pat_ AB+IA AC+CA"


@pytest.mark.parametrize("prefix", PREFIXES.replace("+", "").split())
def test_every_prefix_is_known(prefix: str) -> None:
    """Issuers mark their keys so that they can be found; the quick look and the patterns know the same marks."""
    body = UPPER if prefix.isupper() else ALNUM[:30]

    assert mask(f"用{prefix}{body}登录") == f"用⟨secret: {find_secrets(prefix + body)[0].kind}⟩登录"


def test_masking_twice_changes_nothing_more() -> None:
    """What was masked on one way in passes the next one."""
    for text, _ in HITS:
        assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "password ",
        "token: ",
        "eyJa.",
        "sk-",
        "密码",
        "://a:",
        "-----BEGIN " + "PRIVATE KEY-----",
        "token for a ",
        "AKIA",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    """A megabyte of beginnings of secrets is through in seconds."""
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()

    find_secrets(text)

    assert time.process_time() - started < 10

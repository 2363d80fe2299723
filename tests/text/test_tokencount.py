"""The estimate against a real byte-pair tokenizer that brings its vocabularies along."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from ctxrepo.text.tokencount import VOCABULARIES, token_count

SAMPLES = Path(__file__).with_name("token_samples.txt")
DOCUMENTED = ("argparse", "asyncio", "csv", "datetime", "decimal", "difflib", "email", "enum", "functools", "heapq",
              "http.client", "json", "logging", "os", "pathlib", "pickle", "random", "re", "shutil", "socket",
              "sqlite3", "string", "subprocess", "tempfile", "textwrap", "threading", "types", "unittest", "uuid",
              "zipfile")  # fmt: skip


def written() -> list[str]:
    return [line.replace("\\n", "\n").replace("\\t", "\t") for line in SAMPLES.read_text("utf-8").splitlines()]


def standard_library() -> list[str]:
    """Code and English prose of every length, from modules that every Python has."""
    texts: list[str] = []
    for number, name in enumerate(DOCUMENTED):
        module = importlib.import_module(name)
        source = inspect.getsource(module)
        for part in (1, 2, 3):
            start = len(source) * part // 4
            texts.append(source[start : start + (150, 400, 1500)[(number + part) % 3]])
        members = [inspect.getdoc(value) or "" for _, value in sorted(vars(module).items()) if inspect.isclass(value)]
        texts += [text for text in sorted(members, key=len)[-1:] if len(text) > 80]
    return [text for text in texts if len(text) > 60]


@cache
def errors(vocabulary: str) -> list[tuple[float, int, int, str]]:
    """(relative error, estimate, truth, text) for every sample."""
    encoding = pytest.importorskip("bpe_openai").get_encoding(f"{vocabulary}_base")
    rows = []
    for text in written() + standard_library():
        truth = len(encoding.encode(text))
        rows.append((token_count(text, vocabulary) / truth - 1, token_count(text, vocabulary), truth, text))
    return rows


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_close_to_a_real_tokenizer(vocabulary: str) -> None:
    """Over 200 texts in Chinese, English, code and mixes: at most 12 % off on average, whatever the sort."""
    rows = errors(vocabulary)
    assert len(rows) >= 200
    assert sum(abs(row[0]) for row in rows) / len(rows) <= 0.12
    chinese = [row for row in rows if sum("\u4e00" <= char <= "\u9fff" for char in row[3]) > len(row[3]) / 2]
    assert len(chinese) >= 60
    assert sum(abs(row[0]) for row in chinese) / len(chinese) <= (0.12 if vocabulary == "o200k" else 0.15)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_never_far_under(vocabulary: str) -> None:
    """No text, and not the sum of all, takes 20 % more tokens than estimated."""
    rows = errors(vocabulary)
    worst = min(rows)
    assert worst[0] > -0.2, worst
    assert sum(row[1] for row in rows) > 0.8 * sum(row[2] for row in rows)


def test_what_is_no_prose() -> None:
    """Keys, encodings, other scripts and emoji are not taken for a few long words."""
    encoding = pytest.importorskip("bpe_openai").get_encoding("o200k_base")
    for text in (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBsb25nZXIgYmFzZTY0IHRleHQgdG8gdHJ5",
        "Это обычное предложение на русском языке о погоде и о работе.",
        "これは日本語の文章です。明日の会議は三時からです。",
        "🎉🎉🚀 shipped!! 👩‍💻✅",
        "=" * 80,
    ):
        truth = len(encoding.encode(text))
        assert 0.7 * truth <= token_count(text) <= 2.2 * truth + 2, text


def test_little_things() -> None:
    """Nothing costs nothing, something at least one; a longer text never costs less."""
    assert token_count("") == 0
    assert token_count(" ") >= 1
    counts = [token_count("我们 agreed on 三 things.\n" * times) for times in range(20)]
    assert counts == sorted(counts)
    with pytest.raises(KeyError):
        token_count("x", "unheard of")


def test_cheap_to_import() -> None:
    """The module brings nothing along that Python with `re` has not loaded."""
    code = "import re, math, sys, __future__; old = set(sys.modules); import ctxrepo.text.tokencount"
    code += "; print(*sorted(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"ctxrepo", "ctxrepo.text", "ctxrepo.text.tokencount"}

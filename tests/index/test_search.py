"""What a search gives: the exact top of a scope, for any language, whatever the prompt looks like."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable

import pytest

from ctxrepo.index.reader import HEAD_AND_BODY, KINDS, PREFERENCE, SERVED, Scope
from ctxrepo.text.analyzer import query_terms
from tests.index.conftest import EVERYTHING, Store, fact

Fill = Callable[[Iterable[str]], Store]
NOW = 1_795_946_400  # 2026-11-29T10:00:00Z

PLACES = ("*", "shop", "billing", "notes")
AGENTS = ("*", "claude-code", "codex")
STATUSES = ("active", "conflict", "superseded", "invalidated", "forgotten", "candidate")
WORDS = ["cache", "deploy", "invoice", "refund", "部署", "缓存", "发票", "退款", "window", "garden", "night", "数据库"]


def _population(count: int, seed: int) -> list[tuple[str, dict[str, str]]]:
    source = random.Random(seed)
    made = []
    for number in range(count):
        fields = {
            "project": f'"{source.choices(PLACES, (30, 60, 8, 2))[0]}"',
            "agent": f'"{source.choices(AGENTS, (70, 20, 10))[0]}"',
            "status": source.choices(STATUSES, (80, 5, 6, 3, 3, 3))[0],
        }
        if number % 7 == 0:
            fields["valid_until"] = "2026-11-20"
        if number % 11 == 0:
            fields["valid_from"] = "2026-12-24"
        text = " ".join(source.choices(WORDS, k=source.randint(3, 30)))
        made.append((f"{text} n{number}", fields))
    return made


def _admitted(fields: dict[str, str], scope: Scope) -> bool:
    if scope.places is not None and fields["project"].strip('"') not in scope.places:
        return False
    if scope.agents is not None and fields["agent"].strip('"') not in scope.agents:
        return False
    if scope.statuses is not None and fields["status"] not in scope.statuses:
        return False
    return scope.now is None or not ("valid_until" in fields or "valid_from" in fields)


SCOPES = {
    "most of it": Scope(places={"*", "shop"}, agents={"*", "claude-code"}, now=NOW),
    "a sliver": Scope(places={"notes"}, agents={"codex", "*"}, now=NOW),
    "one project": Scope(places={"billing"}, agents={"*"}, now=None),
    "all that holds": Scope(places=None, agents=None, now=NOW),
    "really everything": EVERYTHING,
    "nothing": Scope(places={"elsewhere"}, agents={"*"}, now=NOW),
}


@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize("k", [1, 10, 60])
def test_the_top_of_a_scope_is_exact(store: Store, name: str, k: int) -> None:
    """Whichever way the reader takes, it gives the k best of the scope, as filtering a complete ranking would."""
    scope = SCOPES[name]
    population = _population(600, seed=5)
    for number, (text, fields) in enumerate(population):
        store.write(f"facts/2026-11/{number}.md", fact(text, **fields))
        if number % 150 == 149:
            store.sync()
    reader = store.reader()
    for question in ("cache deploy", "部署 发票", "night window garden refund", "n7 数据库"):
        terms = query_terms(question)
        complete = reader.candidates(terms, EVERYTHING, 10_000)
        numbers = [int(str(reader.stored(a)["path"]).split("/")[-1][:-3]) for a in complete.addresses]
        expected = [
            (score, number)
            for score, number in zip(complete.scores, numbers, strict=True)
            if _admitted(population[number][1], scope)
        ][:k]
        found = reader.candidates(terms, scope, k)
        assert found.scores == pytest.approx([score for score, _ in expected], rel=1e-5)
        got = {int(str(reader.stored(a)["path"]).split("/")[-1][:-3]) for a in found.addresses}
        edge = expected[-1][0] if expected else 0.0
        assert {number for score, number in expected if score > edge * (1 + 1e-5)} <= got
        assert all(_admitted(population[number][1], scope) for number in got)


def test_expired_and_superseded_never_stand_beside_their_successor(store: Store) -> None:
    """However well they match, and however few others there are."""
    served = {"a": {}, "b": {"status": "conflict"}}
    hidden = {
        "c": {"status": "superseded"},
        "d": {"status": "forgotten"},
        "e": {"status": "invalidated"},
        "f": {"status": "candidate"},
        "g": {"valid_until": "2026-11-28"},
        "h": {"valid_from": "2026-11-30T00:00:00Z"},
        "i": {"status": "superceded"},
        "j": {"project": "[shop, billing]"},
        "k": {"agent": "{name: codex}"},
    }
    for name, fields in {**served, **hidden}.items():
        store.write(f"facts/2026-11/{name}.md", fact("office moved to Hamburg", kind="fact", **fields))
    store.sync()
    scope = Scope(places={"*", "shop"}, agents={"*", "codex"}, now=NOW)
    assert sorted(store.hits("where is the office", scope)) == ["facts/2026-11/a.md", "facts/2026-11/b.md"]
    assert len(store.hits("where is the office")) == len(served) + len(hidden)


def test_a_date_holds_for_its_whole_day(store: Store) -> None:
    """`valid_until: 2026-11-29` includes that day (UTC) and not the next; `valid_from` begins with it."""
    store.write("facts/2026-11/until.md", fact("staging is frozen", valid_until="2026-11-29"))
    store.write("facts/2026-11/from.md", fact("staging is thawed", valid_from="2026-11-30"))
    store.sync()

    def at(moment: float) -> list[str]:
        return store.hits("staging", Scope(places={"*"}, agents={"*"}, now=moment))

    midnight = 1_795_996_800
    assert at(midnight - 1) == ["facts/2026-11/until.md"]
    assert at(midnight) == ["facts/2026-11/from.md"]


def test_a_scope_cannot_be_forgotten(store: Store) -> None:
    """Places, agents and the moment have no default."""
    with pytest.raises(TypeError):
        Scope(places={"*"}, agents={"*"})  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Scope()  # type: ignore[call-arg]
    assert not set(SERVED) & {"superseded", "invalidated", "forgotten", "withdrawn", "candidate"}


def test_an_agent_sees_its_own_and_what_is_for_all(store: Store) -> None:
    """What claude-code captured is absent in codex, and the other way round."""
    for agent in ("*", "claude-code", "codex"):
        store.write(f"facts/2026-11/{agent.strip('*') or 'all'}.md", fact("lint before commit", agent=f'"{agent}"'))
    store.sync()
    found = store.hits("lint", Scope(places={"*"}, agents={"*", "codex"}, now=NOW))
    assert sorted(found) == ["facts/2026-11/all.md", "facts/2026-11/codex.md"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("今天玩成语接龙游戏", "成语接龙"),
        ("我在北京上海工作", "北京工作"),
        ("對辣菜過敏，聚餐要避開", "过敏的辣菜"),
        ("部署前先跑make check再看报表", "make check"),
        ("calls getUserName in fix_bug", "getusername fix bug"),
        ("Prüfung der Rechnungen", "prufung"),
    ],
)
def test_words_are_found_in_any_script(filled: Fill, text: str, question: str) -> None:
    """A Chinese word inside a sentence, folded characters, glued scripts, identifiers."""
    store = filled(["nothing to see here 无关内容", text])
    assert store.hits(question)[0] == "facts/2026-11/1.md"


@pytest.mark.parametrize(
    "question",
    [
        'lantern AND NOT "x',
        "lantern OR (",
        "body:lantern +path:/etc ^5",
        "lantern*~2 [a TO b]",
        "IN [lantern]",
        "lantern \x00 \\",
        "灯笼 lantern " * 500,
        "could you please tell me whatever you may know about the lantern that we once had",
    ],
)
def test_a_prompt_is_words_and_never_a_query_language(filled: Fill, question: str) -> None:
    """Operators, quotes, brackets and very long prompts find what their words find."""
    store = filled(["a paper lantern 灯笼 in the hall", "unrelated entirely"])
    assert store.hits(question)[0] == "facts/2026-11/0.md"


def test_one_matching_word_is_enough(filled: Fill) -> None:
    """Terms are OR-ed: a long question of which the note holds one word still finds it."""
    store = filled(["the zeppelin lands on Sundays", "cats sleep"])
    assert store.hits("which vehicle arrives weekly, is it a zeppelin or another airship") == ["facts/2026-11/0.md"]


@pytest.mark.parametrize("question", ["", "   ", "!?…", "😀", "🤷‍♀️ 。。"])
def test_a_prompt_without_words_finds_nothing(filled: Fill, question: str) -> None:
    """And it is no error."""
    assert filled(["something 😀"]).hits(question) == []


def test_long_texts_are_passages_with_the_name_of_their_file(store: Store) -> None:
    """A fact is one document until it is very long; passages share file and group and are numbered."""
    store.write("facts/2026-11/short.md", fact("quince jam", session="s1", turn=4))
    long_text = "\n\n".join(f"Paragraph {n} about quince number{n}. " + "filler words here. " * 20 for n in range(12))
    store.write("facts/2026-11/long.md", fact(long_text, session="s1", turn=5))
    store.sync()
    reader = store.reader()
    found = reader.candidates(query_terms("quince"), EVERYTHING, 50)
    stored = [reader.stored(address) for address in found.addresses]
    parts = [each for each in stored if each["path"] == "memory/me/facts/2026-11/long.md"]
    assert len(parts) == parts[0]["parts"] > 5
    assert sorted(each["part"] for each in parts) == list(range(len(parts)))
    assert all(len(str(each["text"])) <= 600 for each in parts)
    groups = set(reader.column("group", found.addresses))
    assert len(groups) == 1
    assert groups != {0}
    files = reader.column("file", found.addresses)
    assert len(set(files)) == 2
    turns = [
        turn for turn, each in zip(reader.column("turn", found.addresses), stored, strict=True) if each not in parts
    ]
    assert turns == [4]


def test_columns_and_the_stored_document_say_what_the_file_says(store: Store) -> None:
    """Everything that ranking and printing need, with the units that the reader promises."""
    header = {
        "id": "01M09RDPM0S6X55NP1M2XAFMJQ",
        "kind": "preference",
        "created": "2026-11-29T10:00:00Z",
        "importance": 0.9,
        "confidence": ".25",
        "entities": "[退款, Tom]",
        "session": "abc",
        "turn": 7,
    }
    file = store.write("facts/2026-11/x.md", fact("Tom mag Tee", **header))
    store.write("facts/2026-11/y.md", fact("Tom ohne alles"))
    store.sync()
    reader = store.reader()
    (first, second) = reader.candidates(query_terms("mag tee tom"), EVERYTHING, 5).addresses
    assert reader.stored(first) == {
        "path": "memory/me/facts/2026-11/x.md",
        "class": "memory",
        "kind": "preference",
        "status": "active",
        "id": "01M09RDPM0S6X55NP1M2XAFMJQ",
        "place": "*",
        "agent": "*",
        "created": "2026-11-29T10:00:00Z",
        "session": "abc",
        "turn": 7,
        "entities": ["退款", "Tom"],
        "importance": 0.9,
        "confidence": 0.25,
        "reviewed": True,
        "crc32": zlib.crc32(file.read_bytes()),
        "text": "Tom mag Tee",
    }
    both = [first, second]
    assert reader.column("created", both)[0] == NOW
    assert reader.column("kind", both) == [PREFERENCE, KINDS.index("fact")]
    assert reader.column("importance", both) == [0.9, 0.5]
    assert reader.column("confidence", both) == [0.25, 0.8]
    assert reader.column("length", both) == [3, 3]
    assert reader.column("valid_until", both) == [None, None]
    assert reader.column("group", both)[1] == 0
    assert reader.doc_freqs(["tom", "tee", "nosuch"]) == [2, 1, 0]
    assert reader.num_docs == 2


def test_a_name_counts_more_than_a_mention(store: Store) -> None:
    """An entity page, a knowledge document, a skill: title, description and aliases are a field of their own."""
    store.write("entities/tuikuan.md", fact("- 先找 Tom", title="退款", aliases="[refund]"))
    store.write("entities/tom.md", fact("- refund, refund and refund again 退款退款", title="Tom"))
    store.sync()
    reader = store.reader()
    scope = Scope(places=None, agents=None, now=NOW, classes=("entity",))
    found = reader.candidates(query_terms("refund"), scope, 5, HEAD_AND_BODY)
    assert reader.stored(found.addresses[0])["title"] == "退款"
    assert {reader.stored(address)["class"] for address in found.addresses} == {"entity"}


def test_neighbours_are_asked_for_by_their_place_in_a_session(store: Store) -> None:
    """Only those that the scope admits; nothing for places that do not exist."""
    for turn in range(5):
        fields = {"session": "s1", "turn": turn, "status": "superseded" if turn == 3 else "active"}
        store.write(f"facts/2026-11/{turn}.md", fact(f"word{turn}", **fields))
    store.write("facts/2026-11/else.md", fact("elsewhere", session="s2", turn=1))
    store.sync()
    reader = store.reader()
    scope = Scope(places={"*"}, agents={"*"}, now=NOW)
    (middle,) = reader.candidates(query_terms("word2"), scope, 1).addresses
    (group,) = reader.integers("group", [middle])
    found = reader.beside([(group, 1), (group, 3), (group, 99), (7, 1)], scope)
    assert [reader.stored(address)["text"] for address in found] == ["word1"]
    assert reader.beside([], scope) == []
    assert reader.integers("valid_from", found) == [0]

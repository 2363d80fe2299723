"""The grammar of memory rules, and patterns that cannot hang."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.asset.frontmatter import parse
from ctxrepo.memory.rules.grammar import RuleError, make_rule, parse_rule
from ctxrepo.memory.rules.page import rules_of, with_rule, without_rule
from ctxrepo.memory.rules.pattern import Pattern, PatternError
from ctxrepo.memory.rules.rule import Known, first_match, forget_rule


@pytest.mark.parametrize(
    ("when", "fits", "not_fits"),
    [
        ("text ~ 'salary|工资'", Known("My Salary is low"), Known("my celery is low")),
        ("text !~ 'salary'", Known("celery"), Known("salary")),
        ("kind = preference", Known("x", kind="preference"), Known("x")),
        ("kind in (rule, decision)", Known("x", kind="rule"), Known("x")),
        ("project = 'github.com/acme/shop'", Known("x", project="github.com/acme/shop"), Known("x")),
        ("project ~ 'acme' and not tag = keep", Known("x", project="acme"), Known("x", project="acme", tags=("keep",))),
        ("importance < 0.4", Known("x", importance=0.3), Known("x", importance=0.4)),
        ("uses >= 2", Known("x", uses=2), Known("x", uses=1)),
        ("age > 90d", Known("x", age=91), Known("x", age=90)),
        ("age > 2w or age < 12h", Known("x", age=15), Known("x", age=3)),
        ("never recalled in 90d", Known("x", uses=3, unrecalled=90), Known("x", unrecalled=89)),
        ("never recalled", Known("x"), Known("x", uses=1)),
        ("project ended", Known("x", ended=True), Known("x")),
        ("status = conflict", Known("x", status="conflict"), Known("x")),
        ("entity = 'Kafka'", Known("x", entities=("kafka",)), Known("x", entities=("RabbitMQ",))),
        ("not (kind = rule or text ~ 'a')", Known("b"), Known("a")),
        ("text ~ 'it''s'", Known("it's"), Known("its")),
        ('kind = fact and (importance < 0.2 or text ~ "x")', Known("x"), Known("y")),
    ],
)
def test_conditions_mean_what_they_say(when: str, fits: Known, not_fits: Known) -> None:
    """Each test of the grammar, with and, or, not and brackets."""
    rule = parse_rule(f"name: when {when} do ignore")

    assert rule.matches(fits)
    assert not rule.matches(not_fits)
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("no colon", 1, "begins with its name"),
        ("a: text ~ 'x' do ignore", 4, "`when`"),
        ("a: when text ~ x do ignore", 16, "in quotes"),
        ("a: when text ~ 'x do ignore", 16, "not closed"),
        ("a: when colour = red do ignore", 9, "no condition"),
        ("a: when kind = rumour do ignore", 16, "no kind"),
        ("a: when age > 90 do forget", 15, "no duration"),
        ("a: when importance > high do forget", 22, "no number"),
        ("a: when (text ~ 'x' do ignore", 21, "`)`"),
        ("a: when text ~ 'x' do erase", 23, "not an action"),
        ("a: when text ~ 'x' do remember importance 2", 43, "between 0 and 1"),
        ("a: when text ~ 'x' do ignore kind rule", 30, "Nothing may follow"),
        ("a: when text ~ '(x' do ignore", 17, "not closed"),
        ("a: when text ~ '(?=x)' do ignore", 17, "Look-around"),
        (r"a: when text ~ '(x)\1' do ignore", 20, "not understood"),
    ],
)
def test_a_fault_says_line_and_column(text: str, column: int, reason: str) -> None:
    """And shows the place."""
    with pytest.raises(RuleError, match=re.escape(reason)) as fault:
        parse_rule(text, 7)

    assert (fault.value.line, fault.value.column) == (7, column)


def test_one_bad_rule_hides_no_other() -> None:
    """The line of each fault is that of the file."""
    text = (
        '---\nrules:\n  - "a: when text ~ \'x\' do ignore"\n  - "b: when"\n  - "c: when always do keep"\n---\nprose\n'
    )
    rules, faults = rules_of(parse(text))

    assert [rule.name for rule in rules] == ["a", "c"]
    assert [fault.line for fault in faults] == [4]


def test_prose_and_comments_survive_a_change() -> None:
    """Setting, replacing and removing touch one line."""
    text = "---\n# mine\nrules:\n  - \"a: when text ~ 'x' do ignore\" # why\nmood: good\n---\nMy words.\n"
    added = with_rule(parse(text), make_rule("b", "text ~ '工资'", "ignore"))
    replaced = with_rule(parse(added), make_rule("b", "age > 1y", "forget"))
    removed = without_rule(parse(replaced), "b")

    assert "# mine" in added and "# why" in added and "mood: good" in added and added.endswith("My words.\n")
    assert [str(rule) for rule in rules_of(parse(replaced))[0]] == [
        "a: when text ~ 'x' do ignore",
        "b: when age > 1y do forget",
    ]
    assert removed == text
    assert without_rule(parse(text), "nothing") is None


def test_preferences_fall_only_to_a_rule_that_names_them() -> None:
    """And a `keep` rule protects whatever it fits."""
    preference = {"text": "old", "kind": "preference", "age": 400.0}
    anything = [make_rule("old", "age > 1y", "forget")]
    named = [make_rule("old", "kind = preference and age > 1y", "forget")]
    kept = [make_rule("mine", "text ~ 'old'", "keep"), *named]

    assert forget_rule(anything)(preference) is None
    assert forget_rule(anything)(preference | {"kind": "fact"}) == "old"
    assert forget_rule(named)(preference) == "old"
    assert forget_rule(kept)(preference) is None


def test_the_first_rule_decides() -> None:
    """In the order of the file."""
    rules = [make_rule("one", "text ~ 'a'", "remember", "rule", 0.9), make_rule("two", "always", "remember")]

    assert (match := first_match(rules, "remember", Known("a"))) and match.kind == "rule" and match.importance == 0.9
    assert (match := first_match(rules, "remember", Known("b"))) and match.name == "two"


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", r"\s", "工", r"\b", "^", "$", "-"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text(alphabet="abAB1 工-_", max_size=12))
def test_patterns_find_what_re_finds(pattern: str, text: str) -> None:
    """The automaton and `re` agree on everything that both understand."""
    ours = Pattern(pattern).found_in(text)
    word = r"(?:(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?![A-Za-z0-9_]))"
    theirs = re.search(pattern.replace(r"\b", word).replace("$", r"\Z"), text, re.IGNORECASE) is not None

    assert ours == theirs


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "a*a*a*a*a*a*b", "(.*)*x", "((a{0,20}){0,20}){0,2}b"])
def test_no_pattern_hangs(pattern: str) -> None:
    """Those that make a backtracking matcher take minutes."""
    start = time.process_time()
    found = Pattern(pattern).found_in("a" * 3000)

    assert not found
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize(
    "pattern", ["", "a{9999}", "((((a{50}){50}){50}))", "*a", "a**", "(a", "a)", "[a", "[b-a]", "\\"]
)
def test_what_cannot_be_matched_safely_is_refused(pattern: str) -> None:
    """Too large, or no pattern."""
    with pytest.raises(PatternError):
        Pattern(pattern)


def test_a_border_stands_between_chinese_and_latin() -> None:
    r"""`\b` is a border of ASCII words: 凭证为key has one."""
    assert Pattern(r"\bkey\b").found_in("凭证为key。")
    assert not Pattern(r"\bkey\b").found_in("monkeys")

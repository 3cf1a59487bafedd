"""The sets `reading`, `tasks` and `facts`: their data, their figures, and the commands that print them."""

import asyncio
import json
from pathlib import Path

import pytest

from memorywire.client.memory import Memory
from memorywire.model.errors import InvalidRequest
from memorywire_evals.assistant import data, facts, reading, run, tasks
from memorywire_evals.assistant.data import GoldFact, Message, Note, Person, Prompt, Query, Store
from memorywire_evals.assistant.reading import Reading
from memorywire_evals.assistant.tasks import Block
from memorywire_evals.tables import targets
from tests.cli.shell import Shell

KINDS = {
    "constraint",
    "preference",
    "identity",
    "relation",
    "possession",
    "plan",
    "event",
    "procedure",
    "decision",
    "configuration",
}


def _fact(*words: str, **options: bool) -> GoldFact:
    return GoldFact(kind="preference", slot="x", words=tuple((word,) for word in words), **options)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


# The data


def _texts(part: str) -> dict[str, set[str]]:
    return {
        "reading": {message.text for message in data.read_messages(part)},
        "tasks": {prompt.text for person in data.read_people(part) for prompt in person.prompts}
        | {text for person in data.read_people(part) for text in person.unrelated},
        "facts": {one.text for store in data.read_stores(part) for one in store.questions},
    }


def test_the_sets_are_as_large_as_they_say():
    messages = [message for part in data.PARTS for message in data.read_messages(part)]
    sentences = [message for message in messages if message.group == "sentence"]
    assert len(sentences) >= 400
    assert 150 <= sum(not message.facts for message in sentences) <= 170
    assert len(messages) - len(sentences) >= 150
    people = [person for part in data.PARTS for person in data.read_people(part)]
    assert len(people) == 30
    assert all(len(person.prompts) == 15 and 12 <= len(person.memories) <= 20 for person in people)
    assert sum(len(person.unrelated) for person in people) == 100
    questions = [
        (s.group, q.gold) for part in data.PARTS for s in data.read_stores(part) for q in s.questions
    ]
    counts = {group: sum(one == group for one, _ in questions) for group, _ in questions}
    assert counts == {"exact": 200, "lookup": 200, "updated": 100, "paraphrase": 300}
    assert sum(gold is None for _, gold in questions) == 100


def test_dev_and_test_share_nothing():
    dev, test = (_texts(part) for part in data.PARTS)
    for name in dev:
        assert not {text.casefold() for text in dev[name]} & {text.casefold() for text in test[name]}, name


def test_the_part_to_develop_on_shares_nothing_with_the_others():
    train = {message.text.casefold() for message in data.read_messages(data.TRAIN)}
    assert len(train) == 770
    for part in data.PARTS:  # a greeting may occur twice
        assert not train & {
            one.text.casefold() for one in data.read_messages(part) if one.facts or one.before
        }


@pytest.mark.parametrize("part", data.PARTS)
def test_every_gold_fact_can_be_read_in_its_message(part):
    for message in data.read_messages(part):
        for fact in message.facts:
            assert fact.kind in KINDS, message.id
            assert reading.matches(message.text, fact, message.text), (message.id, fact)
        if message.before is not None:
            assert reading.has_words(message.before, message.ended), message.id
        assert (message.before is not None) == (message.group == "retraction")


@pytest.mark.parametrize("part", data.PARTS)
def test_no_prompt_needs_an_outdated_memory(part):
    for person in data.read_people(part):
        old = {note.id for note in person.memories if note.outdated}
        assert old, person.id
        for prompt in person.prompts:
            assert prompt.helps or prompt.constrains
            assert not old & {*prompt.helps, *prompt.constrains}
            assert not {*prompt.helps} & {*prompt.constrains}


def test_another_part_is_refused():
    with pytest.raises(InvalidRequest, match="no part"):
        data.read_messages("other")


# The figures of reading


@pytest.mark.parametrize(
    ("text", "fact", "source", "expected"),
    [
        ("The user lives in Leith.", _fact("leith"), "We moved to Leith.", True),
        ("The user lives in Leeds.", _fact("leith"), "We moved to Leith.", False),
        ("The user doesn't eat pork.", _fact("pork", negative=True), "I don't eat pork.", True),
        ("The user eats pork.", _fact("pork", negative=True), "I don't eat pork.", False),
        ("The user dislikes olives.", _fact("olive", negative=True), "I don't like olives.", True),
        ("Running is off the table.", _fact("running", negative=True), "Running is off the table.", True),
        ("The user does not like tea.", _fact("tea"), "I like tea.", False),
        ("The user likes tea, not coffee.", _fact("tea"), "I like tea, not coffee.", True),
    ],
)
def test_a_stored_text_matches_with_the_same_words_and_the_same_yes_or_no(text, fact, source, expected):
    assert reading.matches(text, fact, source) is expected


def test_the_figures_of_reading_by_hand():
    messages = [
        Message(
            id="a",
            group="sentence",
            text="I live in Leith and like tea.",
            facts=(_fact("leith"), _fact("tea")),
        ),
        Message(
            id="b", group="sentence", text="I have a cat.", facts=(_fact("cat"), _fact("have", optional=True))
        ),
        Message(id="c", group="sentence", text="Thanks!"),
        Message(
            id="d", group="retraction", text="Forget the cat.", before="I have a cat.", ended=(("cat",),)
        ),
        Message(
            id="e", group="retraction", text="Forget Leith.", before="I live in Leith.", ended=(("leith",),)
        ),
        Message(id="f", group="joke", text="I was born tired."),
    ]
    readings = {
        "a": Reading(facts=("The user lives in Leith.", "I like tigers.")),
        "b": Reading(is_turn_kept=False),
        "c": Reading(facts=("The user is thankful.",)),
        "d": Reading(earlier=("The user has a cat.",), left=()),
        "e": Reading(earlier=("The user lives in Leith.",), left=("The user lives in Leith.",)),
        "f": Reading(facts=("The user was born tired.",)),
    }
    figures = reading.score(messages, readings)
    assert figures["precision"] == 1 / 3
    assert figures["recall"] == 1 / 3
    assert figures["wrongly kept"] == 1
    assert figures["messages without a fact, a fact kept"] == 1
    assert figures["earlier facts ended"] == 0.5
    assert figures["turns lost"] == 1
    assert figures["third person"] == 2 / 3
    by_id = {row["id"]: row for row in reading.rows(messages, readings)}
    assert by_id["a"]["wrong"] == ["I like tigers."]
    assert by_id["a"]["missed"] == ["preference/x"]
    assert by_id["e"]["not ended"] == ["The user lives in Leith."]


def test_reading_goes_through_the_layer():
    async def scenario() -> dict[str, Reading]:
        async with Memory("a", ["memory://"]) as memory:
            return await reading.read_all(
                [
                    Message(id="1", group="sentence", text="I'm allergic to shellfish."),
                    Message(id="2", group="joke", text="Haha, brilliant."),
                ],
                memory,
            )

    readings = asyncio.run(scenario())
    assert len(readings["1"].facts) == 1
    assert "shellfish" in readings["1"].facts[0]
    assert readings["2"].facts == ()


# The figures of tasks


_PERSON = Person(
    id="p",
    domain="home",
    memories=(
        Note(id="a", text="x" * 40),  # 10 tokens
        Note(id="b", text="x" * 80),  # 20 tokens
        Note(id="c", text="x" * 120, outdated=True),  # 30 tokens
    ),
    prompts=(Prompt(text="one", helps=("b",), constrains=("a",)), Prompt(text="two", constrains=("a",))),
    unrelated=("17 times 23?", "good morning"),
)


def test_the_figures_of_tasks_by_hand():
    blocks = {
        "one": Block(ids=("a", "c"), tokens=50),
        "two": Block(ids=("a", "a rule"), tokens=30),
        "17 times 23?": Block(),
        "good morning": Block(ids=("a",), tokens=300),
    }

    async def ask(memory: Memory, text: str) -> Block:
        return blocks[text]

    async def scenario() -> list[tasks.Answer]:
        async with Memory("a", ["memory://"]) as memory:
            return await tasks.ask_all(_PERSON, memory, ask)

    answers = asyncio.run(scenario())
    figures = tasks.score(answers)
    assert figures["helpful"] == 0.5  # of the second prompt only the constraint can help
    assert figures["helpful share"] == 0.5
    assert figures["constraints"] == 1.0
    assert figures["useful tokens"] == 20 / 80
    assert figures["useful tokens of memories"] == 20 / 50
    assert figures["outdated"] == 0.5
    assert figures["tokens"] == 40
    assert figures["over budget"] == 1
    assert figures["unrelated tokens"] == 150
    assert figures["unrelated tokens, most"] == 300
    first = tasks.rows(answers)[0]
    assert first["helpful missing"] == ["x" * 80]
    assert first["in the way"] == ["x" * 120]


def test_plain_recall_sees_the_users_memories_and_the_agents_own():
    person = Person(
        id="p",
        domain="home",
        memories=(
            Note(id="a", text="The user drinks green tea"),
            Note(id="b", text="Tea is at four", shared=True),
        ),
        prompts=(),
    )

    async def scenario() -> Block:
        async with Memory("a", ["memory://"]) as memory:
            await tasks.store_notes(person, memory)
            return await tasks.ask_recall_without_floor(memory, "tea")

    block = asyncio.run(scenario())
    assert set(block.ids) == {"a", "b"}
    assert block.tokens == 7 + 4  # four characters a token, rounded up


# The figures of facts


def test_the_figures_of_facts_by_hand():
    notes = (Note(id="m1", text="one"), Note(id="m2", text="two"))

    def answer(group: str, gold: str | None, *ids: str, older: str | None = None) -> facts.Answer:
        store = Store(id=group, group=group, memories=notes, questions=())
        return facts.Answer(
            store=store, question=Query(text="?", gold=gold, older=older), ids=ids, all_ids=ids
        )

    figures = facts.score(
        [
            answer("exact", "m1", "m1", "m2"),
            answer("exact", "m1", "m2", "m1"),
            answer("lookup", "m2", "m2"),
            answer("updated", "m2", "m3", "m2", "m1", older="m1"),
            answer("updated", "m2", "m1", "m2", older="m1"),
            answer("updated", "m2", "m2", older="m1"),
            answer("updated", "m2", older="m1"),
            answer("paraphrase", "m1"),
            answer("paraphrase", "m1", "m2", "m1"),
            answer("paraphrase", None),
            answer("paraphrase", None, "m1"),
            answer("paraphrase", None),
            answer("paraphrase", None),
        ]
    )
    assert figures["exact first"] == 0.5
    assert figures["lookup first"] == 1.0
    assert figures["updated first"] == 0.25
    assert figures["updated, newest above older"] == 0.5
    assert figures["wrongly left empty"] == 0.5
    assert figures["no match left empty"] == 0.75
    assert figures["paraphrase first"] == 0.0
    assert figures["paraphrase among the hits"] == 0.5


def test_facts_are_stored_and_asked_in_order():
    store = Store(
        id="s",
        group="exact",
        memories=(Note(id="m1", text="The vet is in Leith"), Note(id="m2", text="Piano is on Tuesday")),
        questions=(
            Query(text="The vet is in Leith", gold="m1"),
            Query(text="Who won the cup final in 1954?"),
        ),
    )

    async def scenario() -> list[facts.Answer]:
        async with Memory("a", ["memory://"], clock=lambda: facts.moment_after(store)) as memory:
            await facts.store_notes(store, memory)
            return await facts.ask_all(store, memory)

    first, second = asyncio.run(scenario())
    assert first.ids[0] == "m1"
    assert second.ids == ()
    assert len(second.all_ids) == 2


# The tables and the commands


@pytest.mark.parametrize("name", ["reading", "tasks", "facts"])
def test_every_line_of_a_table_names_a_figure(name):
    figures = {
        "reading": reading.score([], {}),
        "tasks": tasks.score([]),
        "facts": facts.score([]),
    }[name]
    assert [line["figure"] for line in run.build_table(name, figures)] == [one.label for one in targets(name)]
    for target in targets(name):
        assert target.where == f"figures/{target.metric}"


def test_the_commands_print_the_targets_beside_the_figures(shell, tmp_path):
    target = tmp_path / "out" / "reading.json"
    result = shell("eval", "reading", "--part", "dev", "--json", str(target), "--misses")
    assert result.code == 0, result.err
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert "at least aim memorywire stands" in lines
    assert any(line.startswith("recall of facts 0.600 0.750") for line in lines)
    document = json.loads(target.read_bytes())
    assert (document["set"], document["part"]) == ("reading", "dev")
    assert len(document["rows"]["memorywire"]) == len(data.read_messages("dev"))


def test_the_misses_of_the_test_part_are_not_shown(shell):
    result = shell("eval", "facts", "--misses")
    assert result.code != 0
    assert "--part dev" in result.err

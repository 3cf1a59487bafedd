"""What may become one memory, and what a vector overlooks."""

import asyncio

import pytest
from msgspec.structs import replace

from memorywire.model.consolidation import Pass, Retention
from memorywire.model.record import MemoryType, Record, Scope, Trust
from memorywire.pipeline.context import Context
from memorywire.search.embed import open_embedder
from memorywire_consolidate.likeness import Change, fit_thresholds
from memorywire_consolidate.passes import find_conflicts, find_exact, find_excess, find_semantic, find_unused
from memorywire_consolidate.run import ConsolidationRun, dream
from tests.dreaming.scope import SCOPE, remember_next, run_story
from tests.engine.stage import HandClock

KEEP = Retention()


def a_memory(text: str, at: int = 0, **fields: object) -> Record:
    return replace(
        Record(id=text, scope=SCOPE, type=MemoryType.SEMANTIC, content=text, created_at=at, updated_at=at),
        **fields,
    )


def merged(first: str, second: str) -> bool:
    async def measured() -> bool:
        embedder = open_embedder("minilm")
        records = [a_memory(first), a_memory(second, 1)]
        vectors = dict(zip((first, second), await embedder.embed([first, second]), strict=True))
        thresholds = await fit_thresholds(embedder)
        await embedder.close()
        return bool(list(find_semantic([(record, record) for record in records], vectors, thresholds, KEEP)))

    return asyncio.run(measured())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The deploy starts at 5", "The deploy begins at 5"),
        ("The pipeline is maintained by Karl", "Karl maintains the pipeline"),
    ],
    ids=["synonym", "passive"],
)
def test_the_same_in_other_words_is_one_memory(first: str, second: str) -> None:
    assert merged(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The deploy starts at 5", "The deploy starts at 6"),
        ("Anna manages Tom", "Tom manages Anna"),
        ("The cat chased the dog", "The dog chased the cat"),
        ("The flag is enabled in staging", "The flag is disabled in staging"),
        ("Kim eats meat", "Kim does not eat meat"),
        ("Ole is a smoker", "Ole is a former smoker"),
        ("The report is due on Friday", "The report is due by Friday"),
        ("Ben told me about the merger", "Ben told them about the merger"),
    ],
    ids=["number", "names", "roles", "opposite", "denial", "over", "when", "whom"],
)
def test_what_differs_where_a_vector_does_not_look_stays_two(first: str, second: str) -> None:
    assert not merged(first, second)


def test_thresholds_are_fitted_to_the_embedder_for_every_way_to_differ() -> None:
    async def fit() -> dict[Change, float]:
        embedder = open_embedder("minilm")
        try:
            return dict((await fit_thresholds(embedder)).least)
        finally:
            await embedder.close()

    found = asyncio.run(fit())
    assert set(found) == set(Change)
    assert all(0 < score < 1 for score in found.values())


def test_memories_of_two_users_are_never_one() -> None:
    ana = a_memory("The code is 5", scope=Scope(agent="dreamer", user="ana"))
    ben = replace(ana, id="other", scope=Scope(agent="dreamer", user="ben"))
    assert list(find_exact([ana, ben], KEEP)) == []
    assert len(list(find_exact([ana, replace(ana, id="other")], KEEP))) == 1


def test_a_pinned_copy_is_kept_and_never_ended() -> None:
    pin = a_memory("The code is 5", tags=("pinned",))
    [step] = find_exact([replace(pin, id="later", created_at=9, tags=()), pin], KEEP)
    assert (step.kept, step.ids) == (pin.id, ("later",))
    assert list(find_exact([pin, replace(pin, id="twin")], KEEP)) == []


@pytest.mark.parametrize(
    ("older", "later", "sure"),
    [
        ("Ana lives in Rome", "Ana moved to Oslo", [True]),
        ("The limit is 500 requests", "The limit is 800 requests", [True]),
        ("Kim eats meat", "Kim does not eat meat any more", [True]),
        ("The tap is open", "The tap is closed", [True]),
        ("The bread is in the oven", "The bread is in the fridge", [False]),
        ("Ana likes tea", "Ana likes coffee", []),
        ("Invoice 12 is paid", "Invoice 13 is paid", []),
        ("Ana lives in Rome", "Ana lives in Rome with her sister", []),
        ("Ana lives in Rome", "Ben lives in Oslo", []),
    ],
    ids=["place", "number", "denial", "opposite", "perhaps", "many", "subject", "more", "others"],
)
def test_only_what_cannot_both_hold_is_a_conflict(older: str, later: str, sure: list[bool]) -> None:
    records = [a_memory(later, 1), a_memory(older)]
    steps = list(find_conflicts([(record, record) for record in records], KEEP))
    assert [step.sure for step in steps] == sure
    assert all((step.kept, step.ids) == (later, (older,)) for step in steps)


def test_what_was_said_again_after_the_contradiction_wins() -> None:
    again = a_memory("Ana really lives in Rome", 9)
    first, between = a_memory("Ana lives in Rome"), a_memory("Ana moved to Oslo", 5)
    [step] = find_conflicts([(first, again), (between, between), (again, again)], KEEP)
    assert (step.kept, step.ids) == (again.id, (between.id,))


def test_beyond_its_number_the_least_worth_of_a_kind_is_archived() -> None:
    records = [a_memory(f"fact {at}", at, confidence=1.0) for at in range(3)]
    records.append(a_memory("a guess", 9, confidence=0.01))
    steps = list(find_excess(records, Retention(most={MemoryType.SEMANTIC: 3})))
    assert [step.ids for step in steps] == [("a guess",)]
    assert list(find_excess(records, Retention(most={}))) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Hines plays the position of wide receiver", "Hines plays the position of cornerback"),
        ("Books that Sara likes to read: historical fiction", "Books that Sara likes to read: biographies"),
        ("Martin plays football for the town club", "Michael plays football for the town club"),
    ],
    ids=["position", "books", "subject"],
)
def test_another_value_of_one_thing_is_not_the_same_in_other_words(first: str, second: str) -> None:
    assert not merged(first, second)


def test_a_statement_longer_than_any_that_was_fitted_is_for_a_person_to_judge() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for way in ("practices", "exercises"):
            text = (
                f"Sara is looking for ways to bring calm breathing {way} and rest into her working day, "
                "so that the new job at the office leaves her enough strength for the evenings at home"
            )
            await remember_next(context, clock, text)
        done = await dream(SCOPE, context, ConsolidationRun())
        assert done.steps == ()
        [(_, step)] = done.proposed
        assert (step.name, step.sure) == (Pass.SEMANTIC, False)

    run_story(story)


@pytest.mark.parametrize("tag", ["know", "do", "blacklist"])
def test_a_rule_is_pinned_in_every_pass(tag: str) -> None:
    rule = a_memory("Always run the tests before you push", at=1, tags=(tag,), id="rule", confidence=0.1)
    others = [a_memory(f"fact number {number}", at=number + 2, id=f"f{number}") for number in range(3)]
    capped = Retention(most={MemoryType.SEMANTIC: 1}, days={MemoryType.SEMANTIC: 1})
    ended = {id for step in find_excess([rule, *others], capped) for id in step.ids}
    assert ended == {"f0", "f1", "f2"}
    unused = {id for step in find_unused([rule, *others], capped, 10**15) for id in step.ids}
    assert unused == {"f0", "f1", "f2"}
    plain = replace(rule, tags=(), content="The tests run before a push")  # the control
    assert "rule" in {id for step in find_excess([plain, *others], capped) for id in step.ids}
    poison = replace(rule, trust=Trust.UNTRUSTED)
    assert "rule" in {id for step in find_excess([poison, *others], capped) for id in step.ids}


def test_what_reads_as_a_rule_is_not_archived_without_a_tag_either() -> None:
    rule = a_memory("Always run the tests before you push", at=1, id="rule", confidence=0.1)
    remark = a_memory("Always nice to meet you!", at=1, id="remark", confidence=0.1)
    others = [a_memory(f"fact number {number}", at=number + 2, id=f"f{number}") for number in range(3)]
    capped = Retention(most={MemoryType.SEMANTIC: 1}, days={MemoryType.SEMANTIC: 1})

    def archived(*records: Record) -> set[str]:
        steps = [*find_excess([*records, *others], capped), *find_unused([*records, *others], capped, 10**15)]
        return {id for step in steps for id in step.ids}

    assert archived(rule, remark) == {"remark", "f0", "f1", "f2"}
    assert "rule" in archived(replace(rule, trust=Trust.UNTRUSTED))


def test_what_expires_never_ends_what_does_not() -> None:
    older = a_memory("Ana lives in Graz.", at=1, id="older")
    later = a_memory("Ana lives in Linz.", at=2, id="later")

    def sure(older: Record, later: Record) -> bool:
        [step] = find_conflicts([(older, older), (later, later)], Retention())
        assert (step.kept, step.ids) == ("later", ("older",))
        return step.sure

    assert sure(older, later)  # the control
    assert not sure(older, replace(later, expires_at=10**15))
    assert not sure(replace(older, expires_at=10**15 + 1), replace(later, expires_at=10**15))
    assert sure(replace(older, expires_at=10**15), replace(later, expires_at=10**15 + 1))

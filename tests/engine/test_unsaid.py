"""A hard delete reaches what only a proposal says, and no further than the scope that asks."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.model.errors import Conflict
from memorywire.model.proposal import State
from tests.engine.stage import STORES, play
from tests.router.desk import Scene
from tests.router.desk import play as play_on_several

WORDS = "the vault code is 1234"

on_every_store = pytest.mark.parametrize("url", STORES)


async def hold(memory, content=WORDS, **options):
    return (await memory.remember(content, approval_required=True, **options)).proposal_id


async def plans(memory, *proposals):
    """What each proposal still says, and where it stands."""
    found = [(await memory.proposal(id, all_agents=True)).proposal for id in proposals]
    return [(one.request is not None, one.change is not None, one.state.value) for one in found]


GONE = (False, False, State.EXPIRED.value)
THERE = (True, True, State.PENDING.value)


@on_every_store
def test_a_memory_that_never_was_can_be_erased(url):
    async def story(memory, clock):
        waiting, refused = await hold(memory, id="w"), await hold(memory, "another secret", id="r")
        await memory.decide(refused, "reject")
        assert (await memory.forget("w")).missing_ids == ("w",)  # there is nothing to end
        assert (await memory.forget(["w", "r"], hard_delete=True, dry_run=True)).forgotten_ids == ("w", "r")
        assert (await plans(memory, waiting))[0] == THERE
        done = await memory.forget(["w", "r", "nobody"], hard_delete=True)
        assert (done.forgotten_ids, done.missing_ids) == (("w", "r"), ("nobody",))
        assert await plans(memory, waiting, refused) == [GONE, (False, False, State.REJECTED.value)]
        (entry,) = await memory.audit_log(subject=done.change_id)
        assert entry["details"]["erased"] == ["w", "r"]
        assert (await memory.changes(), [one.count for one in done.stores]) == ((), [0])
        assert (await memory.forget("w", hard_delete=True)).missing_ids == ("w",)

    play(url, story)


@on_every_store
def test_what_waits_with_the_words_of_an_erased_memory_goes_with_it(url):
    async def story(memory, clock):
        await memory.remember(WORDS, id="v")
        await memory.remember("the vault is empty", id="v", if_version=1)
        same, other = await hold(memory), await hold(memory, "the vault is red")
        of_ben = await hold(memory, user_id="ben")
        await memory.forget("v", hard_delete=True)
        assert await plans(memory, same, other, of_ben) == [GONE, THERE, THERE]

    play(url, story)


@on_every_store
def test_an_approved_hard_delete_takes_the_same_along(url):
    async def story(memory, clock):
        await memory.remember(WORDS, id="v")
        await memory.remember("the vault is empty", id="v", if_version=1)
        same = await hold(memory)
        await memory.set_rules([{"name": "erasing", "verdict": "hold", "erases": True}])
        asked = (await memory.forget("v", hard_delete=True)).proposal_id
        assert await plans(memory, same) == [THERE]
        await memory.decide(asked, "approve", confirm="erase")
        assert await plans(memory, same) == [GONE]

    play(url, story)


@on_every_store
def test_nobody_erases_what_waits_for_another(url):
    async def story(memory, clock):
        of_ana, of_all = await hold(memory, id="a", user_id="ana"), await hold(memory, "for all", id="b")
        assert (await memory.forget(["a", "b"], hard_delete=True, user_id="ben")).forgotten_ids == ()
        memory.agent_id = "another"
        assert (await memory.forget(["a", "b"], hard_delete=True)).forgotten_ids == ()
        assert await plans(memory, of_ana, of_all) == [THERE, THERE]
        own = await hold(memory, "of another agent", id="a")
        await memory.forget("a", hard_delete=True)
        assert await plans(memory, own, of_ana) == [GONE, THERE]
        memory.agent_id = "agent"
        assert (await memory.forget("a", hard_delete=True, user_id="ana")).forgotten_ids == ("a",)

    play(url, story)


def test_nothing_of_it_stays_in_the_file(tmp_path):
    async def story():
        async with Memory("agent", [f"sqlite://{tmp_path}/m.db"], policy="open") as memory:
            await memory.decide(await hold(memory, id="v"), "reject")
            kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            await memory.forget("v", hard_delete=True)
        return kept, b"".join(file.read_bytes() for file in tmp_path.iterdir())

    before, after = asyncio.run(story())
    assert (WORDS.encode() in before, WORDS.encode() in after) == (True, False)


def test_an_id_that_was_never_a_memory_is_free_again_in_several_stores():
    async def story(scene: Scene):
        memory = scene.memory
        await memory.remember("the kettle is blue", id="kept")
        await hold(memory, id="w")
        assert (await memory.forget(["kept", "w"], hard_delete=True)).forgotten_ids == ("kept", "w")
        await memory.remember("Ana drinks green tea", id="w")
        assert [hit.id for hit in await memory.recall("what does Ana drink?")] == ["w"]
        await memory.forget("w", hard_delete=True)
        with pytest.raises(Conflict):
            await memory.remember("Ana drinks green tea", id="w")

    play_on_several(story)

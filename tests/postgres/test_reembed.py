"""A schema can change its embedding space without losing a word, also in two sittings."""

import pytest

from memorywire import Memory
from memorywire.model.errors import NotFound, SpaceMismatch
from memorywire_postgres.reembed import reembed
from tests.postgres.desk import rows, run
from tests.sqlite.test_reembed import Mirrored, fill, no_progress


def test_after_it_the_schema_opens_and_answers_in_the_new_space_only(schema: str) -> None:
    async def story() -> None:
        await fill(schema)
        other = Mirrored()
        with pytest.raises(SpaceMismatch):
            await Memory("a", [schema], embedder=other).recall("tea")
        count = await reembed(schema, space=other.space, embed=other.embed, on_progress=no_progress)
        assert count == 3
        async with Memory("a", [schema], embedder=other) as memory:
            found = await memory.recall("what does Ana like to drink?", explain=True)
            assert found.hits[0].content == "Ana prefers black tea"
            assert found.hits[0].signals["vector"] > 0.3
            assert len(await memory.history("tea")) == 2
        with pytest.raises(SpaceMismatch):
            await Memory("a", [schema]).recall("tea")
        assert not await reembed(schema, space=other.space, embed=other.embed, on_progress=no_progress)
        await other.close()

    run(story())


def test_interrupted_it_goes_on_where_it_stopped_and_the_walls_stand(schema: str) -> None:
    async def story() -> None:
        await fill(schema)
        other = Mirrored()

        def stop(done: int, total: int) -> None:
            if done == total:
                raise KeyError("enough for now")

        with pytest.raises(KeyError):
            await reembed(schema, space=other.space, embed=other.embed, on_progress=stop)
        assert other.embedded == 3
        await reembed(schema, space=other.space, embed=other.embed, on_progress=no_progress)
        assert other.embedded == 3
        await other.close()

    run(story())
    assert rows(schema, "SELECT relforcerowsecurity FROM pg_class WHERE oid = 'version'::regclass") == [
        (True,)
    ]


def test_there_must_be_something(schema: str) -> None:
    other = Mirrored()
    with pytest.raises(NotFound):
        run(reembed(schema, space=other.space, embed=other.embed, on_progress=no_progress))

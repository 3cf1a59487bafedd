"""Ten thousand entries: every repetition among the best is dropped, and every text is embedded once.

A search embeds its question, and the 50 entries that it compares with each other.
"""

from collections.abc import Sequence

from memorywire import Memory
from memorywire.model.kv import Indexing, Kept, Setting
from memorywire.model.space import Space
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.kv.stage import play

ENTRIES, TWINS, AT_ONCE, TOP = 10_000, 4, 500, 10
COMPARED = 50  # the best of a search, whose repetitions are looked for


class Counting:
    """An embedder that counts the texts it is given."""

    def __init__(self) -> None:
        self._inner = Quick()
        self.texts = 0

    @property
    def space(self) -> Space:
        return self._inner.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.texts += len(texts)
        return await self._inner.embed(texts)

    async def close(self) -> None:
        await self._inner.close()


def test_ten_thousand_writes_embed_each_text_once_and_a_search_drops_every_repetition() -> None:
    embedder = Counting()

    async def story(memory: Memory, clock: HandClock) -> None:
        subjects = [f"Customer number{n:05} collects stamps" for n in range(ENTRIES // TWINS)]
        entries = [
            Setting(key=f"k/{n:05}/{twin}", value=text, embed=True, text=text, index=Indexing.TEXT)
            for n, text in enumerate(subjects)
            for twin in range(TWINS)
        ]
        for start in range(0, ENTRIES, AT_ONCE):
            outcomes = await memory.kv.keep_each(entries[start : start + AT_ONCE])
            assert all(isinstance(one, Kept) for one in outcomes)
        assert (await memory.kv.stats()).entries == ENTRIES
        assert embedder.texts == ENTRIES
        for number in (0, 1_234, 2_499):
            found = await memory.kv.search(subjects[number], top_k=TOP, dedup={"mode": "drop"})
            shown = [match.entry.key for match in found]
            assert shown[0].startswith(f"k/{number:05}/")
            assert len({key.rpartition("/")[0] for key in shown}) == len(shown)
            assert found.repeats >= TWINS - 1
        assert embedder.texts == ENTRIES + 3 * (1 + COMPARED)

    play(story, embedder=embedder)

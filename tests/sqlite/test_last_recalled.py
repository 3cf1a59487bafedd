"""A recall that is being written is seen by whoever reads meanwhile."""

from pathlib import Path

from memorywire_testing.samples import NOW, a_change, a_record, a_scope, beginning
from tests.sqlite.desk import opened, run


def test_who_began_to_read_before_recalls_were_written_still_sees_them(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await store.write(a_change(scope, beginning(a_record(scope, "tea", id="m1")), id="one"))
            untouched = store._recalls.last_recalled()
            await store.touch(scope, ["m1"], NOW + 5)
            begun = store._recalls.last_recalled()
            await store.write(a_change(scope, beginning(a_record(scope, "snow", id="m2")), id="two"))
            assert not store._recalls
            assert begun(scope, "m1", None) == NOW + 5
            assert untouched(scope, "m1", None) is None
            [found] = await store.get(scope, ["m1"])
            assert found.recalled_at == NOW + 5

    run(main())

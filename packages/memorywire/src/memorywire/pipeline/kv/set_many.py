"""Keys that are set at the same moment: read, screened, judged and committed together."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from memorywire.model.change import Base, Change
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError
from memorywire.model.kv import MARK, Kept, Setting
from memorywire.model.record import Json, Record, Trust
from memorywire.pipeline.commit_many import submit_each
from memorywire.pipeline.kv.keys import Keys, Place, glimpsed, live
from memorywire.pipeline.kv.planning import Ready, content_of, fitting, plan_of, planned, receipt
from memorywire.pipeline.kv.usage import MOST_TOGETHER, Seen
from memorywire.pipeline.kv.writing import keep_alone, kept_alone, ready
from memorywire.policy.judge import cleared, trust_of
from memorywire.policy.redact import Redactor
from memorywire.stores.contract import Glimpse, SupportsPeek

Result: TypeAlias = Kept | MemorywireError
_Ended: TypeAlias = Kept | Exception
_Meant: TypeAlias = tuple[Change, int]
"""A change, and how many bytes more the owner holds then."""


async def keep(keys: Keys, setting: Setting) -> Kept:
    """Keep one value, together with what else is set at the same moment.

    Raises before anything is written when it may not be kept.
    """
    if setting.embed:
        return await keep_alone(keys, setting)
    return await keys.usage.join(keys, setting, _keep_together)


async def keep_each(keys: Keys, settings: Sequence[Setting]) -> list[Result]:
    """Keep many values that share commits, each with its own receipt or problem."""
    if len(settings) > keys.limits.entries_at_once:
        raise InvalidRequest(
            f"{len(settings)} entries at once, {keys.limits.entries_at_once} are allowed", field="entries"
        )
    if len({setting.key for setting in settings}) < len(settings):
        raise InvalidRequest("a key is named twice", field="entries", fix="name each key once")
    some = [settings[at : at + MOST_TOGETHER] for at in range(0, len(settings), MOST_TOGETHER)]
    done = await asyncio.gather(*(_keep_together(keys, part) for part in some))
    return [_told(one) for part in done for one in part]


def _told(ended: _Ended) -> Result:
    if isinstance(ended, Kept | MemorywireError):
        return ended
    raise ended


async def _keep_together(keys: Keys, settings: Sequence[Setting]) -> list[_Ended]:
    """Keep each setting as `keep_alone` would; a problem with one does not touch the others."""
    if len(settings) == 1:
        return [await kept_alone(keys, settings[0])]
    ids = [keys.owner.address(setting.key) for setting in settings]
    with keys.usage.turns.hold(ids) as held:
        apart = {*held.missed, *(at for at, setting in enumerate(settings) if setting.embed)}
        others = asyncio.gather(*(kept_alone(keys, settings[at]) for at in sorted(apart)))
        mine = {ids[at]: settings[at] for at in range(len(settings)) if at not in apart}
        ended = await _written(keys, mine)
    # Those that a rival moved, that have a past, or whose secrets were replaced are written one by one.
    moved = [id for id, one in ended.items() if isinstance(one, Conflict)]
    again = await asyncio.gather(*(kept_alone(keys, mine[id]) for id in moved))
    ended |= zip(moved, again, strict=True)
    late = dict(zip(sorted(apart), await others, strict=True))
    return [late[at] if at in late else ended[id] for at, id in enumerate(ids)]


async def _written(keys: Keys, settings: Mapping[str, Setting]) -> dict[str, _Ended]:
    """Plan and commit these settings in one go: a result for each record id. Conflicts may be tried again."""
    try:
        meant, ended = await _planned(keys, settings)
        refused = await keys.usage.reserve_each(keys, [growth for _, growth in meant.values()])
    except MemorywireError as problem:
        return dict.fromkeys(settings, problem)
    ended |= {id: no for id, no in zip(meant, refused, strict=True) if no is not None}
    await asyncio.sleep(0)
    return ended | await _submitted(keys, {id: one for id, one in meant.items() if id not in ended})


async def _planned(
    keys: Keys, settings: Mapping[str, Setting]
) -> tuple[dict[str, _Meant], dict[str, _Ended]]:
    """The changes to commit, and the problems of settings that cannot be kept, by record id."""
    able = await _able(keys, settings)
    await asyncio.sleep(0)  # a step of a large group takes long enough: whoever else waits has a turn
    found = await _seen(keys, list(able))
    now = keys.context.clock()
    meant: dict[str, _Meant] = {}
    ended: dict[str, _Ended] = {}
    changes = keys.context.mint.many(len(able))
    for (id, one), change in zip(able.items(), changes, strict=True):
        try:
            meant[id] = _meant(keys, _sound(one), _place(id, found.get(id)), now, change)
        except MemorywireError as problem:
            ended[id] = problem
    return meant, ended


async def _seen(keys: Keys, ids: Sequence[str]) -> Mapping[str, Record | Glimpse | Seen]:
    """What stands under these ids; where the store can glance, only what the next version must know."""
    store = keys.context.store
    if not isinstance(store, SupportsPeek):
        return {record.id: record for record in await store.get(keys.scope, ids)}
    known = keys.usage.known.guesses(keys.owner, store, ids)
    others = [id for id in ids if id not in known]
    if not others:
        return known
    seen = await store.glance(keys.scope, others, MARK)
    return {**known, **{glimpse[0]: glimpse for glimpse in seen}}


def _place(id: str, seen: Record | Glimpse | Seen | None) -> Place:
    if seen is None:
        return Place(id=id, base=Base.NOTHING)
    return live(seen) if isinstance(seen, Record) else glimpsed(seen)


def _sound(one: Ready | MemorywireError) -> Ready:
    if isinstance(one, MemorywireError):
        raise one
    return one


def _meant(keys: Keys, one: Ready, place: Place, now: int, change: str) -> _Meant:
    """The change, of this id, that keeps a setting at its place; Conflict if it has to be written alone."""
    wanted = one.setting.if_version
    if wanted is not None and wanted != place.version(now):
        raise Conflict("another version stands there", field="if_version")
    if one.secrets:
        raise Conflict("written alone, so that its plan names the secrets", field="value")
    return planned(keys, one, place, now, change)


async def _submitted(keys: Keys, meant: Mapping[str, _Meant]) -> dict[str, _Ended]:
    each = [change for change, _ in meant.values()]
    done = await submit_each(each, lambda at: plan_of(each[at]), keys.context)
    ended: dict[str, _Ended] = {}
    for (id, (change, growth)), result in zip(meant.items(), done, strict=True):
        ended[id] = result if isinstance(result, Exception) else receipt(change, result)
        keys.usage.settle(keys, change, growth, result)
    return ended


async def _able(keys: Keys, settings: Mapping[str, Setting]) -> dict[str, Ready | MemorywireError]:
    """Each setting ready to be planned, or its problem; one reading clears all that show no secret."""
    office = keys.context.office
    policy = None if office is None else await office.rulebook.policy(keys.scope.tenant)
    told = [(setting, content_of(setting)) for setting in settings.values()]
    clear = [True] * len(told) if office is None else cleared(told, partial(_innocent, keys, office.redactor))
    able: dict[str, Ready | MemorywireError] = {}
    for id, (setting, content), is_clear in zip(settings, told, clear, strict=True):
        try:
            if is_clear:
                trust = Trust.STANDARD if policy is None else trust_of(setting.source, policy)
                size = fitting(keys, setting)
                able[id] = Ready(setting=setting, size=size, content=content, trust=trust)
            else:
                able[id] = await ready(keys, setting)
        except MemorywireError as problem:
            able[id] = problem
    return able


def _innocent(keys: Keys, redactor: Redactor, told: Sequence[tuple[Setting, Mapping[str, Json]]]) -> bool:
    """Whether one reading of all these settings finds no sign of a secret."""
    sources = (setting.source for setting, _ in told)
    names = (keys.scope.agent, keys.scope.user, *sources)
    return redactor.finds_nothing(names, [content for _, content in told])

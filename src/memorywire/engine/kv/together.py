"""Keys that are set at the same moment: read, screened, judged and committed together."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from memorywire.engine.kv.keys import MOST_TOGETHER, Keys, Place, live
from memorywire.engine.kv.planning import (
    Planned,
    Ready,
    alive,
    content_of,
    fitting,
    planned,
    receipt,
    version_of,
)
from memorywire.engine.kv.writing import keep_alone, kept_alone, ready
from memorywire.engine.together import submit_each
from memorywire.governance.many import cleared
from memorywire.governance.policy import trust_of
from memorywire.governance.redact import Redactor
from memorywire.model.change import Base
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError
from memorywire.model.kv import Kept, Setting
from memorywire.model.record import Json, Record, Trust

Result: TypeAlias = Kept | MemorywireError
_Ended: TypeAlias = Kept | Exception


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
    """Each as `keep_alone` would keep it; what stands in one's way concerns it alone."""
    if len(settings) == 1:
        return [await kept_alone(keys, settings[0])]
    ids = [keys.owner.address(setting.key) for setting in settings]
    with keys.usage.turns.hold(ids) as held:
        apart = {*held.missed, *(at for at, setting in enumerate(settings) if setting.embed)}
        others = asyncio.gather(*(kept_alone(keys, settings[at]) for at in sorted(apart)))
        mine = {ids[at]: settings[at] for at in range(len(settings)) if at not in apart}
        ended = await _written(keys, mine)
    # Whoever was moved by a rival, or has a past, is looked at alone.
    moved = [id for id, one in ended.items() if isinstance(one, Conflict)]
    again = await asyncio.gather(*(kept_alone(keys, mine[id]) for id in moved))
    ended |= zip(moved, again, strict=True)
    late = dict(zip(sorted(apart), await others, strict=True))
    return [late[at] if at in late else ended[id] for at, id in enumerate(ids)]


async def _written(keys: Keys, settings: Mapping[str, Setting]) -> dict[str, _Ended]:
    """What becomes of each, by the id of its record; a Conflict is not the last word."""
    try:
        able = await _able(keys, settings)
        found = {record.id: record for record in await keys.tools.store.get(keys.scope, list(able))}
        meant, ended = _planned(keys, able, found)
        refused = await keys.usage.reserve_each(keys, [plan.growth for plan in meant.values()])
    except MemorywireError as problem:
        return dict.fromkeys(settings, problem)
    ended |= {id: no for id, no in zip(meant, refused, strict=True) if no is not None}
    return ended | await _submitted(keys, {id: plan for id, plan in meant.items() if id not in ended})


def _planned(
    keys: Keys, able: Mapping[str, Ready | MemorywireError], found: Mapping[str, Record]
) -> tuple[dict[str, Planned], dict[str, _Ended]]:
    """What is to be committed, and what may not be, by the id of its record."""
    now = keys.tools.clock()
    meant: dict[str, Planned] = {}
    ended: dict[str, _Ended] = {}
    changes = keys.tools.mint.many(len(able))
    for (id, one), change in zip(able.items(), changes, strict=True):
        try:
            meant[id] = _meant(keys, id, _sound(one), found.get(id), now, change)
        except MemorywireError as problem:
            ended[id] = problem
    return meant, ended


def _sound(one: Ready | MemorywireError) -> Ready:
    if isinstance(one, MemorywireError):
        raise one
    return one


def _meant(keys: Keys, id: str, one: Ready, current: Record | None, now: int, change: str) -> Planned:
    """What keeps a setting at a place that stands so, by a change of this id."""
    place = Place(id=id, base=Base.NOTHING) if current is None else live(current)
    wanted = one.setting.if_version
    if wanted is not None and wanted != version_of(alive(place, now)):
        raise Conflict("another version stands there", field="if_version")
    return planned(keys, one, place, now, change)


async def _submitted(keys: Keys, meant: Mapping[str, Planned]) -> dict[str, _Ended]:
    each = list(meant.values())
    done = await submit_each([one.change for one in each], lambda at: each[at].plan, keys.tools)
    ended: dict[str, _Ended] = {}
    for (id, one), result in zip(meant.items(), done, strict=True):
        if isinstance(result, Exception):
            ended[id] = result
        else:
            ended[id] = receipt(one, result)
        if isinstance(result, Exception) or result.staged:
            keys.usage.give_back(keys.owner, one.growth)
    return ended


async def _able(keys: Keys, settings: Mapping[str, Setting]) -> dict[str, Ready | MemorywireError]:
    """Each as it may be kept, or why it may not: where one reading of all shows no secret, at once."""
    office = keys.tools.office
    policy = None if office is None else await office.rulebook.policy()
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
    """Whether one reading shows that none of these holds a secret."""
    sources = (setting.source for setting, _ in told)
    names = (keys.scope.agent, keys.scope.user, *sources)
    return redactor.finds_nothing(names, [content for _, content in told])

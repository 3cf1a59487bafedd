"""Setting a memory aside: it is kept and can be read by its id, and answers no question any more."""

from memorywire.engine.commit import Plan
from memorywire.engine.expire import with_standing
from memorywire.engine.tools import Tools
from memorywire.model.change import Change
from memorywire.model.record import Record, Standing
from memorywire.model.requests import Forget


async def set_aside(record: Record, tools: Tools) -> None:
    """Archive this version, judged as if it were forgotten; raises Conflict when it is no longer current."""
    now = tools.clock()
    change = Change(
        id=tools.mint(),
        operation="forget",
        scope=record.scope,
        at=now,
        put=(with_standing(record, Standing.ARCHIVED, now),),
    )
    await tools.submit(Plan(change=change, request=Forget(scope=record.scope, ids=(record.id,))))

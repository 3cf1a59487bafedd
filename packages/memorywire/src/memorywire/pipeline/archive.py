"""Archives a memory: it is kept and can be read by its id, but answers no question any more."""

from msgspec.structs import replace

from memorywire.model.answers import Remembered
from memorywire.model.change import Change, Put
from memorywire.model.record import Record, Standing
from memorywire.model.requests import Forget, Remember
from memorywire.pipeline.commit import Plan, Submitted
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import with_standing
from memorywire.pipeline.remember import remember


async def set_aside(record: Record, context: Context) -> None:
    """Archive this version, judged as if it were forgotten; raises Conflict when it is no longer current."""
    now = context.clock()
    change = Change(
        id=context.mint(),
        operation="forget",
        scope=record.scope,
        at=now,
        put=(with_standing(record, Standing.ARCHIVED, now),),
    )
    await context.submit(Plan(change=change, request=Forget(scope=record.scope, ids=(record.id,))))


async def keep_aside(request: Remember, context: Context) -> Remembered:
    """Remember something that answers no question from its first moment, also when a person has to agree."""

    async def aside(plan: Plan, _: Context) -> Submitted:
        barred = tuple(_barred(put) for put in plan.change.put)
        return await context.submit(replace(plan, change=replace(plan.change, put=barred)))

    return await remember(request, replace(context, corridor=aside))


def _barred(put: Put) -> Put:
    return replace(put, record=replace(put.record, standing=Standing.ARCHIVED))

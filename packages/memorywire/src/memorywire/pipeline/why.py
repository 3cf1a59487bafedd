"""Why an agent knew something: a recall again, with the memories as they were when it was answered."""

from memorywire.model.record import Scope
from memorywire.model.rulings import Given, Reasons, Why
from memorywire.pipeline.context import Context
from memorywire.pipeline.survey import judged, recall_in_reach


async def why(request: Why, context: Context) -> Reasons:
    """What the recall handed out; every reason why it cannot be told has the same answer."""
    note = await recall_in_reach(request.reach, request.recall_id, context)
    agent = Scope(agent=note.scope.agent, tenant=note.scope.tenant)
    return Reasons(
        recall_id=note.id,
        scope=note.scope,
        at=note.at,
        caller=note.caller,
        verdict=note.verdict,
        results=tuple([await _given(agent, *hit, context) for hit in note.hits]),
        query=note.query or None,
        as_of=None if note.details is None else note.details.get("as_of"),
        feedback=await judged(note, context),
    )


async def _given(scope: Scope, id: str, version: int, score: float, context: Context) -> Given:
    """The version of the memory that the recall handed out, from its history."""
    versions = await context.historian("why").history(scope, id)
    found = next((link for link in versions if link.number == version), None)
    return Given(
        id=id,
        version=version,
        score=score,
        current=found is not None and found.ended is None,
        memory=None if found is None else found.record,
    )

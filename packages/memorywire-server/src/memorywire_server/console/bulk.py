"""Changes several memories in one change, with one verdict and one undo."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from memorywire.facts.labels import PINNED, pin_record
from memorywire.journal.operators import Right
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import InvalidRequest, NotFound, Refused
from memorywire.model.label import MARK, Kind
from memorywire.model.record import Json, Record, Scope, Standing
from memorywire.model.requests import Forget, Remember, Write
from memorywire.pipeline.commit import build_case, commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import Plan
from memorywire.policy.judge import judge
from memorywire.policy.rules import Verdict
from memorywire_server.console.page import Page

MOST = 1_000
_TAG_MAX = 128
_TAGS_MAX = 64

Alter = Callable[[Record], Record]


async def change_many(
    page: Page, agent: str, ids: Sequence[str], operation: str, alter: Alter
) -> dict[str, Json]:
    """Write a new version of each memory in one change; if nothing differs, the receipt has no change id."""
    page.caller.require(Right.WRITE)
    page.caller.require_agent({"agent_id": agent}, optional=False)
    if len(ids) > MOST:
        raise InvalidRequest(
            f"at most {MOST} memories can be changed at once", field="id", fix="select fewer"
        )
    service = page.console.service
    scope = Scope(tenant=page.caller.tenant, agent=agent)
    context = await service.as_caller(page.caller).context.serving(scope)
    return await service.finish(_commit(context, scope, ids, operation, alter))


async def _commit(
    context: Context, scope: Scope, ids: Sequence[str], operation: str, alter: Alter
) -> dict[str, Json]:
    records = await context.store.get(scope, ids)
    if not records:
        raise NotFound("these memories no longer exist", field="id", fix="load the page again")
    now = context.clock()
    puts = [put for one in records if (put := _build_put(one, alter(one), now)) is not None]
    if not puts:
        return {"status": "committed", "changed": 0}
    change = Change(id=context.mint(), operation=operation, scope=scope, at=now, put=tuple(puts))
    plan = Plan(change=change, request=_describe(change))
    await _refuse_unless_allowed(plan, context)
    result = await commit_one(plan, context)
    return {"status": result.status.value, "changed": len(puts), "change_id": result.change_id}


def _build_put(record: Record, altered: Record, now: int) -> Put | None:
    """Build the next version, which reuses the vector, as the text is unchanged."""
    if altered == record:
        return None
    following = replace(altered, version=record.version + 1, updated_at=now)
    return Put(record=following, base=Base.LIVE, like=record.version)


def _describe(change: Change) -> Write:
    """Build the request for the plan of such a change."""
    first = change.put[0].record
    if change.operation == "forget":
        return Forget(scope=change.scope, ids=tuple(put.record.id for put in change.put))
    return Remember(scope=change.scope, type=first.type, content=first.content, id=first.id)


async def _refuse_unless_allowed(plan: Plan, context: Context) -> None:
    """Raise Refused unless the rules allow it: it cannot be held, since a proposal has a single request."""
    if context.governance is None:
        return
    policy = await context.governance.rulebook.policy(plan.change.scope.tenant)
    judgement = judge(await build_case(plan, context, policy), policy)
    if judgement.verdict is not Verdict.ALLOW:
        raise Refused(
            f"the rule {judgement.rule} blocks this change of several memories: {judgement.reason}",
            field="id",
            fix="leave out the memories that the rule blocks, or change them one by one",
        )


def archive(record: Record) -> Record:
    return replace(record, standing=Standing.ARCHIVED)


def activate(record: Record) -> Record:
    return replace(record, standing=Standing.ACTIVE)


def build_tagger(tag: str, *, adds: bool) -> Alter:
    """Return a function that adds or removes a tag."""
    if not 0 < len(tag) <= _TAG_MAX:
        raise InvalidRequest(f"a tag has 1 to {_TAG_MAX} characters", field="tag")

    def alter(record: Record) -> Record:
        others = tuple(one for one in record.tags if one != tag)
        tags = (*others, tag) if adds else others
        if len(tags) > _TAGS_MAX:
            raise InvalidRequest(f"a memory has at most {_TAGS_MAX} tags", field="tag")
        return record if set(tags) == set(record.tags) else replace(record, tags=tags)

    return alter


def build_pinner(*, pins: bool) -> Alter:
    """Return a function that pins or unpins a memory."""

    def alter(record: Record) -> Record:
        return record if (_read_mark(record).get(PINNED) is True) is pins else pin_record(record, pinned=pins)

    return alter


def build_labeller(kind: str) -> Alter:
    """Return a function that sets the kind in a memory's label and keeps the rest of it."""
    if kind not in list(Kind):
        raise InvalidRequest(f"{kind} is not a kind", field="kind")

    def alter(record: Record) -> Record:
        mark = _read_mark(record)
        if mark.get("kind") == kind:
            return record
        return replace(record, metadata={**record.metadata, MARK: {**mark, "kind": kind, "given": True}})

    return alter


def _read_mark(record: Record) -> Mapping[str, Json]:
    mark = record.metadata.get(MARK, {})
    return mark if isinstance(mark, Mapping) else {}

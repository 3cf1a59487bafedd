"""Before anything is planned, embedded or kept: secrets leave the request, and its origin is weighed."""

from memorywire.model.errors import NotFound
from memorywire.model.record import Trust
from memorywire.model.requests import Remember
from memorywire.model.values import dataclass, maker
from memorywire.pipeline.context import Context, unsupported
from memorywire.policy.judge import trust_of
from memorywire.policy.redact import redact_remember


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """A request without secrets, what was found in it as (kind, place), and how far it is believed."""

    request: Remember
    secrets: tuple[tuple[str, str], ...]
    trust: Trust


async def cleaned(request: Remember, context: Context) -> Cleaned:
    """The request without secrets, with the trust that its source and origins allow."""
    return await weighed(without_secrets(request, context), context)


async def weighed(redacted: Cleaned, context: Context) -> Cleaned:
    """The request with the trust that its source and origins allow; its secrets are gone already."""
    request = redacted.request
    if context.office is None:
        _refuse_what_is_not_wired(request)
        trust = request.trust or Trust.STANDARD
    else:
        trust = trust_of(request.source, await context.office.rulebook.policy(request.scope.tenant))
        if request.trust is not None or request.derived_from:
            asked = [] if request.trust is None else [request.trust]
            trust = Trust.lowest(trust, *asked, *await _origins(request, context))
    return maker(Cleaned)(request=request, secrets=redacted.secrets, trust=trust)


def without_secrets(request: Remember, context: Context) -> Cleaned:
    """The request without secrets, found without waiting for anything; `weighed` then sets its trust."""
    if context.office is None:
        return Cleaned(request=request, secrets=(), trust=Trust.STANDARD)
    redacted, findings = redact_remember(request, context.office.redactor)
    secrets = tuple([(finding.kind, finding.place) for finding in findings])
    return maker(Cleaned)(request=redacted, secrets=secrets, trust=Trust.STANDARD)


async def _origins(request: Remember, context: Context) -> list[Trust]:
    """The trust of each memory this one was derived from; NotFound when one of them is missing."""
    if not request.derived_from:
        return []
    found = await context.store.get(request.scope, request.derived_from)
    missing = set(request.derived_from) - {record.id for record in found}
    if missing:
        raise NotFound(f"no live memory {sorted(missing)[0]} to derive from", field="derived_from")
    return [record.trust for record in found]


def _refuse_what_is_not_wired(request: Remember) -> None:
    if request.approval_required:
        raise unsupported(
            "approval_required", "no review queue is wired here, and the write must not pass unseen"
        )
    if request.privacy_intent is not None:
        raise unsupported("privacy_intent", "no policy is wired here that could honour it")

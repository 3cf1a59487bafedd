"""Export a person: everything of a user as one bundle, for the person or for another installation."""

from io import BytesIO

from memorywire.app.container import Container
from memorywire.migrate.bundle import ExportOptions, export_bundle
from memorywire.model.errors import Refused
from memorywire.model.oversight import PersonExport
from memorywire.model.proposal import is_agent
from memorywire.wire import validate


async def export_person(
    container: Container, tenant: str, user_id: str, agent_id: str | None = None
) -> PersonExport:
    """Return the bundle of a user, of all agents or of one; raises Refused for an agent."""
    fields = {"user_id": user_id, "agent_id": agent_id}
    # An export names its person as an erase does, and so is checked as one.
    validate.check("erase", {name: value for name, value in fields.items() if value is not None})
    context = container.context
    if context.governance is not None and is_agent(context.governance.caller):
        raise Refused(
            "an agent cannot export a person", fix="use the token of a person with the right to manage"
        )
    agents = () if agent_id is None else (agent_id,)
    options = ExportOptions(tenant=tenant, tenant_only=True, agents=agents, user=user_id)
    file = BytesIO()
    bundle = await export_bundle(file, context, options)
    lines = file.getvalue().decode().removesuffix("\n").split("\n")
    return PersonExport(user_id=user_id, counts=bundle.counts, digest=bundle.digest, lines=tuple(lines))

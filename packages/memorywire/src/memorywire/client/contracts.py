"""What a client serves besides the five operations: keys and values, conversations, items."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from memorywire.app import Container
from memorywire.model.kv import Limits, Owner, OwnerKind
from memorywire.model.record import Scope

if TYPE_CHECKING:  # each is loaded by those who use it
    from memorywire.client.harness import Harness
    from memorywire.client.kv import KeyValue
    from memorywire.client.layer import Layer


class Contracts(ABC):
    """Faces of the same memory: what one writes the others see, as far as their contract goes."""

    agent_id: str
    user_id: str | None
    tenant: str
    _kv_limits: Limits

    @property
    def kv(self) -> "KeyValue":
        """The agent's keys and values; `kv.of` has those of users and of the tenant.

        A memory of one user has none of its own: `kv.of` says whose are meant.
        """
        from memorywire.client.kv import KeyValue

        owner = Owner(kind=OwnerKind.AGENT, id=self.agent_id, tenant=self.tenant)
        return KeyValue(self._open, owner, self._kv_limits, user=self.user_id)

    @property
    def layer(self) -> "Layer":
        """The agent's conversations, or those with its one user."""
        from memorywire.client.layer import Layer

        return Layer(self._open, Scope(tenant=self.tenant, agent=self.agent_id, user=self.user_id))

    @property
    def harness(self) -> "Harness":
        """The memories as items that are written, read, searched and deleted one by one."""
        from memorywire.client.harness import Harness

        return Harness(self._open, Scope(tenant=self.tenant, agent=self.agent_id, user=self.user_id))

    @abstractmethod
    async def _open(self) -> Container: ...

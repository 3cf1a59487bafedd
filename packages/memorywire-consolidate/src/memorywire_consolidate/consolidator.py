"""The consolidator that this package provides, under the name `memorywire`."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.model.consolidation import ConsolidationSettings, Probe, Promotion, RunResult, SessionRules
from memorywire.model.record import Json, Scope
from memorywire.pipeline.context import Context
from memorywire_consolidate import runs
from memorywire_consolidate.background import BackgroundWork, add_recent_probes
from memorywire_consolidate.run import build_run, dream
from memorywire_consolidate.session import session_rules
from memorywire_consolidate.short_term import promote


class DefaultConsolidator:
    """Implements `memorywire.app.consolidators.Consolidator`."""

    async def dream(
        self,
        scope: Scope,
        context: Context,
        settings: ConsolidationSettings,
        *,
        probes: Sequence[Probe] | None = None,
        dry_run: bool = False,
    ) -> RunResult:
        options = replace(build_run(settings), dry_run=dry_run, probes=tuple(probes or ()))
        if probes is None:
            options = await add_recent_probes(options, scope, context)
        return await dream(scope, context, options)

    async def load_rules(self, scope: Scope, context: Context) -> SessionRules:
        return await session_rules(scope, context)

    async def load_run(self, scope: Scope, run: str, context: Context) -> dict[str, Json]:
        return await runs.load_run(scope, run, context)

    async def promote(
        self, scope: Scope, context: Context, settings: ConsolidationSettings, *, dry_run: bool = False
    ) -> Promotion:
        return await promote(scope, context, settings, dry_run=dry_run)

    def background(
        self, container: Container, settings: ConsolidationSettings, scope: Scope | None = None
    ) -> BackgroundWork:
        return BackgroundWork(container, settings, scope)


CONSOLIDATOR = DefaultConsolidator()

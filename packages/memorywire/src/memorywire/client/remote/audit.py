"""The ledger of a server: what it says was done, and the proofs that it gives."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memorywire.client.remote.routes import Door
from memorywire.model.record import Json

if TYPE_CHECKING:  # proofs are loaded by those who ask for one
    from memorywire.journal.audit import Examination
    from memorywire.journal.state import StateReport
    from memorywire.journal.verify import Report


async def entries(door: Door, wanted: Mapping[str, Any]) -> tuple[dict[str, Json], ...]:
    """Entries as the ledger spells them, without the tenant, which only the server knows."""
    answer = await door.ask("GET", "audit", **wanted)
    return tuple(map(_entry, answer["entries"]))


async def signed(door: Door) -> dict[str, Json]:
    """The newest checkpoint and its key."""
    return await door.ask("GET", "audit", "checkpoint")


async def proof(door: Door, entry: int) -> list[str]:
    """The lines that prove one entry."""
    lines: list[str] = (await door.ask("GET", "audit", "proof", seq=entry))["lines"]
    return lines


async def examined(door: Door, checkpoint: str | None, *, state: bool = False) -> "Examination":
    """What the server found when it verified its ledger."""
    from memorywire.journal.audit import Examination
    from memorywire.journal.signed_notes import parse_verifier
    from memorywire.journal.verify import Fault, Report

    wanted: dict[str, Any] = {"checkpoint": checkpoint} | ({"state": True} if state else {})
    said = await door.ask("GET", "audit", "verify", **wanted)
    report = Report(
        entries=said["entries"],
        root=bytes.fromhex(said["root"]),
        checkpoints=said["checkpoints"],
        sealed=said["sealed"],
        origin=said.get("origin"),
        fault=Fault(**said["fault"]) if "fault" in said else None,
    )
    key = parse_verifier(said["key"]) if "key" in said else None
    return Examination(
        report=report, key=key, unreadable=said.get("unreadable", 0), state=_state(said.get("state"), report)
    )


def _state(told: Mapping[str, Json] | None, report: "Report") -> "StateReport | None":
    from memorywire.journal.state import Difference, StateReport

    if told is None:
        return None
    return StateReport(
        entries=report.entries,
        versions=told["versions"],
        rows=told["rows"],
        differences=tuple(Difference(**one) for one in told["differences"]),
    )


def _entry(told: Mapping[str, Json]) -> dict[str, Json]:
    names = {"agent_id": "agent", "user_id": "user"}
    return {names.get(name, name): value for name, value in told.items()}

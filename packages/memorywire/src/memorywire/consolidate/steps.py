"""What a dream is made of: steps, and what came of a run."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import asdict

from memorywire.model.record import Json

DREAM = "dream"
"""The operation of a run's change, and the name of the rule under which its doubts are proposed."""


class Pass(StrEnum):
    """The passes in the order they are made. Each works on what those before it left."""

    EXACT = "exact"
    NEAR = "near"
    SEMANTIC = "semantic"
    CONFLICT = "conflict"
    RETENTION = "retention"
    CAP = "cap"
    SUMMARY = "summary"
    PROCEDURE = "procedure"


OPERATIONS: Mapping[Pass, str] = {
    Pass.EXACT: "merge",
    Pass.NEAR: "merge",
    Pass.SEMANTIC: "merge",
    Pass.CONFLICT: "forget",
    Pass.RETENTION: "expire",
    Pass.CAP: "expire",
}
"""The operation that the policy judges the steps of each pass as."""


class Step(Struct, frozen=True, kw_only=True):
    """What is done to the memories `ids` in favour of `kept`, and why; ids and reasons, no contents.

    Duplicates are merged into `kept`, what contradicts it ends superseded by it, the rest is archived.
    A step that is not `sure` is proposed to a person.
    """

    name: Pass
    ids: tuple[str, ...]
    why: str
    kept: str | None = None
    sure: bool = True

    @property
    def touched(self) -> frozenset[str]:
        return frozenset(self.ids if self.kept is None else (self.kept, *self.ids))

    def document(self) -> dict[str, Json]:
        said = {**asdict(self), "name": self.name.value, "ids": list(self.ids)}
        return {
            ("pass" if name == "name" else name): value for name, value in said.items() if value is not None
        }


class Result(StrEnum):
    """How a run ended: `calm` found nothing to do, `discarded` would have made recall worse."""

    CALM = "calm"
    COMMITTED = "committed"
    REHEARSED = "rehearsed"
    DISCARDED = "discarded"


class Dreamed(Struct, frozen=True, kw_only=True):
    """What a run did: its steps, what it proposed, what a rule kept it from, how many steps it left.

    `run` is the one change that an undo takes back. `probes` says how many questions were asked before and
    after, and what share of what they should find was found; `thought` what a model made of memory, or that
    none was asked.
    """

    result: Result
    memories: int
    steps: tuple[Step, ...] = ()
    proposed: tuple[tuple[str, Step], ...] = ()
    refused: tuple[tuple[str, Step], ...] = ()
    left: int = 0
    run: str | None = None
    probes: Mapping[str, Json] | None = None
    thought: Mapping[str, Json] = field(default_factory=dict)

    def document(self) -> dict[str, Json]:
        said: dict[str, Json] = {
            "result": self.result.value,
            "memories": self.memories,
            "steps": [step.document() for step in self.steps],
            "proposed": [{"proposal_id": id, **step.document()} for id, step in self.proposed],
            "refused": [{"rule": rule, **step.document()} for rule, step in self.refused],
            "left": self.left,
            "model": dict(self.thought),
        }
        return said | {
            name: value for name, value in (("run", self.run), ("probes", self.probes)) if value is not None
        }

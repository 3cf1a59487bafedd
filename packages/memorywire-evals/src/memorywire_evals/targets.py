"""The lines of the printed tables, with the figures to reach, from `targets.toml`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memorywire.model.record import Json
from memorywire_evals.rows import OURS

_FILE = Path(__file__).with_name("targets.toml")


class Target(Struct, frozen=True, kw_only=True):
    """One line of a set's table; `less` means that smaller is better."""

    label: str
    where: str
    floor: float | None = None
    aim: float | None = None
    less: bool = False

    @property
    def metric(self) -> str:
        return self.where.rpartition("/")[2]

    def figure(self, summary: Mapping[str, Json], system: str = OURS) -> float | None:
        """What the system reached, if that was measured."""
        room, _, rest = self.where.partition("/")
        if room == "admission":
            return summary[room].get(rest) if system == OURS else None
        table = summary[room].get(rest.rpartition("/")[0], {"systems": {}})
        found: float | None = table["systems"].get(system, {}).get(self.metric)
        return found

    def verdict(self, figure: float | None) -> str:
        """Where a figure stands: aim reached, above the floor, or how far below it."""
        if figure is None:
            return ""
        if self.aim is not None and self._reaches(figure, self.aim):
            return "aim"
        if self.floor is not None and self._reaches(figure, self.floor):
            return "floor"
        least = self.aim if self.floor is None else self.floor
        return "" if least is None else f"{abs(figure - least):.3f} short"

    def _reaches(self, figure: float, wanted: float) -> bool:
        return figure <= wanted if self.less else figure >= wanted


def targets(set_name: str) -> list[Target]:
    document = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return [Target(**line) for line in document.get(set_name, ())]

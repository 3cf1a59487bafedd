"""Which rows a figure is taken over; benchmarks disagree, so every table says which view it shows."""

from collections.abc import Sequence
from typing import TypeAlias

from memorywire_evals.datasets.longmemeval import USER_GOLD
from memorywire_evals.rows import Row

Rows: TypeAlias = Sequence[Row]


def views(rows: Rows) -> dict[str, list[Row]]:
    """`all` own questions; `answerable` ones; of those the ones with evidence `said-by-user`; and pairs."""
    own = [row for row in rows if row.asked == "own"]
    found = {
        "all": own,
        "answerable": [row for row in own if row.answerable],
        "said-by-user": [row for row in own if row.answerable and USER_GOLD in row.marks],
        "pairs": [row for row in rows if row.asked == "pair"],
    }
    return {name: chosen for name, chosen in found.items() if chosen}


def by_category(rows: Rows) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.asked != "foreign":
            found.setdefault(row.category, []).append(row)
    return dict(sorted(found.items()))

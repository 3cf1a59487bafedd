"""A graph of the names in memories, and of how often two names occur in the same memory."""

import calendar
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.model.record import Record
from memorywire.search.question import find_names
from memorywire.search.text import split_words
from memorywire_server.console.projection import Points

MOST = 40
_LINES_MOST = 120
_TEXTS_MOST = 20_000
_NAMES_OF_TEXT = 12
_FEWEST = 2
_SMALL = 300
_POSSESSIVE = re.compile("['’]s?$", re.IGNORECASE)
_DAYS = [name.lower() for name in (*calendar.day_name, *calendar.day_abbr)]
_MONTHS = [name.lower() for name in (*calendar.month_name, *calendar.month_abbr)]
_CALENDAR = frozenset([*_DAYS, *(f"{name}s" for name in _DAYS), *_MONTHS])
_ROUNDS = 250
_APART = 0.055


class Entity(Struct, frozen=True, kw_only=True):
    """A name that occurs in several memories: its position, from 0 to 1, and the number of memories."""

    name: str
    count: int
    x: float
    y: float


class Line(Struct, frozen=True, kw_only=True):
    """An edge between two entities, by index, with the number of memories that contain both."""

    a: int
    b: int
    count: int


class Graph(Struct, frozen=True):
    """The most frequent names, sorted by frequency, and the edges between them."""

    entities: tuple[Entity, ...] = ()
    lines: tuple[Line, ...] = ()

    def neighbours(self, place: int) -> list[tuple[Entity, int]]:
        """Return the entities that share memories with an entity, the most frequent first."""
        ends = [
            (one.b if one.a == place else one.a, one.count) for one in self.lines if place in (one.a, one.b)
        ]
        return [(self.entities[other], count) for other, count in sorted(ends, key=lambda end: -end[1])]


def draw_graph(records: Sequence[Record], points: Points) -> Graph:
    """Lay out the graph of names in the newest memories; each name starts at the mean of its memories."""
    first = max(0, len(records) - _TEXTS_MOST)
    texts = [one.text[:1_000] for one in records[first:]]
    vocabulary = _learn_names(records[first:], texts)
    names_of = [_find_known(one, text, vocabulary) for one, text in zip(records[first:], texts, strict=True)]
    counts = Counter(name for names in names_of for name in names)
    fewest = _FEWEST if len(texts) > _SMALL else 1
    chosen = [name for name, count in counts.most_common(MOST) if count >= fewest]
    if not chosen:
        return Graph()
    places = {name: at for at, name in enumerate(chosen)}
    pairs: Counter[tuple[int, int]] = Counter()
    sums = np.zeros((len(chosen), 2))
    for at, names in enumerate(names_of, first):
        known = sorted(places[name] for name in names if name in places)
        sums[known] += points[at]
        pairs.update(combinations(known, 2))
    start = sums / np.array([[counts[name]] for name in chosen])
    lines = [Line(a=a, b=b, count=count) for (a, b), count in pairs.most_common(_LINES_MOST)]
    spots = _spread(start, lines)
    entities = [
        Entity(name=vocabulary[name], count=counts[name], x=float(x), y=float(y))
        for name, (x, y) in zip(chosen, spots.tolist(), strict=True)
    ]
    return Graph(tuple(entities), tuple(lines))


def _learn_names(records: Sequence[Record], texts: Sequence[str]) -> dict[str, str]:
    """Return the names in the texts and the users' ids, mapped from lower case to the spelling to show.

    Every sentence begins with a capital, so its first word is a name only if it is capitalised elsewhere.
    """
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        for name in find_names(text):
            spellings.setdefault(name.lower(), Counter())[name] += 1
    names = {name: each.most_common(1)[0][0] for name, each in spellings.items() if name not in _CALENDAR}
    return {
        user.lower(): user.capitalize() for user in {one.scope.user or "" for one in records} - {""}
    } | names


def _find_known(record: Record, text: str, vocabulary: Mapping[str, str]) -> list[str]:
    words = [_POSSESSIVE.sub("", word).lower() for word in split_words(text)]
    owner = [] if record.scope.user is None else [record.scope.user.lower()]
    return [name for name in dict.fromkeys([*owner, *words]) if name in vocabulary][:_NAMES_OF_TEXT]


def _spread(start: NDArray[np.float64], lines: Sequence[Line]) -> NDArray[np.float64]:
    """Lay out the names by forces: they repel each other, and edges attract. Deterministic."""
    size = len(start)
    angle = np.arange(size) * 2.399963  # the golden angle: no two names start at the same position
    spots = start + 0.02 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    a = np.array([one.a for one in lines], dtype=np.intp)
    b = np.array([one.b for one in lines], dtype=np.intp)
    ideal = max(_APART, 0.75 / np.sqrt(size))
    for step in range(_ROUNDS):
        apart = spots[:, None, :] - spots[None, :, :]
        square = (apart**2).sum(axis=2) + 1e-9
        force = (apart * (ideal**2 / square)[:, :, None]).sum(axis=1)
        if len(lines):
            along = spots[a] - spots[b]
            pull = along * (np.sqrt((along**2).sum(axis=1)) / ideal)[:, None]
            np.subtract.at(force, a, pull)
            np.add.at(force, b, pull)
        force += 0.4 * (0.5 - spots)
        length = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-9
        heat = 0.04 * (1 - step / _ROUNDS)
        spots = spots + force / length * np.minimum(length, heat)
    low, high = spots.min(axis=0), spots.max(axis=0)
    room: NDArray[np.float64] = (spots - low) / np.maximum(high - low, 1e-9)
    return room

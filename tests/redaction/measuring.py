"""How well a redactor does on labelled sentences."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from memorywire.policy.redact import Redactor
from tests.redaction.corpus import kinds
from tests.redaction.corpus.shapes import Sample, draw

_PIECE = 8
_VALUES = (
    "{alnum:6}",
    "{password:1}",
    "{url:40}",
    "{hex:32}",
    'pä§s wörd "{alnum:5}" \\ {digit:2}',
    "{base64:64}",
)
"""What hosts register: short and long, of letters, of bytes, and of what needs escaping."""


@dataclass
class Score:
    """Counts of secrets found and missed, and of places redacted that were none."""

    found: int = 0
    missed: list[Sample] = field(default_factory=list)
    false: list[tuple[Sample, str]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return self.kinds.total()

    @property
    def recall(self) -> float:
        return self.found / (self.found + len(self.missed))

    @property
    def precision(self) -> float:
        return self.found / max(1, self.found + len(self.false))


def score(redactor: Redactor, samples: Iterable[Sample]) -> Score:
    """A secret counts as found when no eight characters of it are left."""
    result = Score()
    for sample in samples:
        clean, _ = redactor.text(sample.text)
        found = bool(sample.secret) and not leaks(sample, clean)
        result.found += found
        if sample.secret and not found:
            result.missed.append(sample)
        if clean.count("[REDACTED:") - sample.text.count("[REDACTED:") > found:
            result.false.append((sample, clean))
        result.kinds[sample.kind] += 1
    return result


def leaks(sample: Sample, clean: str) -> bool:
    """Whether a piece of the secret is still there, other than where the sentence says the same."""
    rest = sample.text.replace(sample.secret, "\0")
    secret, last = sample.secret, max(1, len(sample.secret) - _PIECE + 1)
    pieces = {secret[at : at + _PIECE] for at in range(last)}
    return any(piece in clean and piece not in rest for piece in pieces)


def registered(
    ways: Mapping[str, Callable[[str], str]], each: int, *, known: bool = True, seed: int = 3
) -> dict[str, list[str]]:
    """For each way to write a value, the sentences in which the value was not found though registered."""
    left: dict[str, list[str]] = {way: [] for way in ways}
    random = Random(seed)
    for secret in (draw(shape, random) for shape in _VALUES for _ in range(each)):
        redactor = Redactor({"mine": secret} if known else {}, patterns=False)
        for way, written in ways.items():
            text = f"see {written(secret)} there"
            if redactor.text(text)[0] != "see [REDACTED:mine] there":
                left[way].append(text)
    return left


def disguised(
    redactor: Redactor, ways: Mapping[str, Callable[[str], str]], each: int, seed: int = 4
) -> dict[str, float]:
    """For each disguise, the share of secrets with a form of their own that are found whole behind it."""
    return {way: _share(redactor, written, each, Random(seed)) for way, written in ways.items()}


def _share(redactor: Redactor, written: Callable[[str], str], each: int, random: Random) -> float:
    found = [_is_whole(redactor, written(secret)) for secret in _telling(each, random)]
    return sum(found) / len(found)


def _telling(each: int, random: Random) -> Iterator[str]:
    shapes = [kind.shape for kind in kinds.KINDS if kind.telling]
    return (draw(shape, random) for shape in shapes for _ in range(each))


def _is_whole(redactor: Redactor, written: str) -> bool:
    clean, _ = redactor.text(f"Remember this: {written} and tell nobody.")
    return clean.startswith("Remember this: [REDACTED:") and clean.endswith("] and tell nobody.")

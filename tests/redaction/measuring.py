"""How well a redactor does on labelled sentences."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from memorywire.governance.redact import Redactor
from tests.redaction.corpus.shapes import Sample

_PIECE = 8


@dataclass
class Score:
    """Counts of secrets found and missed, and of places redacted that were none."""

    found: int = 0
    missed: list[Sample] = field(default_factory=list)
    false: list[tuple[Sample, str]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def recall(self) -> float:
        return self.found / (self.found + len(self.missed))

    @property
    def precision(self) -> float:
        return self.found / (self.found + len(self.false))


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

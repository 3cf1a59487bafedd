"""Prints how well secrets are found, how often ordinary memories are flagged, and how long it takes.

    python tools/redaction.py [--data ../shared/data] [--also FILE.json.xz ...]

The sentences are drawn from seeds (tests/redaction/corpus). With --data, the turns of LoCoMo found there
are read as well: people talk in them, and nobody tells a secret. --also reads every string of a JSON file
and shows what is flagged, without the secret, to be judged by eye.
"""

import argparse
import json
import lzma
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from memorywire.model.record import Json
from memorywire.policy.redact import Redactor
from tests.redaction.corpus import held_out
from tests.redaction.corpus.evasion import DISGUISED, ENCODED
from tests.redaction.corpus.everyday import SENTENCES
from tests.redaction.corpus.ordinary import filler, ordinary
from tests.redaction.corpus.people import mistyped, people
from tests.redaction.corpus.planted import planted
from tests.redaction.corpus.secrets import held_out_kinds, later_kinds, written_for
from tests.redaction.corpus.shapes import Sample
from tests.redaction.measuring import Score, disguised, registered, score
from tests.redaction.test_separators import ESCAPED, SEPARATORS, VALUE, WRITTEN

EACH = 20  # sentences of every kind
ORDINARY = 6000
SIZE = 65_536
ROUNDS = 200
HOSTILE = (
    "password is ",
    "token=a1B2c3D4e5F6 ",
    "a\n",
    "\\n",
    "QUJD",
    "a\u200b",
    "http://a:b",
    "cookie: sid",
    "ghp_",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder with locomo*.json")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="JSON files, plain or .xz")
    options = parser.parse_args()
    data = options.data
    redactor = Redactor()
    turns = list(locomo(data)) if data else []
    show_sets(redactor, turns)
    for file in options.also:
        show_flags(redactor, file)
    show_personal([Sample("everyday", text) for text in SENTENCES], turns)
    show_separators()
    show_forms(redactor)
    show_times(redactor, [turn.text for turn in turns])
    show_worst(redactor)


def show_sets(redactor: Redactor, turns: list[Sample]) -> None:
    plain = score(redactor, ordinary(ORDINARY))
    print("| set | sentences | kinds | recall | false | precision, with the ordinary ones |")
    print("|---|---|---|---|---|---|")
    show("kinds with rules", score(redactor, written_for(EACH)), plain)
    show(f"held-out kinds ({len(held_out.KINDS)})", score(redactor, held_out_kinds(EACH)), plain)
    show("kinds chosen later", score(redactor, later_kinds(EACH)), plain)
    show("planted, formats tuned on", score(redactor, planted(held_out=False)), plain)
    show("planted, formats held out", score(redactor, planted(held_out=True)), plain, kinds=False)
    show("held-out kinds, patterns off", score(Redactor(patterns=False), held_out_kinds(EACH)), plain)
    show_ordinary("ordinary memories", plain)
    show_ordinary("everyday sentences", score(redactor, [Sample("everyday", text) for text in SENTENCES]))
    if turns:
        show_ordinary("turns of LoCoMo", score(redactor, turns))


def show(name: str, found: Score, plain: Score, *, kinds: bool = True) -> None:
    false = len(found.false) + len(plain.false)
    precision = found.found / max(1, found.found + false)
    print(f"| {name} | {found.count} | {len(found.kinds)} | {found.recall:.4f} | {false} | {precision:.4f} |")
    missed = sorted({sample.kind for sample in found.missed})
    if found.found and missed and kinds:
        print(f"|   missed: {', '.join(missed)} | {len(found.missed)} | {len(missed)} | | | |")


def show_ordinary(name: str, found: Score) -> None:
    print(f"| {name} | {found.count} | | | {len(found.false)} | |")


def show_personal(everyday: list[Sample], turns: list[Sample]) -> None:
    """What the opt-in detector of personal data finds, and what it flags that is none."""
    finder = Redactor(personal=True)
    print("\n| personal data, opt-in | sentences | found | flagged wrongly |\n|---|---|---|---|")
    for kind, samples in groupby(people(100), key=lambda sample: sample.kind):
        result = score(finder, list(samples))
        print(f"| {kind} | {result.count} | {result.recall:.3f} | {len(result.false)} |")
    print(f"| wrong check digits | 400 | | {len(score(finder, mistyped(100)).false)} |")
    for name, others in (("everyday sentences", everyday), ("turns of LoCoMo", turns)):
        print(f"| {name} | {len(others)} | | {len(score(finder, others).false)} |")


def show_separators() -> None:
    """How often a registered value is found behind each separator and in each spelling."""
    redactor = Redactor({"mine": VALUE}, patterns=False)
    tables = {
        "characters between those of the value": [mark.join(VALUE) for mark in SEPARATORS.values()],
        "escapes between those of the value": [mark.join(VALUE) for mark in ESCAPED.values()],
        "spellings of the value": [written(VALUE) for written in WRITTEN.values()],
    }
    print("\n| a registered value behind | tried | found |\n|---|---|---|")
    for name, texts in tables.items():
        found = sum(redactor.text(f"see {text} there")[0] == "see [REDACTED:mine] there" for text in texts)
        print(f"| {name} | {len(texts)} | {found} |")


def show_flags(redactor: Redactor, file: Path) -> None:
    reader = lzma.open if file.suffix == ".xz" else open
    with reader(file, "rb") as stream:
        texts = sorted(set(strings(json.load(stream))))
    flagged = [clean for clean, kinds in map(redactor.text, texts) if kinds]
    print(f"| every string of {file.name} | {len(texts)} | | | flags: {len(flagged)} | |")
    for clean in flagged:
        at = clean.index("[REDACTED:")
        print(f"    {clean[max(0, at - 60) : at + 40]!r}", file=sys.stderr)


def strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def show_forms(redactor: Redactor) -> None:
    print("\n| a registered value, written | tried | found |\n|---|---|---|")
    for way, left in registered(ENCODED | DISGUISED, each=EACH).items():
        tried = 6 * EACH
        print(f"| {way} | {tried} | {1 - len(left) / tried:.3f} |")
    print("\n| a secret by its form, written | found whole |\n|---|---|")
    for way, share in disguised(redactor, DISGUISED, each=3).items():
        print(f"| {way} | {share:.3f} |")


def show_times(redactor: Redactor, turns: list[str]) -> None:
    print(f"\n| {SIZE // 1024} KiB of | median ms | p99 ms |\n|---|---|---|")
    texts = {"ordinary memories, every third a look-alike": filler(SIZE)}
    if turns:
        texts = {"conversation": "\n".join(turns)[:SIZE]} | texts
    for name, text in texts.items():
        show_time(name, lambda text=text: redactor.text(text))
    if turns:
        show_time(
            "(all of the conversations, turn by turn)", lambda: [redactor.text(turn) for turn in turns], 10
        )
    known = {f"key-{at}": f"{at:04}-registered-value-{at * 7919:08x}" for at in range(100)}
    host = Redactor(known, patterns=False)
    show_time("the first, 100 registered values only", lambda: host.text(next(iter(texts.values()))))


def show_worst(redactor: Redactor) -> None:
    """Texts that repeat what the rules look for; a rule that went back and forth would show here."""
    print(f"\n| {SIZE // 1024} KiB of nothing but | ms | four times as much, ms |\n|---|---|---|")
    for piece in HOSTILE:
        text = (piece * SIZE)[:SIZE]
        redactor.text(text)
        once, more = (
            min(timed(lambda text=text, times=times: redactor.text(text * times)) for _ in range(5))
            for times in (1, 4)
        )
        print(f"| `{piece!r}` | {once:.1f} | {more:.1f} |")


def show_time(name: str, work: Callable[[], object], rounds: int = ROUNDS) -> None:
    work()
    spent = sorted(timed(work) for _ in range(rounds))
    print(f"| {name} | {statistics.median(spent):.2f} | {spent[rounds * 99 // 100]:.2f} |")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of this thread's own work: what other processes do is not ours."""
    started = time.thread_time()
    work()
    return (time.thread_time() - started) * 1000


def locomo(data: Path) -> Iterator[Sample]:
    for file in sorted(data.glob("locomo*.json")):
        if "overlay" in file.name:
            continue
        for sample in json.loads(file.read_text(encoding="utf-8")):
            sessions = (part for part in sample["conversation"].values() if isinstance(part, list))
            yield from (Sample("turn", turn["text"]) for session in sessions for turn in session)


if __name__ == "__main__":
    main()

"""LoCoMo: two people talk over months; evidence is given by turn."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json
from memorywire_evals.cases import STEP_MS, Case, Dataset, Item, Question, epoch_ms
from memorywire_evals.datasets.files import beside, digest, find, part, read_json, unique

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_DATE = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):0*(\d+)")


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "locomo*.json", without="overlay")
    overlay = beside(file, "locomo*overlay*.json")
    audits = read_json(overlay)["overlay"] if overlay else {}
    samples = {sample["sample_id"]: sample for sample in read_json(file)}
    taken, ids = part(file, "locomo", split, list(samples))
    return Dataset(
        name="locomo",
        split=taken,
        digest=digest(file, *([overlay] if overlay else [])),
        case_ids=ids,
        build=lambda id: _case(samples[id], audits),
    )


def _case(sample: Json, audits: Mapping[str, Json]) -> Case:
    items = tuple(_items(sample["conversation"]))
    sessions = {item.ref: item.session or "" for item in items}
    last = max((item.occurred_at or 0 for item in items), default=0)
    questions = tuple(
        _question(sample["sample_id"], position, qa, sessions, audits, last + DAY_MS)
        for position, qa in enumerate(sample["qa"])
    )
    return Case(id=sample["sample_id"], items=items, questions=questions)


def _items(conversation: Json) -> Iterator[Item]:
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        began = epoch_ms(conversation[f"session_{number}_date_time"], _DATE)
        for position, turn in enumerate(conversation[f"session_{number}"]):
            caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Item(
                ref=turn["dia_id"],
                content=f"{turn['text']}{caption}".strip(),
                session=str(number),
                occurred_at=began + position * STEP_MS,
                metadata={"speaker": turn["speaker"]},
            )


def _question(
    sample: str,
    position: int,
    qa: Json,
    sessions: Mapping[str, str],
    audits: Mapping[str, Json],
    asked_at: int,
) -> Question:
    name = f"{sample}#{position}"
    gold = repair_dialogue(qa.get("evidence", ()), sessions)
    audit = audits.get(name)
    return Question(
        id=name,
        text=qa["question"],
        category=CATEGORIES[qa["category"]],
        gold=gold,
        audited=gold if audit is None else repair_dialogue(audit["correct_evidence"], sessions),
        gold_sessions=unique(sessions[ref] for ref in gold),
        answer=str(qa["answer"]) if "answer" in qa else None,
        answerable=qa["category"] != 5,
        asked_at=asked_at,
    )


def repair_dialogue(evidence: list[str], known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the turns of citations, also of malformed ones ("D8:6; D9:17", "D:11:26", "D30:05")."""
    cited = [f"D{session}:{turn}" for text in evidence for session, turn in _TURN.findall(text)]
    return unique(ref for ref in cited if ref in known)

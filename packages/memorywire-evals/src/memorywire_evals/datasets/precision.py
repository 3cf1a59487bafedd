"""PrecisionMemBench: beliefs of a user, and which of them each query must and must not return.

A belief is stored as "name (aliases): content", the fields its authors index; its reason, scope and kind are
metadata. A superseded belief is stored first and then superseded by its successor, as a user would do.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from memorywire.model.record import Json
from memorywire_evals.cases import Case, Dataset, Expectation, Item, Question
from memorywire_evals.datasets.files import digest, find, read_json, unique

USER = "test-user"
MOST = 20


def read(data: Path, *, split: str, roles: str) -> Dataset:
    folder = data if (data / "beliefs.seed.json").is_file() else data / "precisionmembench"
    seed, cases = find(folder, "beliefs.seed.json"), find(folder, "retrieval.cases.json")
    case = Case(
        id="beliefs",
        items=tuple(_items(read_json(seed))),
        questions=tuple(_question(one) for one in read_json(cases)),
    )
    return Dataset(
        name="precision",
        split="all",
        digest=digest(seed, cases),
        case_ids=(case.id,),
        build=lambda _: case,
    )


def _items(beliefs: list[Json]) -> Iterator[Item]:
    """Yield the items, successors after the items they replace."""
    replaced: dict[str, list[str]] = {}
    for belief in beliefs:
        if belief["superseded_by"]:
            replaced.setdefault(belief["superseded_by"], []).append(belief["_id"])
    known = {belief["_id"]: belief for belief in beliefs}
    order = unique(id for belief in beliefs for id in _chain(belief["_id"], replaced))
    for id in order:
        yield _item(known[id], tuple(replaced.get(id, ())))


def _chain(id: str, replaced: dict[str, list[str]]) -> list[str]:
    """Return a belief after all beliefs it replaces, directly or not."""
    return [earlier for old in replaced.get(id, ()) for earlier in _chain(old, replaced)] + [id]


def _item(belief: Json, supersedes: tuple[str, ...]) -> Item:
    aliases = f" ({', '.join(belief['aliases'])})" if belief["aliases"] else ""
    name = belief["canonical_name"].replace("_", " ")
    return Item(
        ref=belief["_id"],
        content=f"{name}{aliases}: {belief['content']}",
        type="semantic",
        occurred_at=round(datetime.fromisoformat(belief["created_at"]).timestamp() * 1000),
        metadata={
            "scope": list(belief["scope"]),
            "kind": belief["type"],
            "pinned": belief["pinned"],
            "resolved": belief["resolved_at"] is not None,
            "participants": list(belief.get("participants", ())),
            "why": belief["why_it_matters"],
        },
        user=belief["user_id"],
        supersedes=supersedes,
    )


def _question(case: Json) -> Question:
    claims = case["expect"]
    beliefs, pinned = claims.get("relevantBeliefs", {}), claims.get("pinnedFacts", {})
    questions, only = claims.get("openQuestions", {}), beliefs.get("shouldOnlyInclude")
    return Question(
        id=case["caseId"],
        text=case["query"],
        category=case["category"],
        gold=tuple(only or ()),
        expect=Expectation(
            scopes=tuple(case["scope"]),
            user=case.get("userId", USER),
            most=case.get("budget", {}).get("maxBeliefs", MOST),
            only=None if only is None else tuple(only),
            excluded=tuple(beliefs.get("mustExclude", ())),
            pinned=tuple(pinned.get("mustInclude", ())),
            not_pinned=tuple(pinned.get("mustExclude", ())),
            open=tuple(questions.get("mustInclude", ())),
            not_open=tuple(questions.get("mustExclude", ())),
        ),
    )

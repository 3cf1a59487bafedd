"""Makes the table by which a memory is told to be a constraint: a rule, a need or a limit.

    python tools/constraint_model.py FILE ...                 train, write the table
    python tools/constraint_model.py FILE ... --check FILE    train, write nothing, measure on another file

A file has one JSON object a line: people with `memories` (`constraint` marks those that are one), or messages
with `facts` of a `kind`. The model is a regularised logistic regression over the stems of words and pairs of
neighbours. Classes of words let it see words that no file holds; their weights are part of the weights of
their words, so that a table of numbers is all that is read later.

The table of the package is made from the first 96 people of `tasks-train.jsonl` in `memorywire-evals`; the
same lines give the same bytes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from memorywire.facts.kinds import TABLE, THRESHOLD, list_stems

CLASSES = {
    "health": """
        allergy allergic allergies anaphylaxis anaphylactic epipen intolerant intolerance coeliac celiac
        lactose gluten asthma asthmatic diabetes diabetic insulin epilepsy epileptic seizure seizures
        migraine migraines arthritis dementia alzheimer parkinson autism autistic adhd dyslexia dyslexic
        dyspraxia stroke aphasia heart pacemaker stent kidney dialysis liver lung copd oxygen cancer
        chemo chemotherapy tumour tumor lupus fibromyalgia crohn colitis ibs reflux ulcer gout anaemia
        anemia haemophilia hemophilia sickle thrombosis clot blood pressure hypertension cholesterol
        thyroid hernia slipped disc sciatica scoliosis tendonitis tendinitis carpal tunnel fracture
        sprain concussion vertigo tinnitus deaf deafness hearing blind blindness sight vision colour
        color glaucoma cataract macular wheelchair walker crutches cane prosthetic prosthesis amputee
        paralysed paralyzed hemiplegic paraplegic stammer stutter mute anxiety panic ptsd trauma
        depression bipolar ocd phobia phobic claustrophobic claustrophobia agoraphobia insomnia
        narcolepsy apnoea apnea cpap eczema psoriasis hives rash swell swelling latex penicillin nickel
        pollen hay fever dust perfume scent fragrance fragrances histamine fodmap g6pd immunocompromised
        immunosuppressed transplant pregnant pregnancy gestational breastfeeding nursing warfarin
        metformin statin statins clopidogrel lithium methotrexate prednisone steroids antibiotic
        antibiotics thinners anticoagulant medication medicine meds medicated tablets pills
        photosensitive seasick carsick faint faints fainting dizzy nausea cramps choke chokes choking
        wheeze attack attacks flare flares symptoms syndrome disease disorder condition disabled
        disability impairment impaired chronic injury injured surgery operated recovering rehab relapse
        sober recovery addiction alcoholic teetotal knee knees hip shoulder wrist limp fatigue pain
        sensory overstimulated meltdown meltdowns neurodivergent nut nuts peanut peanuts shellfish sesame
        blister blisters deficiency deficient intolerances reacts reaction reactions hypermobile mobility
        osteoporosis neuropathy numb amputated dystrophy sclerosis palsy
    """,
    "diet": """
        vegan vegetarian pescatarian halal kosher jain hindu muslim jewish sikh buddhist adventist mormon
        orthodox lent ramadan fasting fast sabbath shabbat prayer prays pray pork beef meat alcohol
        caffeine dairy eggs sugar salt keto carb carbs gluten-free religious observant precepts haram
    """,
    "aid": """
        step-free ramp stairs elevator lift subtitles captions braille screen reader interpreter print
        contrast large-print service guide assistance accessible accessibility wheelchair-accessible
    """,
    "fear": """
        afraid fear fears scared frightened terrified nervous phobia upset upsets distress dread panics
        triggers trigger
    """,
    "must": """
        must mustn't need needs needed require requires required requirement requirements shall should
        obliged obligation mandatory compulsory has-to demand demands insist insists ought
    """,
    "allow": """
        may allow allows allowed permit permits permitted forbid forbids forbidden ban bans banned
        prohibit prohibits prohibited disallow disallowed refuse refuses refused reject rejects exclude
        excludes excluded exempt impossible illegal restricted blocked closed off-limits unavailable
        disabled opt-out unsubscribed impassable revoked suspended frozen locked
    """,
    "not": """
        no not never none nothing nobody nor without can't cannot couldn't won't don't doesn't didn't
        isn't aren't wouldn't shouldn't avoid avoids avoided stop stops neither hardly
    """,
    "limit": """
        only max maximum most limit limits limited cap capped ceiling within until till under above over
        least minimum min exceed exceeds beyond strictly exclusively except unless before after by budget
        spending threshold quota upto latest earliest deadline hard sharp ahead notice window per cutoff
        timeout
    """,
    "rule": """
        rule rules policy policies law laws legal legally court order custody contract contractual clause
        regulation regulations regulatory regulator compliance comply complies gdpr hipaa pci sox fda
        audit auditor auditors confidential confidentiality secret secrecy private privacy consent
        approval approve approves approved permission sign-off signoff signature signatures signed
        insurer insurance insured licence license certified warranty lease landlord tenant visa embargo
        embargoed nda sanctions binding principle principles convention protocol standard guideline
        guidelines tikanga excluded covenant bylaw bylaws statute tax
    """,
    "privacy": """
        share shared publish published post posted disclose reveal mention mentioned named names photo
        photos address identity anonymous anonymised leak gdpr records data record unpublished embargo
    """,
    "format": """
        answer answers answering reply replies respond responses write written writing format formatted
        bullet bullets markdown emoji emojis exclamation sentence sentences language english french
        german spanish dutch italian portuguese tone formal informal usted vous metric celsius fahrenheit
        spelling tables paragraphs words short brief plain jargon summary
    """,
    "instr": """
        always never keep use don't do answer reply write send call give avoid correct speak ask address
        include round check confirm tell make put stick prefer
    """,
    "time": """
        monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
        fridays saturdays sundays morning mornings evening evenings night nights noon midnight weekend
        weekends
    """,
    "money": """
        euro euros dollar dollars pounds pesos rupees yen kroner budget afford income pension debt debts
        overdraft salary rent cost costs cheap expensive price
    """,
}
_PENALTY = 1.0
_STEPS = 250
_SMALLEST = 0.05


def read_lines(path: Path) -> Iterator[tuple[str, bool]]:
    """Texts, and whether each is a constraint."""
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        for memory in entry.get("memories", ()):
            yield memory["text"], bool(memory.get("constraint"))
        kinds = {fact["kind"] for fact in entry.get("facts", ())}
        if entry.get("group") == "sentence" and len(kinds) == 1:
            yield entry["text"], kinds == {"constraint"}


def build_classes() -> dict[str, set[str]]:
    """The classes of each stem."""
    classes: dict[str, set[str]] = {}
    for name, words in CLASSES.items():
        for stem in list_stems(words):
            classes.setdefault(stem, set()).add(name)
    return classes


def find_features(text: str, classes: dict[str, set[str]]) -> Counter[str]:
    """How often each stem, pair and class occurs."""
    stems = list_stems(text)
    features = Counter(stems)
    features.update(f"{left} {right}" for left, right in zip(["^", *stems], stems, strict=False))
    features.update(f"@{name}" for stem in stems for name in classes.get(stem, ()))
    features.update(f"^@{name}" for stem in stems[:1] for name in classes.get(stem, ()))
    return features


def scale_of(feature: str) -> float:
    """Classes may weigh more than words, and words more than pairs."""
    return 1.5 if "@" in feature[:2] else 0.6 if " " in feature else 1.0


def train(lines: list[tuple[str, bool]], classes: dict[str, set[str]]) -> tuple[dict[str, float], float]:
    """The weight of each feature and the bias, by accelerated gradient descent."""
    rows = [find_features(text, classes) for text, _ in lines]
    counts = Counter(feature for row in rows for feature in row)
    names = sorted(feature for feature, count in counts.items() if count > 1)
    place = {name: at for at, name in enumerate(names)}
    scales = np.array([scale_of(name) for name in names])
    matrix = np.zeros((len(rows), len(names)))
    for at, row in enumerate(rows):
        for name, count in row.items():
            if name in place:
                matrix[at, place[name]] = count
    matrix *= scales
    goal = np.array([float(is_constraint) for _, is_constraint in lines])
    probe = np.ones(len(names))
    for _ in range(20):
        probe = matrix.T @ (matrix @ probe)
        probe /= np.linalg.norm(probe)
    step = 1 / (0.26 * float(np.linalg.norm(matrix @ probe)) ** 2 + 0.25 * len(rows) + _PENALTY)
    weights = ahead = np.zeros(len(names) + 1)
    matrix = np.hstack([matrix, np.ones((len(rows), 1))])
    penalty = np.append(np.full(len(names), _PENALTY), 0.0)
    pace = 1.0
    for _ in range(_STEPS):
        slope = matrix.T @ (1 / (1 + np.exp(-(matrix @ ahead))) - goal) + penalty * ahead
        new, later = ahead - step * slope, (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = new + (pace - 1) / later * (new - weights)
        weights, pace = new, later
    return dict(zip(names, weights[:-1] * scales, strict=True)), float(weights[-1])


def fold(weights: dict[str, float], classes: dict[str, set[str]]) -> dict[str, float]:
    """The weights of stems and pairs, with those of their classes added."""
    table = {name: weight for name, weight in weights.items() if "@" not in name[:2]}
    for stem, names in classes.items():
        table[stem] = table.get(stem, 0.0) + sum(weights.get(f"@{name}", 0.0) for name in names)
        first = sum(weights.get(f"^@{name}", 0.0) for name in names)
        table[f"^ {stem}"] = table.get(f"^ {stem}", 0.0) + first
    return {name: round(weight, 2) for name, weight in sorted(table.items()) if abs(weight) >= _SMALLEST}


def measure(table: dict[str, float], bias: float, lines: list[tuple[str, bool]]) -> str:
    """Recall and precision at the threshold, and at some others."""
    scores = []
    for text, is_constraint in lines:
        stems = list_stems(text)
        pairs = [f"{left} {right}" for left, right in zip(["^", *stems], stems, strict=False)]
        scores.append((bias + sum(table.get(name, 0.0) for name in (*stems, *pairs)), is_constraint))
    total = sum(is_constraint for _, is_constraint in scores)
    report = []
    for limit in (THRESHOLD, -0.5, -1.0, -1.25, -1.5, -1.75, -2.0):
        labels = [is_constraint for score, is_constraint in scores if score > limit]
        report.append(f"{limit:5.2f}: recall {sum(labels) / total:.3f} precision {np.mean(labels):.3f}")
    return "\n".join(report)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--check", type=Path)
    options = parser.parse_args()
    classes = build_classes()
    lines = [line for file in options.files for line in read_lines(file)]
    weights, bias = train(lines, classes)
    table = fold(weights, classes)
    if options.check is not None:
        print(measure(table, bias, list(read_lines(options.check))))
        return
    TABLE.write_text(json.dumps({"": round(bias, 2), **table}, indent=0, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(lines):,} texts, {len(table):,} weights: {TABLE}")


if __name__ == "__main__":
    main()

"""XQuAD: the same questions on the same paragraphs in several languages; a memory is a sentence.

Each language is a case, so a question searches all sentences of its language.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from memorywire.model.record import Json
from memorywire_evals.cases import Case, Dataset, Item, Question
from memorywire_evals.datasets.files import digest, find, part, read_json

_END = re.compile(r"(?<=[.!?؟])\s+(?=\S)|(?<=[。！？])")


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "xquad*.json.xz", "xquad*.json")
    languages: dict[str, Json] = read_json(file)
    taken, ids = part(file, "xquad", split, list(languages))
    return Dataset(
        name="xquad",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _case(id, languages[id]),
    )


def _case(language: str, document: Json) -> Case:
    items: dict[str, Item] = {}
    questions = []
    for paragraph in _paragraphs(document):
        spans = list(split_sentences(paragraph["context"]))
        for _, sentence in spans:
            items.setdefault(sentence, Item(ref=str(len(items)), content=sentence, type="semantic"))
        for qa in paragraph["qas"]:
            at = qa["answers"][0]["answer_start"]
            sentence = next(text for start, text in reversed(spans) if start <= at)
            gold = (items[sentence].ref,)
            questions.append(Question(id=qa["id"], text=qa["question"], category=language, gold=gold))
    return Case(id=language, items=tuple(items.values()), questions=tuple(questions))


def _paragraphs(document: Json) -> Iterator[Json]:
    articles = document["data"] if isinstance(document, dict) else document
    for article in articles:
        yield from article["paragraphs"]


def split_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence with its start offset."""
    begin = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        if sentence := text[begin:end].strip():
            yield begin, sentence
        begin = end

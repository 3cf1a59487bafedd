"""An embedding that was begun: the same vectors, whatever whoever asked does meanwhile."""

import os
import subprocess
import sys
import threading
import time

import pytest

import memorywire_minilm
from memorywire.search.embed.embedder import MiniLmEmbedder

TEXTS = [
    "where does Ana live?",
    "Ben keeps bees behind the house, and sells the honey on the market every Saturday",
    "a",
    "which of the routers in room 374 has to be switched off first?",
]
RESTS = [0.0, 0.00005, 0.0002, 0.003]


@pytest.fixture(scope="module")
def alone() -> list[bytes]:
    """The vectors as one thread makes them."""
    model = memorywire_minilm.load(threads=1)
    return [vector for text in TEXTS for vector in model.embed([text])]


@pytest.mark.parametrize("kernel", memorywire_minilm.kernels())
@pytest.mark.parametrize("rest", RESTS)
def test_what_was_begun_has_the_bytes_of_what_is_embedded(kernel: str, rest: float, alone: list[bytes]):
    model = memorywire_minilm.load(kernel)
    for text, expected in zip(TEXTS, alone, strict=True):
        begun = model.begin([text])
        time.sleep(rest)
        assert begun() == [expected]


def test_two_texts_that_are_begun_together_have_the_vectors_they_have_alone(alone: list[bytes]):
    model = memorywire_minilm.load()
    for first in range(len(TEXTS) - 1):
        assert model.begin(TEXTS[first : first + 2])() == alone[first : first + 2]
    assert model.begin(TEXTS)() == alone
    assert model.begin([])() == []


def test_a_text_that_cannot_be_read_has_no_direction_when_it_is_begun_either():
    model = memorywire_minilm.load()
    assert model.begin(["мир и труд", TEXTS[0]])() == model.embed(["мир и труд", TEXTS[0]])
    assert model.begin(["мир и труд"])() == [bytes(4 * memorywire_minilm.DIMENSION)]


def test_what_nobody_asks_for_any_more_is_in_nobodys_way(alone: list[bytes]):
    model = memorywire_minilm.load()
    for text in TEXTS * 5:
        model.begin([text])
    assert [model.embed([text]) for text in TEXTS] == [[vector] for vector in alone]


def test_several_threads_begin_and_embed_at_once(alone: list[bytes]):
    model = memorywire_minilm.load()
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(40):
            at = (number + turn) % len(TEXTS)
            vectors = model.begin([TEXTS[at]])() if (number + turn) % 3 else model.embed([TEXTS[at]])
            if vectors != [alone[at]]:
                wrong.append(TEXTS[at])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_process_finishes_what_its_parent_began():
    script = (
        "import os, sys, memorywire_minilm\n"
        "model = memorywire_minilm.load()\n"
        "expected = model.embed(['where does Ana live?'])\n"
        "for _ in range(20):\n"
        "    begun = model.begin(['where does Ana live?'])\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        same = begun() == expected and model.embed(['where does Ana live?']) == expected\n"
        "        os._exit(0 if same else 1)\n"
        "    if begun() != expected or os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):\n"
        "        sys.exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_whoever_begins_does_not_wait_until_the_model_is_loaded(alone: list[bytes]):
    embedder = MiniLmEmbedder()
    first = embedder.begin(TEXTS[:1])
    assert embedder._model is None
    assert first() == alone[:1]
    assert embedder._model is not None
    assert embedder.begin(TEXTS[:1])() == alone[:1]

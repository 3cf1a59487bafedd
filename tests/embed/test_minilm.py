"""The packed model: one vector for a text, whatever machine, kernel or company."""

import asyncio
import itertools
import json
import os
import subprocess
import sys
import threading
from functools import cache
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memorywire_minilm
from memorywire.model.errors import EmbedderFailed, InvalidRequest
from memorywire.search.embed import open_embedder
from memorywire_minilm import model as model_module
from memorywire_minilm import native
from tests.vendors.environments import python_of

TEXTS = [
    "",
    " \t\n",
    "hello",
    "Caroline went to the support group on 7 May 2023.",
    "The quick brown fox jumps over the lazy dog, doesn't it?",
    "中文字符 и кириллица और हिन्दी 👩‍👩‍👧‍👦 \x00\ufffd\ud800",
    "x" * 500,
    "word " * 30,
    "a long text that goes on, and on. " * 100,
]
UNREADABLE = (TEXTS[5], TEXTS[6])
PARAPHRASES = [
    ("How old is your brother?", "What is your brother's age?", "The train leaves from platform nine."),
    ("She adopted a puppy last week.", "She got a new little dog.", "Interest rates were raised again."),
    ("I am allergic to peanuts.", "Peanuts make me ill.", "He paints landscapes in oil."),
    ("The meeting was moved to Friday.", "We will meet on Friday instead.", "Whales are mammals."),
]

DIGEST = "05b2742734cb200f38795857c9672e15eaab76217f6f5df0c629835d8b321edf"


@cache
def loaded(kernel: str | None = None) -> memorywire_minilm.Model:
    return memorywire_minilm.load(kernel)


def vectors(texts: list[str]) -> np.ndarray:
    return np.stack([np.frombuffer(vector, "<f4") for vector in loaded().embed(texts)])


def test_vectors_have_384_numbers_and_length_one():
    readable = [text for text in TEXTS if text not in UNREADABLE]
    lengths = np.linalg.norm(vectors(readable), axis=1)
    assert vectors(readable).shape == (len(readable), memorywire_minilm.DIMENSION)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


@pytest.mark.parametrize("text", [*UNREADABLE, "🎉🎉🎉", "猫", "आज मौसम कैसा है", "Как погода сегодня?"])
def test_a_text_the_model_cannot_read_has_no_direction(text):
    assert not vectors([text]).any()


def test_a_few_foreign_letters_do_not_silence_a_text():
    assert vectors(["Zoë met Søren at the café 🎉"]).any()


@pytest.mark.parametrize("kernel", memorywire_minilm.kernels())
def test_every_kernel_gives_the_bytes_of_this_revision(kernel):
    vectors = loaded(kernel).embed(TEXTS)
    assert loaded(kernel).kernel == kernel
    assert (memorywire_minilm.REVISION, sha256(b"".join(vectors)).hexdigest()) == ("int8-1", DIGEST)


@pytest.mark.parametrize("kernel", memorywire_minilm.kernels())
def test_every_kernel_reads_tasks_alike(kernel):
    best = memorywire_minilm.load(tasks=True).embed(TEXTS)
    assert memorywire_minilm.load(kernel, tasks=True).embed(TEXTS) == best
    assert best != loaded().embed(TEXTS)


@pytest.mark.parametrize(
    ("task", "helpful", "other"),
    [
        (
            "Suggest a dinner for tonight",
            "The user is vegetarian.",
            "The user's dinner jacket is at the tailor.",
        ),
        (
            "What should I pack?",
            "The flight to Oslo leaves on 3 January.",
            "The user packs parcels at a depot.",
        ),
    ],
)
def test_a_task_is_nearer_to_what_helps_than_the_same_words(task, helpful, other):
    [read] = memorywire_minilm.load(tasks=True).embed([task])
    [plain] = loaded().embed([task])
    near, far = vectors([helpful, other])

    def lead(vector: bytes) -> float:
        direction = np.frombuffer(vector, "<f4")
        return float(direction @ near - direction @ far)

    assert lead(read) > lead(plain)


def test_layers_for_tasks_of_another_size_are_refused(tmp_path, monkeypatch):
    wrong = tmp_path / "tasks.bin"
    wrong.write_bytes(b"short")
    monkeypatch.setattr(model_module, "TASKS", wrong)
    with pytest.raises(memorywire_minilm.ModelDamaged, match="does not belong"):
        memorywire_minilm.load(tasks=True)


@settings(max_examples=25, deadline=None)
@given(st.text())
def test_kernels_agree_on_any_text(text):
    assert loaded().embed([text]) == loaded("numpy").embed([text])


def test_every_number_of_tokens_has_its_vector():
    texts = ["one " * count for count in range(36)]
    assert loaded().embed(texts) == loaded("numpy").embed(texts)


def test_a_vector_does_not_depend_on_the_rest_of_the_batch():
    alone = [loaded().embed([text])[0] for text in TEXTS]
    assert loaded().embed(TEXTS) == alone
    assert loaded().embed(TEXTS[::-1]) == alone[::-1]


def test_only_the_first_256_tokens_count():
    start = "word " * 254
    assert loaded().embed([start]) == loaded().embed([f"{start} and then some"])


@pytest.mark.parametrize(("text", "paraphrase", "other"), PARAPHRASES)
def test_a_paraphrase_is_nearer_than_another_sentence(text, paraphrase, other):
    first, near, far = vectors([text, paraphrase, other])
    assert first @ near > 0.5 > first @ far


def test_threads_share_a_model():
    expected = loaded().embed(TEXTS)
    found: list[list[bytes]] = []
    threads = [threading.Thread(target=lambda: found.append(loaded().embed(TEXTS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.parametrize("kernel", memorywire_minilm.kernels())
def test_a_second_thread_changes_no_byte(kernel):
    # The one in numpy has no helper: it is slow, and need only take the word.
    texts = TEXTS[:5] if kernel == "numpy" else [*TEXTS, *("one " * count for count in range(1, 30))]
    alone = memorywire_minilm.load(kernel, threads=1)
    helped = memorywire_minilm.load(kernel)
    assert [helped.embed([text]) for text in texts] == [alone.embed([text]) for text in texts]


def test_two_texts_embedded_together_have_the_vectors_they_have_alone():
    pairs = list(itertools.pairwise([*TEXTS, *("one " * count for count in range(40))]))
    assert [loaded().embed(pair) for pair in pairs] == [
        [*loaded().embed([first]), *loaded().embed([second])] for first, second in pairs
    ]


_COMPILED = memorywire_minilm.kernels()[0] != "numpy" and sys.platform == "linux"


@pytest.mark.skipif(not _COMPILED, reason="numpy has threads of its own, and only Linux lists them")
@pytest.mark.parametrize(("threads", "more"), [(1, 0), (None, int(native.processors() > 1))])
def test_the_second_thread_comes_with_the_first_question_if_it_may(threads, more):
    script = (
        "import os, memorywire_minilm\n"
        f"model = memorywire_minilm.load(threads={threads})\n"
        "count = lambda: len(os.listdir('/proc/self/task'))\n"
        "before = count()\n"
        "model.embed(['hello'])\n"
        "print(before, count() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["1", str(more)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_process_embeds_as_its_parent_does():
    script = (
        "import os, memorywire_minilm\n"
        "model = memorywire_minilm.load()\n"
        "expected = model.embed(['hello'])\n"
        "child = os.fork()\n"
        "same = model.embed(['hello']) == expected\n"
        "if not child:\n"
        "    raise SystemExit(0 if same else 1)\n"
        "raise SystemExit(0 if same and os.waitpid(child, 0)[1] == 0 else 1)\n"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_an_embedder_kept_to_one_thread_gives_the_same_vectors():
    async def embed(url: str) -> list[bytes]:
        embedder = open_embedder(url)
        try:
            return await embedder.embed(TEXTS)
        finally:
            await embedder.close()

    assert asyncio.run(embed("minilm?threads=1")) == loaded().embed(TEXTS)


def test_no_texts_give_no_vectors():
    assert loaded().embed([]) == []


def test_an_unknown_kernel_is_refused():
    with pytest.raises(memorywire_minilm.KernelUnavailable, match="'abacus'"):
        memorywire_minilm.load("abacus")


def test_the_published_files_are_whole():
    memorywire_minilm.verify()


def test_a_changed_byte_is_noticed(tmp_path, monkeypatch):
    copy = tmp_path / "weights.bin"
    copy.write_bytes(model_module.WEIGHTS.read_bytes()[:-1] + b"\x07")
    digest = model_module.DIGESTS[model_module.WEIGHTS]
    monkeypatch.setattr(model_module, "DIGESTS", {copy: digest})
    with pytest.raises(memorywire_minilm.ModelDamaged, match="digest"):
        memorywire_minilm.verify()


@pytest.mark.parametrize("content", [b"", b"short", b"\0" * 100])
def test_weights_of_another_form_are_refused(tmp_path, monkeypatch, content):
    damaged = tmp_path / "weights.bin"
    damaged.write_bytes(content)
    monkeypatch.setattr(model_module, "WEIGHTS", damaged)
    with pytest.raises(memorywire_minilm.ModelDamaged):
        memorywire_minilm.load()
    with pytest.raises(EmbedderFailed, match="built-in model"):
        asyncio.run(open_embedder("minilm").embed(["hello"]))


def test_without_the_compiled_kernel_numpy_does_the_work(monkeypatch):
    monkeypatch.setattr(model_module, "find_library", lambda: None)
    monkeypatch.setattr(model_module, "find_spec", lambda name: None)  # of onnxruntime
    model = memorywire_minilm.load()
    assert model.kernel == "numpy"
    assert model.embed(TEXTS) == loaded().embed(TEXTS)


@pytest.mark.products
def test_onnxruntime_multiplies_where_it_is_installed_and_there_is_no_kernel():
    script = (
        "import json, sys\n"
        "import memorywire_minilm\n"
        "from memorywire_minilm import model\n"
        "compiled = memorywire_minilm.load().embed(json.loads(sys.argv[1]))\n"
        "model.find_library = lambda: None\n"
        "without = memorywire_minilm.load()\n"
        "assert without.kernel == 'onnx', without.kernel\n"
        "readings = without.embed(json.loads(sys.argv[1]))\n"
        "assert [(one, one.tokens) for one in readings] == [(one, one.tokens) for one in compiled]\n"
    )
    subprocess.run([python_of("onnxruntime"), "-c", script, json.dumps(TEXTS)], check=True)


def test_a_kernel_is_forced_by_the_name_of_the_embedder():
    for kernel in memorywire_minilm.kernels():
        embedder = open_embedder(f"minilm?kernel={kernel}")
        assert asyncio.run(embedder.embed(TEXTS)) == loaded().embed(TEXTS)
    with pytest.raises(InvalidRequest, match="cannot run here, only"):
        open_embedder("minilm?kernel=abacus")


def test_importing_neither_loads_numpy_nor_reads_the_model():
    script = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "import memorywire_minilm\n"
        "assert 'numpy' not in sys.modules\n"
        "assert not [path for path in opened if path.endswith(('.bin', '.txt', '.so'))\n"
        "            and 'memorywire_minilm' in path], opened\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_embedder_gives_the_models_vectors_in_order():
    texts = [f"text number {index}" for index in range(150)]

    async def embed() -> list[bytes]:
        embedder = open_embedder()
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.close()

    assert asyncio.run(embed()) == loaded().embed(texts)


def test_the_embedder_names_its_space_before_loading():
    space = open_embedder("minilm").space
    assert (space.model, space.dimension, space.normalised) == ("all-MiniLM-L6-v2", 384, True)


def test_an_embedder_can_be_used_from_many_tasks():
    async def embed() -> list[list[bytes]]:
        embedder = open_embedder()
        return await asyncio.gather(*(embedder.embed([text]) for text in TEXTS))

    assert asyncio.run(embed()) == [[vector] for vector in loaded().embed(TEXTS)]

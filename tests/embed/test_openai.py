"""The client of OpenAI-like endpoints, against a real server on this machine."""

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from memorywire.model.errors import EmbedderFailed, InvalidRequest
from memorywire.search.embed import open_embedder
from memorywire.search.embed.openai import OpenAiEmbedder
from tests.http.elsewhere import Exchange, answering

KEY = "sk-a-very-secret-key"


@dataclass
class Endpoint:
    """A server that gives the answers of a script, then honest ones."""

    url: str = ""
    script: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def answer(self, question: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(question)
        if self.script:
            return self.script.pop(0)
        rows = [
            {"index": index, "embedding": [float(len(text)), 3.0, 4.0]}
            for index, text in enumerate(question["input"])
        ]
        return 200, {}, json.dumps({"data": rows[::-1]}).encode()

    def embedder(self, **options: Any) -> OpenAiEmbedder:
        return OpenAiEmbedder(
            **{
                "endpoint": f"{self.url}/v1/embeddings",
                "model": "tiny",
                "dimension": 3,
                "api_key": KEY,
                "first_pause": 0.01,
                **options,
            }
        )

    def embed(self, texts: list[str], **options: Any) -> list[bytes]:
        return asyncio.run(self.embedder(**options).embed(texts))


@contextmanager
def serving(endpoint: Endpoint) -> Iterator[Endpoint]:
    def answer(asked: Exchange, question: bytes) -> None:
        endpoint.keys.append(asked.headers.get("Authorization"))
        endpoint.paths.append(asked.path)
        status, headers, body = endpoint.answer(json.loads(question))
        asked.reply(status, body, headers)

    with answering(answer) as place:
        endpoint.url = f"http://{place}"
        yield endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(Endpoint()) as served:
        yield served


def vector(raw: bytes) -> list[float]:
    return list(memoryview(raw).cast("f"))


def answer_of(*embeddings: Any) -> tuple[int, dict[str, str], bytes]:
    rows = [{"index": index, "embedding": part} for index, part in enumerate(embeddings)]
    return 200, {}, json.dumps({"data": rows}).encode()


def test_vectors_come_in_the_order_of_the_texts_at_length_one(endpoint):
    first, second = endpoint.embed(["a" * 12, ""])
    assert vector(first) == pytest.approx([12 / 13, 3 / 13, 4 / 13])
    assert math.hypot(*vector(second)) == pytest.approx(1)


def test_the_question_names_the_model_and_carries_the_key(endpoint):
    endpoint.embed(["hello"])
    assert endpoint.asked == [{"model": "tiny", "input": ["hello"], "encoding_format": "float"}]
    assert endpoint.keys == [f"Bearer {KEY}"]
    assert endpoint.paths == ["/v1/embeddings"]


def test_without_a_key_none_is_sent(endpoint):
    endpoint.embed(["hello"], api_key=None)
    assert endpoint.keys == [None]


def test_texts_go_64_at_a_time(endpoint):
    vectors = endpoint.embed([f"{'x' * index}" for index in range(1, 151)])
    assert [len(question["input"]) for question in endpoint.asked] == [64, 64, 22]
    assert vector(vectors[149])[0] == pytest.approx(150 / math.hypot(150, 3, 4))


def test_empty_texts_and_lone_surrogates_are_made_acceptable(endpoint):
    endpoint.embed(["", "half \ud83d a pair"])
    assert endpoint.asked[0]["input"] == [" ", "half ? a pair"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(endpoint, status):
    endpoint.script = [(status, {}, b"later"), (status, {"Retry-After": "0"}, b"later")]
    assert len(endpoint.embed(["hello"])) == 1
    assert len(endpoint.asked) == 3


def test_patience_ends(endpoint):
    endpoint.script = [(429, {}, KEY.encode())] * 9
    with pytest.raises(EmbedderFailed, match="stayed busy for 4 attempts: HTTP 429") as caught:
        endpoint.embed(["hello"])
    assert len(endpoint.asked) == 4
    assert KEY not in str(caught.value.problem())


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_final_and_keeps_the_key_secret(endpoint, status):
    endpoint.script = [(status, {}, f"bad key {KEY}".encode())]
    with pytest.raises(EmbedderFailed, match=f"HTTP {status}") as caught:
        endpoint.embed(["hello"])
    assert len(endpoint.asked) == 1
    assert KEY not in str(caught.value.problem())


def test_a_redirect_is_not_followed(endpoint):
    with serving(Endpoint()) as elsewhere:
        endpoint.script = [(307, {"Location": f"{elsewhere.url}/v1/embeddings"}, b"")]
        with pytest.raises(EmbedderFailed, match="HTTP 307"):
            endpoint.embed(["hello"])
        assert elsewhere.keys == []


@pytest.mark.parametrize(
    ("embedding", "complaint"),
    [
        ([1.0, 2.0], "2 dimensions, not 3"),
        ([1.0, 2.0, 3.0, 4.0], "4 dimensions, not 3"),
        ([1.0, math.nan, 3.0], "without a direction"),
        ([1.0, -math.inf, 3.0], "without a direction"),
        ([0.0, 0.0, 0.0], "without a direction"),
        ([10**400, 1, 1], "without a direction"),
        ([1.0, "2", 3.0], "not a list of numbers"),
        ([1.0, True, 3.0], "not a list of numbers"),
        ("AACAPwAAAEAAAEBA", "not a list of numbers"),
        (None, "not a list of numbers"),
    ],
)
def test_a_bad_vector_is_refused(endpoint, embedding, complaint):
    endpoint.script = [answer_of(embedding)]
    with pytest.raises(EmbedderFailed, match=complaint):
        endpoint.embed(["hello"])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"data": 1}',
        b'{"data": [1]}',
        b'{"data": [{"embedding": [1, 2, 3]}]}',
        b'{"data": [{"index": 0}]}',
        b"[" * 60_000,
        b"\xff\xfe",
    ],
    ids=lambda body: ascii(body[:30]),
)
def test_an_answer_of_another_shape_is_refused(endpoint, body):
    endpoint.script = [(200, {}, body)]
    with pytest.raises(EmbedderFailed, match="not a list of embeddings"):
        endpoint.embed(["hello"])


def test_a_vector_for_each_text_is_demanded(endpoint):
    endpoint.script = [answer_of([1, 2, 3])]
    with pytest.raises(EmbedderFailed, match="1 vectors for 2 texts"):
        endpoint.embed(["one", "two"])


def test_an_endless_answer_is_not_read(endpoint):
    endpoint.script = [(200, {}, b" " * 1_000_000)]
    with pytest.raises(EmbedderFailed, match="more than"):
        endpoint.embed(["hello"])


def test_an_endpoint_that_is_not_there_is_named():
    embedder = Endpoint(url="http://127.0.0.1:1").embedder()
    with pytest.raises(EmbedderFailed, match=r"127\.0\.0\.1:1/v1/embeddings did not answer"):
        asyncio.run(embedder.embed(["hello"]))


def test_a_slow_endpoint_is_not_waited_for():
    waiting = threading.Event()

    class Slow(Endpoint):
        def answer(self, question: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
            waiting.wait(60)
            return 200, {}, b""

    with serving(Slow()) as slow:
        with pytest.raises(EmbedderFailed, match="did not answer"):
            slow.embed(["hello"], timeout=0.1)
        waiting.set()


def test_a_url_opens_an_endpoint(endpoint):
    embedder = open_embedder(f"openai+{endpoint.url}/v1?model=tiny&dimension=3", api_key=KEY)
    asyncio.run(embedder.embed(["hello"]))
    assert (endpoint.paths, endpoint.keys) == (["/v1/embeddings"], [f"Bearer {KEY}"])
    assert (embedder.space.model, embedder.space.dimension) == ("tiny", 3)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "maxilm",
        "https://host/v1?model=m&dimension=3",
        "openai+ftp://host/v1?model=m&dimension=3",
        "openai+https:///v1?model=m&dimension=3",
        "openai+https://user:secret@host/v1?model=m&dimension=3",
        "openai+https://host:port/v1?model=m&dimension=3",
        "openai+https://[host/v1?model=m&dimension=3",
        "minilm?",
        "minilm?threads",
        "minilm?threads=0",
        "minilm?threads=65",
        "minilm?threads=two",
        "minilm?model=m",
        "openai+https://host/v1",
        "openai+https://host/v1?model=m",
        "openai+https://host/v1?model=m&dimension=0",
        "openai+https://host/v1?model=m&dimension=-3",
        "openai+https://host/v1?model=m&dimension=three",
        "openai+https://host/v1?model=m&dimension=3&dimension=4",
        "openai+https://host/v1?model=m&dimension=3&api_key=x",
    ],
)
def test_an_unknown_embedder_is_refused_with_a_fix(url):
    with pytest.raises(InvalidRequest) as caught:
        open_embedder(url)
    assert caught.value.field == "embedder"
    assert "minilm" in str(caught.value.fix)
    assert "secret" not in str(caught.value.problem())


@pytest.mark.parametrize("key", ["line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_unnamed(key):
    with pytest.raises(InvalidRequest) as caught:
        open_embedder("openai+https://host/v1?model=m&dimension=3", api_key=key)
    assert key not in str(caught.value.problem())

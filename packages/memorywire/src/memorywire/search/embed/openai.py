"""Any endpoint that speaks OpenAI's `/embeddings`."""

import asyncio
import json
import math
import sys
from array import array
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from memorywire.model.errors import DimensionMismatch, EmbedderFailed
from memorywire.model.space import Space
from memorywire.runtime.http import HttpClient, HttpError, Response, ResponseTooLarge

BATCH = 64
ATTEMPTS = 4
LONGEST_PAUSE = 20.0

# An answer is not read further than this: an envelope, and so much for each number.
ENVELOPE_BYTES = 65_536
NUMBER_BYTES = 64


class Busy(Exception):
    """The endpoint asks to wait, for `seconds` if it said how long."""

    def __init__(self, status: int, seconds: float | None) -> None:
        super().__init__(f"HTTP {status}")
        self.seconds = seconds


class OpenAiEmbedder:
    """Asks the endpoint in a worker thread, some texts at a time, with patience when it is busy."""

    def __init__(
        self,
        *,
        endpoint: str,
        model: str,
        dimension: int,
        api_key: str | None,
        timeout: float = 30.0,
        first_pause: float = 0.5,
    ) -> None:
        """`timeout` and `first_pause` are seconds; each pause is twice the one before."""
        self.space = Space(model=model, revision="remote", dimension=dimension)
        self._endpoint = endpoint
        self._first_pause = first_pause
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._target = urlsplit(endpoint)._replace(scheme="", netloc="").geturl()
        self._http = HttpClient(endpoint, timeout=timeout, max_bytes=ENVELOPE_BYTES, use_proxy=True)

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors: list[bytes] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            answer = await self._ask_patiently(self._question(batch), len(batch))
            vectors += read_answer(answer, len(batch), self.space.dimension)
        return vectors

    async def close(self) -> None:
        self._http.close()

    def _question(self, texts: Sequence[str]) -> bytes:
        """The request's body; endpoints refuse empty texts and lone surrogates."""
        inputs = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        return json.dumps({"model": self.space.model, "input": inputs, "encoding_format": "float"}).encode()

    async def _ask_patiently(self, question: bytes, count: int) -> bytes:
        pause = self._first_pause
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._ask(question, count)
            except Busy as busy:
                await asyncio.sleep(min(busy.seconds or pause, LONGEST_PAUSE))
                pause *= 2
        try:
            return await self._ask(question, count)
        except Busy as busy:
            detail = f"{self._endpoint} stayed busy for {ATTEMPTS} attempts: {busy}"
            raise EmbedderFailed(detail, fix="try again later") from busy

    async def _ask(self, question: bytes, count: int) -> bytes:
        limit = ENVELOPE_BYTES + count * self.space.dimension * NUMBER_BYTES
        try:
            response = await self._http.send("POST", self._target, question, self._headers, max_bytes=limit)
        except ResponseTooLarge as error:
            raise EmbedderFailed(f"{self._endpoint} answered with more than {limit} bytes") from error
        except HttpError as error:
            raise EmbedderFailed(f"{self._endpoint} did not answer: {error.reason}") from error
        if not response.is_ok:
            raise self._refusal(response)
        return response.body

    def _refusal(self, response: Response) -> Exception:
        """The error for an HTTP status, without the body, which may repeat the key."""
        status = response.status
        if status == 429 or status >= 500:
            return Busy(status, retry_after(response.headers.get("retry-after")))
        fix = "check the API key" if status in (401, 403) else "check the URL and the model"
        return EmbedderFailed(f"{self._endpoint} refused: HTTP {status}", fix=fix)


def retry_after(header: str | None) -> float | None:
    """The seconds an endpoint asks to wait, when it says so in digits."""
    return float(header) if header and header.isascii() and header.isdigit() else None


def read_answer(answer: bytes, count: int, dimension: int) -> list[bytes]:
    """The vectors of an answer in the order of the texts."""
    try:
        rows: list[dict[str, Any]] = sorted(json.loads(answer)["data"], key=lambda row: row["index"])
        indexes = [row["index"] for row in rows]
        embeddings = [row["embedding"] for row in rows]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        detail = f"the endpoint's answer is not a list of embeddings ({type(error).__name__})"
        raise EmbedderFailed(detail) from None
    if indexes != list(range(count)):
        raise EmbedderFailed(f"the endpoint answered {len(rows)} vectors for {count} texts")
    return [unit_vector(embedding, dimension) for embedding in embeddings]


def unit_vector(embedding: object, dimension: int) -> bytes:
    """`embedding` at length one, as float32 little-endian."""
    if not isinstance(embedding, list) or any(type(part) not in (int, float) for part in embedding):
        raise EmbedderFailed("the endpoint answered a vector that is not a list of numbers")
    if len(embedding) != dimension:
        raise DimensionMismatch(
            f"the endpoint answered {len(embedding)} dimensions, not {dimension}",
            fix=f"put dimension={len(embedding)} into the embedder's URL",
        )
    try:
        length = math.hypot(*embedding)
    except OverflowError:
        length = math.inf
    if not math.isfinite(length) or length == 0:
        raise EmbedderFailed("the endpoint answered a vector without a direction")
    vector = array("f", [part / length for part in embedding])
    if sys.byteorder == "big":
        vector.byteswap()
    return vector.tobytes()

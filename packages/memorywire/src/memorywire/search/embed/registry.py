"""Chooses an embedder by its URL."""

from urllib.parse import SplitResult, parse_qs, urlsplit

from memorywire.model.errors import InvalidRequest
from memorywire.search.embed.embedder import Embedder, NoEmbedder, Together
from memorywire.search.embed.minilm import MiniLmEmbedder

SCHEMES = {"openai+http": "http", "openai+https": "https"}
MOST_NUMBERS = 65_536
MOST_THREADS = 64
FIX = 'use "minilm", "minilm?threads=1", "none" or "openai+https://HOST/v1?model=NAME&dimension=N"'


def open_embedder(url: str = "minilm", *, api_key: str | None = None) -> Embedder:
    """The embedder `url` names; nothing is loaded or asked yet.

    Raises `InvalidRequest` when there is none of that name.
    """
    if url == "minilm":
        return MiniLmEmbedder()
    if url.startswith("minilm?"):
        return MiniLmEmbedder(_threads(url.removeprefix("minilm?")))
    if url == "none":
        return NoEmbedder()
    parts = _split(url)
    if parts.scheme not in SCHEMES:
        raise _unknown(f"no embedder is called {parts.scheme or url!r}")
    if not parts.hostname or "@" in parts.netloc:
        raise _unknown("the embedder's URL must name a host, and no user")
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise _unknown("the embedder's API key holds characters no header can carry")
    model, dimension = _parameters(parts.query)
    # Loaded here, so that nobody pays for an HTTP client who has no endpoint.
    from memorywire.search.embed.openai import OpenAiEmbedder

    return Together(
        OpenAiEmbedder(
            endpoint=f"{SCHEMES[parts.scheme]}://{parts.netloc}{parts.path.rstrip('/')}/embeddings",
            model=model,
            dimension=dimension,
            api_key=api_key,
        )
    )


def _threads(query: str) -> int:
    number = query.removeprefix("threads=")
    if number == query or not _counts(number, MOST_THREADS):
        raise _unknown(f"minilm takes threads=N, 1 to {MOST_THREADS}, and nothing else")
    return int(number)


def _counts(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) <= most


def _split(url: str) -> SplitResult:
    """The parts of `url`, its port a number when there is one."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (raises when it is not a number)
    except ValueError as error:
        raise _unknown(f"the embedder's URL is malformed: {error}") from None
    return parts


def _parameters(query: str) -> tuple[str, int]:
    options = parse_qs(query)
    if set(options) != {"model", "dimension"} or any(len(values) > 1 for values in options.values()):
        raise _unknown("the embedder's URL must give model and dimension once, and nothing else")
    [model], [dimension] = options["model"], options["dimension"]
    if not _counts(dimension, MOST_NUMBERS):
        raise _unknown(f"the embedder's dimension must be 1 to {MOST_NUMBERS}")
    return model, int(dimension)


def _unknown(detail: str) -> InvalidRequest:
    return InvalidRequest(detail, field="embedder", fix=FIX)

"""Chooses an extractor by its name or URL."""

from urllib.parse import parse_qs, urlsplit

from memorywire.engine.extract.builtin import BuiltIn
from memorywire.engine.extract.contract import Extractor
from memorywire.engine.extract.ingesting import StoreExtractor
from memorywire.model.errors import InvalidRequest
from memorywire.stores.contract import Fanned, Ingester, Store

DEFAULT_EXTRACTOR = "auto"
BUILT_IN = "builtin"
OFF = "off"

_SCHEMES = ("openai+http", "openai+https", "anthropic+http", "anthropic+https")
_FIX = 'use "auto", "builtin", "off", "openai+https://HOST/v1?model=NAME" or "anthropic+https://HOST/v1?model=NAME"'


def open_extractor(named: str, store: Store, *, api_key: str | None = None) -> Extractor | None:
    """The extractor of that name; None when it is `off`. Nobody is asked yet.

    `auto` is a store that reads conversations itself, else the built-in rules.
    """
    if named == OFF:
        return None
    if named == DEFAULT_EXTRACTOR:
        reader = _ingesting(store)
        return BuiltIn() if reader is None else StoreExtractor(reader)
    if named == BUILT_IN:
        return BuiltIn()
    try:
        parts = urlsplit(named)
        sound = parts.scheme in _SCHEMES and bool(parts.hostname) and "@" not in parts.netloc
        given = parse_qs(parts.query)
    except ValueError:
        sound = False
    if not sound or set(given) != {"model"} or len(given["model"]) != 1:
        raise InvalidRequest("no extractor is called that", field="extractor", fix=_FIX)
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise InvalidRequest("the extractor's key holds characters no header can carry", field="extractor")
    # Loaded here, so that nobody pays for an HTTP client who has no endpoint.
    from memorywire.engine.extract.endpoint import EndpointExtractor, dialect

    speaks, _, scheme = parts.scheme.partition("+")
    return EndpointExtractor(
        dialect(speaks),
        base=f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}",
        model=given["model"][0],
        api_key=api_key,
    )


def _ingesting(store: Store) -> Ingester | None:
    """The store, or the first of several, that reads conversations itself."""
    each = [store.child(name) for name in store.children] if isinstance(store, Fanned) else [store]
    return next((one for one in each if isinstance(one, Ingester)), None)

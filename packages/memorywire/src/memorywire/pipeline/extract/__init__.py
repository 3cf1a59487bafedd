"""Reading facts out of conversations: by rules, by a model behind an endpoint, or by a store that can."""

from memorywire.pipeline.extract.registry import DEFAULT_EXTRACTOR, Extractor, open_chat, open_extractor

__all__ = ["DEFAULT_EXTRACTOR", "Extractor", "open_chat", "open_extractor"]

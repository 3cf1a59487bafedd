"""Fact extraction from conversations: by rules, by a model endpoint, or by a store that supports it."""

from memorywire.pipeline.extract.registry import DEFAULT_EXTRACTOR, Extractor, open_chat, open_extractor

__all__ = ["DEFAULT_EXTRACTOR", "Extractor", "open_chat", "open_extractor"]

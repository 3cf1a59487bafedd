"""The name of `memorywire.integrations.langchain` of 0.5.0, which has no adapter here."""


def __getattr__(name: str) -> object:
    if name == "MemorywireChatMessageHistory":
        raise ImportError(
            f"{name} of memorywire 0.5.0 does not exist here: keep messages with "
            "Memory.layer.add(messages, session_id=...)",
            name=name,
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

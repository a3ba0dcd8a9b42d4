"""The operations behind the call types of LiteLLM.

Owns the names of its functions. Refuses to call what asks no model a chat.
"""

_OPERATIONS = {
    "completion": "chat",
    "responses": "chat",
    "anthropic_messages": "chat",
    "generate_content": "chat",
    "text_completion": "text_completion",
    "embedding": "embeddings",
    "embeddings": "embeddings",
}


def operation_of(call_type: str | None) -> str:
    """The operation of a call type, which has an `a` in front where it was asynchronous."""
    if call_type is None:
        return "chat"
    plain = call_type.removesuffix("_stream")
    for name in (plain, plain.removeprefix("a")):
        if name in _OPERATIONS:
            return _OPERATIONS[name]
    return call_type

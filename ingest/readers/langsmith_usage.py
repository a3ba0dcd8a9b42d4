"""What a run of LangSmith tells of a model call: model, parameters, tokens, cost, finish.

Owns the places in which its clients have put them over time. Refuses the counts of runs that are
no model calls: those repeat their children's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.readers.record_fields import record_of
from ingest.records import Json

_USAGE = {
    "gen_ai.usage.input_tokens": ("input_tokens", "prompt_tokens"),
    "gen_ai.usage.output_tokens": ("output_tokens", "completion_tokens"),
    "gen_ai.usage.total_tokens": ("total_tokens",),
}
_INPUT_DETAILS = ("input_token_details", "prompt_token_details", "prompt_tokens_details")
_OUTPUT_DETAILS = ("output_token_details", "completion_token_details", "completion_tokens_details")
_INPUT_PARTS = {
    "gen_ai.usage.cache_read.input_tokens": ("cache_read", "cached_tokens"),
    "gen_ai.usage.cache_write.input_tokens": ("cache_creation", "cache_write"),
}
_OUTPUT_PARTS = {"gen_ai.usage.reasoning.output_tokens": ("reasoning", "reasoning_tokens")}
_PARAMETERS = {
    "temperature": ("ls_temperature", "temperature"),
    "max_tokens": ("ls_max_tokens", "max_tokens", "max_completion_tokens"),
    "top_p": ("top_p",),
    "seed": ("seed",),
    "stream": ("stream",),
    "choice.count": ("n",),
    "stop_sequences": ("ls_stop", "stop"),
}


def model_call(run: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes of a model call, absent ones as None."""
    outputs, metadata = object_in(run, "outputs"), metadata_of(run)
    invocation = object_in(object_in(run, "extra"), "invocation_params")
    inputs = object_in(run, "inputs")
    message = next(_messages(outputs), {})
    answered = object_in(message, "response_metadata")
    kind = metadata.get("ls_model_type")
    asked = (metadata, invocation, inputs)
    return {
        "gen_ai.operation.name": {"chat": "chat", "llm": "text_completion"}.get(str(kind)),
        "gen_ai.provider.name": metadata.get("ls_provider"),
        "gen_ai.request.model": _first(asked, "ls_model_name", "model", "model_name"),
        "gen_ai.response.id": _first((outputs, answered), "id"),
        "gen_ai.response.model": _first((outputs, answered), "model", "model_name"),
        "gen_ai.response.finish_reasons": _finish_reasons(outputs, answered),
        "gen_ai.usage.cost": _first((run, usage_of(run)), "total_cost"),
        **{f"gen_ai.request.{name}": _first(asked, *keys) for name, keys in _PARAMETERS.items()},
        **_counts(usage_of(run)),
    }


def usage_of(run: Mapping[str, Json]) -> Mapping[str, Json]:
    """The first usage that a run has; its own counts where no answer in it tells one."""
    outputs = object_in(run, "outputs")
    llm_output = object_in(outputs, "llm_output")
    places = (
        (outputs, "usage_metadata"),
        (metadata_of(run), "usage_metadata"),
        *((message, "usage_metadata") for message in _messages(outputs)),
        (outputs, "usage"),
        (llm_output, "token_usage"),
        (llm_output, "usage"),
    )
    found = (object_in(holder, key) for holder, key in places)
    return next((usage for usage in found if usage), run)


def metadata_of(run: Mapping[str, Json]) -> dict[str, Json]:
    """What the application and the client said about the run."""
    return object_in(object_in(run, "extra"), "metadata")


def object_in(holder: Mapping[str, Json], key: str) -> dict[str, Json]:
    """The object under a key; an empty one where there is none."""
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _counts(usage: Mapping[str, Json]) -> dict[str, Json]:
    of_input = next((object_in(usage, key) for key in _INPUT_DETAILS if usage.get(key)), {})
    of_output = next((object_in(usage, key) for key in _OUTPUT_DETAILS if usage.get(key)), {})
    return {
        **{name: _first((usage,), *keys) for name, keys in _USAGE.items()},
        **{name: _first((of_input,), *keys) for name, keys in _INPUT_PARTS.items()},
        **{name: _first((of_output,), *keys) for name, keys in _OUTPUT_PARTS.items()},
    }


def _messages(outputs: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """The messages of an answer of LangChain, in whichever way they were written down."""
    generations = outputs.get("generations")
    for listed in generations if isinstance(generations, list) else []:
        for generation in listed if isinstance(listed, list) else [listed]:
            message = object_in(generation, "message") if isinstance(generation, dict) else {}
            yield object_in(message, "kwargs") or object_in(message, "data") or message


def _finish_reasons(outputs: Mapping[str, Json], answered: Mapping[str, Json]) -> Json:
    choices = outputs.get("choices")
    if isinstance(choices, list):
        reasons = [record_of(choice).get("finish_reason") for choice in choices]
        return [reason for reason in reasons if reason is not None] or None
    return _first((answered, outputs), "finish_reason", "stop_reason")


def _first(holders: tuple[Mapping[str, Json], ...], *keys: str) -> Any:
    """The value of the first key that one of the holders has."""
    values = (holder.get(key) for holder in holders for key in keys)
    return next((value for value in values if value is not None), None)

"""Why the tokens of a call are not known, in words.

Owns the sentence that a call without usage is kept with. Refuses to estimate a count.
"""

ASK_FOR_USAGE = "ask for stream_options.include_usage"
STREAM_WITHOUT_USAGE = f"stream without usage; {ASK_FOR_USAGE}"
TOLD_TOGETHER = "the run tells them together"
"""In the note of a call whose tokens stand in a line that is not itemised: nothing is counted."""
_FIRST_ERROR = 400


def missing_note(
    input_tokens: int | None,
    output_tokens: int | None,
    *,
    status: str,
    http_status: int | None,
    is_stream: bool,
    operation: str,
) -> str | None:
    """What is missing and why; None where both counts are known. Embeddings have no output."""
    is_output_missing = output_tokens is None and operation != "embeddings"
    if input_tokens is not None and not is_output_missing:
        return None
    is_http_error = (http_status or 0) >= _FIRST_ERROR
    if is_stream and is_output_missing and status == "ok" and not is_http_error:
        return STREAM_WITHOUT_USAGE
    ended = [status] if status != "ok" else []
    ended += [f"HTTP {http_status}"] if is_http_error else []
    what = ["input"] if input_tokens is None else []
    what += ["output"] if is_output_missing else []
    reason = f"{', '.join(ended)} without usage" if ended else "no usage reported"
    return f"{reason}: {' and '.join(what)} tokens are unknown"

-- The views that the chosen calls were joined from, as in call_views_by_age.
update call_views
set
    trace_id = null,
    span_id = null,
    parent_span_id = null,
    conversation_id = null,
    user_id = null,
    prompt_hash = null,
    input_hash = null,
    output_hash = null,
    tools_hash = null,
    prefix_hashes = null,
    volatile_spans = null,
    stable_prefix_hashes = null,
    sentence_hashes = null,
    stop = null,
    response_format = null,
    digest = 'purged'
where
    call_id in (select call_id from chosen_calls)
    or counted_as in (select call_id from chosen_calls);

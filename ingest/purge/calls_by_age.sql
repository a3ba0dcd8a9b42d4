-- Calls older than $before keep times, tokens, charges and cohort, which reports are made of, and
-- lose what says whose they were. The digest stands above every real one, so that the same record
-- delivered again is a duplicate and brings nothing back. prefix_block_tokens and seed say nothing
-- of anybody.
update call_rows
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
where digest <> 'purged' and rowid in (
    select r.rowid
    from call_rows as r
    left join deliveries as d on r.delivery_id = d.delivery_id
    where
        coalesce(r.ended_at, r.first_token_at, r.started_at, r.arrived_at, d.delivered_at, 0)
        < $before
);

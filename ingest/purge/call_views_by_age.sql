-- The views that calls older than $before were joined from, as in calls_by_age. The provider's id
-- of the answer stays, and by it the same call is known when it is told again.
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
where digest <> 'purged' and rowid in (
    select r.rowid
    from call_views as r
    left join deliveries as d on r.delivery_id = d.delivery_id
    where
        coalesce(r.ended_at, r.first_token_at, r.started_at, r.arrived_at, d.delivered_at, 0)
        < $before
);

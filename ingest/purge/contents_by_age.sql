-- Prompts and completions of calls that are older than $before (nanoseconds since 1970). A call
-- that tells no time is as old as its delivery; a text without a call is old.
delete from contents
where call_id not in (
    select r.call_id
    from call_rows as r
    left join deliveries as d on r.delivery_id = d.delivery_id
    where
        coalesce(r.ended_at, r.first_token_at, r.started_at, r.arrived_at, d.delivered_at)
        >= $before
);

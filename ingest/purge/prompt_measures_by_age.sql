-- What was measured of prompts of calls, and of views, that are older than $before, as in
-- calls_by_age: hashes say whose a prompt was.
delete from prompt_measures
where call_id in (
    select r.call_id
    from call_rows as r
    left join deliveries as d on r.delivery_id = d.delivery_id
    where
        coalesce(r.ended_at, r.first_token_at, r.started_at, r.arrived_at, d.delivered_at, 0)
        < $before
    union all
    select v.call_id
    from call_views as v
    left join deliveries as d on v.delivery_id = d.delivery_id
    where
        coalesce(v.ended_at, v.first_token_at, v.started_at, v.arrived_at, d.delivered_at, 0)
        < $before
);

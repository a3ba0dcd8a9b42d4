-- Rows of tool_runs that ended before $before; one that tells no time is as old as its delivery.
delete from tool_runs
where rowid in (
    select r.rowid
    from tool_runs as r
    left join deliveries as d on r.delivery_id = d.delivery_id
    where coalesce(r.ended_at, r.started_at, d.delivered_at, 0) < $before
);

-- Spans of traces whose last span ended before $before. A trace goes as a whole: calls are derived
-- from all its spans.
delete from spans
where trace_id in (
    select s.trace_id
    from spans as s
    left join deliveries as d on s.delivery_id = d.delivery_id
    group by s.trace_id
    having coalesce(max(coalesce(s.ended_at, s.started_at, d.delivered_at)), 0) < $before
);

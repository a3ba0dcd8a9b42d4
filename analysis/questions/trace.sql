-- name: trace
-- question: Which spans make up a trace?
-- grain: one span
-- unit: instants in nanoseconds since 1970
-- params: $trace_id is the trace; null, and there is no row
-- nulls: an instant is null where the span does not tell it
-- identity: joined with its calls, every call of the trace is at one span or a row of its own
select
    s.span_id,
    s.parent_span_id,
    s.name,
    s.service,
    s.status,
    s.started_at,
    s.ended_at,
    case
        when t.span_id is not null then 'tool'
        when r.span_id is not null then 'retrieval'
        else 'span'
    end as kind
from spans as s
left join tool_runs as t on s.trace_id = t.trace_id and s.span_id = t.span_id
left join retrievals as r on s.trace_id = r.trace_id and s.span_id = r.span_id
where s.trace_id = $trace_id
order by s.started_at nulls last, s.span_id

-- name: critical_path
-- question: Which spans are there, under which others, and from when to when?
-- grain: a span of a part of the traces
-- unit: instants in nanoseconds since 1970; keys are whole numbers for ids
-- params: $part_no and $part_count choose the traces whose key leaves that rest
-- nulls: parent_key where the span has no parent; ended_at where the end is not told, or before the
--   begin; service_key where no service is
-- identity: each span is in one part, once
select
    key_of(trace_id) as trace_key,
    key_of(span_id) as span_key,
    case when parent_span_id is not null then key_of(parent_span_id) end as parent_key,
    case when service is not null then key_of(service) end as service_key,
    started_at,
    case when ended_at >= started_at then ended_at end as ended_at,
    kind in ('client', 'producer') as is_request,
    kind = 'consumer' as is_consumer
from spans
where key_of(trace_id) % $part_count = $part_no
order by started_at, span_id

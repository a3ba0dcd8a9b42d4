-- name: calls_of_trace
-- question: Which calls has a trace, also where another view of them is innermost?
-- grain: one call and its span in this trace
-- unit: none
-- params: $trace_id is the trace
-- nulls: span_id is null where a record told the call
-- identity: a view of a call in this trace is there once
select
    r.call_id,
    r.span_id
from call_rows as r
where r.trace_id = $trace_id
union
select
    v.counted_as as call_id,
    v.span_id
from call_views as v
where v.trace_id = $trace_id
order by call_id, span_id

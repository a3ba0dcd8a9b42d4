-- All spans of the trace $trace_id, in the columns of traces_read.
select
    trace_id,
    span_id,
    parent_span_id,
    name,
    kind,
    started_at,
    ended_at,
    status,
    status_message,
    service,
    scope,
    attributes,
    resource,
    events
from spans
where trace_id = $trace_id
order by span_id;

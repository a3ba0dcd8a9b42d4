-- The spans of one chunk, trace by trace; the join prunes by row number.
with chunk as (
    select row_no from touched_spans
    where chunk_no = $chunk_no
)

select
    s.trace_id,
    s.span_id,
    s.parent_span_id,
    s.name,
    s.kind,
    s.started_at,
    s.ended_at,
    s.status,
    s.status_message,
    s.service,
    s.scope,
    s.attributes,
    s.resource,
    s.events
from spans as s
inner join chunk as c on s.rowid = c.row_no
order by s.trace_id, s.span_id;

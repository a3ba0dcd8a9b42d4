-- The call $call_id and, where several views were joined into it, each of them: where its span is.
select
    r.trace_id,
    r.span_id
from call_rows as r
where r.call_id = $call_id
union
select
    v.trace_id,
    v.span_id
from call_views as v
where v.counted_as = $call_id;

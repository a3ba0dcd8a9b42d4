-- Groups of views that this delivery may change: one of their views is told anew, or its trace is.
create or replace temp table broken_groups as
select distinct v.counted_as as call_id
from call_views as v
where
    v.call_id in (select call_id from staged_calls)
    or v.trace_id in (select trace_id from touched_traces);

-- The calls of the chosen traces and of $users, also where only a view of theirs names them.
create or replace temp table chosen_calls as
select call_id
from call_rows
where
    trace_id in (select trace_id from chosen_traces)
    or user_id in (select unnest($users))
union
select counted_as as call_id
from call_views
where
    trace_id in (select trace_id from chosen_traces)
    or user_id in (select unnest($users));

-- Where the linking of views notes what it does: calls to be charged again, views set free.
create or replace temp table relinked_calls as
select
    cohort_id,
    replica,
    arrived_at,
    started_at,
    ended_at
from call_rows
where false;

create or replace temp table restored_calls as
select call_id from call_rows
where false;

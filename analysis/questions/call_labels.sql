-- name: call_labels
-- question: Whose are these calls?
-- grain: one call
-- unit: temperature as sent
-- params: $call_nos are the numbers of the calls
-- nulls: a column is null where it is not known
-- identity: as many rows as numbers
with choice as (
    select explode($call_nos) as call_no
)

select
    r.call_no,
    r.call_id,
    r.trace_id,
    r.endpoint,
    r.team,
    r.tenant,
    r.model,
    r.operation,
    r.temperature,
    r.seed
from calls as r
inner join choice as c on r.call_no = c.call_no
order by r.call_no

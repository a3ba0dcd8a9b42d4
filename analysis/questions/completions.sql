-- name: completions
-- question: What did these calls answer, where texts are stored?
-- grain: a call with a stored answer
-- unit: none; texts as they are stored
-- params: $call_ids are the calls
-- nulls: none
-- identity: at most one row a call
with wanted as (
    select explode($call_ids) as call_id
)

select
    t.call_id,
    t.completion
from contents as t
inner join wanted as w on t.call_id = w.call_id
where t.completion is not null
order by t.call_id

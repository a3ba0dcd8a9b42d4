-- name: estimated_end
-- question: When does the last call end whose end is estimated?
-- grain: the ledger
-- unit: nanoseconds since 1970
-- params: $origin is the origin of the calls
-- nulls: null where every charged call tells its end
-- identity: no charge of the origin lies after this end and the last one that was observed

-- timed_calls are the calls as they are charged, with their estimates.
select max(t.ended_at) as last_at
from timed_calls as t
inner join cohorts as c on t.cohort_id = c.cohort_id
where t.observed_ended_at is null and c.origin = $origin

-- name: extent
-- question: From when to when does the ledger tell of calls?
-- grain: the ledger
-- unit: first_at and last_at in nanoseconds since 1970, call_count in calls
-- params: none
-- nulls: null where no call has such an instant
-- identity: first_at is the first service start, last_at the last end that was observed; a call
--   whose times contradict each other is counted and moves neither

-- Without a group, in one pass.
with placed as (
    select
        case
            when c.cohort_id is null then coalesce(r.started_at, r.arrived_at, r.ended_at)
        end as first_at,
        case
            when c.cohort_id is null
                then coalesce(r.ended_at, r.first_token_at, r.started_at, r.arrived_at)
        end as last_at
    from call_rows as r
    left join cohorts as c on r.cohort_id = c.cohort_id and c.timing_quality = 'invalid'
)

select
    min(first_at) as first_at,
    max(last_at) as last_at,
    count(*) as call_count
from placed

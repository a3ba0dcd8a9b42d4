-- name: extent_by_origin
-- question: From when to when does the ledger tell of the calls of each origin?
-- grain: one origin
-- unit: nanoseconds since 1970
-- params: none
-- nulls: null where no call has such an instant
-- identity: first_at is the first service start, last_at the last end that was observed; a call
--   whose times contradict each other is counted and moves neither
with by_cohort as (
    select
        cohort_id,
        min(coalesce(started_at, arrived_at, ended_at)) as first_at,
        max(coalesce(ended_at, first_token_at, started_at, arrived_at)) as last_at,
        count(*) as call_count
    from call_rows
    group by cohort_id
)

select
    c.origin,
    min(case when c.timing_quality <> 'invalid' then b.first_at end) as first_at,
    max(case when c.timing_quality <> 'invalid' then b.last_at end) as last_at,
    cast(sum(b.call_count) as bigint) as call_count
from by_cohort as b
inner join cohorts as c on b.cohort_id = c.cohort_id
group by c.origin
order by c.origin

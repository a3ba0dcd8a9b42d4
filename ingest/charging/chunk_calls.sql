-- What lies in [$since, $until) of the calls on one of chunk_lanes. The first branch is pruned by
-- the observed instants; the second is for calls that lack one of them.
with in_window as (
    select *
    from timed_calls
    where
        observed_started_at < $until
        and observed_ended_at >= $since
        and (observed_ended_at > $since or observed_started_at = $since)
    union all
    select *
    from timed_calls
    where
        (observed_started_at is null or observed_ended_at is null)
        and started_at < $until
        and ended_at >= $since
        and (ended_at > $since or started_at = $since)
)

select
    w.call_no,
    w.cohort_id,
    l.lane,
    greatest(w.started_at, $since) as started_at,
    least(greatest(w.first_token_at, $since), $until) as first_token_at,
    least(w.ended_at, $until) as ended_at
from in_window as w
inner join chunk_lanes as l on w.pool = l.pool and w.replica is not distinct from l.replica;

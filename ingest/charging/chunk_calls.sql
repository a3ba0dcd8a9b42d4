-- What lies in [$since, $until) of the calls on one of chunk_lanes. The first two branches are
-- pruned by the observed instants; the third is for calls that are laid out from their arrival.
with near_window as (
    select *
    from timed_calls
    where observed_started_at < $until and observed_ended_at >= $since
    union all
    select *
    from timed_calls
    where
        observed_started_at is null
        and observed_arrived_at < $until
        and observed_ended_at >= $since
    union all
    select *
    from timed_calls
    where observed_ended_at is null and started_at < $until and ended_at >= $since
)

select
    w.call_no,
    w.cohort_id,
    l.lane,
    greatest(w.started_at, $since) as started_at,
    least(greatest(w.first_token_at, $since), $until) as first_token_at,
    least(w.ended_at, $until) as ended_at,
    w.choices
from near_window as w
inner join chunk_lanes as l on w.pool = l.pool and w.replica is not distinct from l.replica
where w.ended_at > $since or w.started_at = $since;

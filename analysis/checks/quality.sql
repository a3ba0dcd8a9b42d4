-- name: quality
-- question: How many calls are not fully known, and in which way?
-- grain: one way of not being known
-- unit: calls
-- params: none
-- nulls: none
-- identity: none is lost: every one of these calls is a row of calls
with ways as (
    select
        'times contradict each other' as way,
        count(*) as call_count
    from calls
    where
        timing_quality = 'invalid'
        and not is_beyond(arrived_at, started_at, first_token_at, ended_at)
    union all
    select
        'times outside of the years 1823 to 2116' as way,
        count(*) as call_count
    from calls
    where is_beyond(arrived_at, started_at, first_token_at, ended_at)
    union all
    select
        'no place in time' as way,
        count(*) as call_count
    from calls
    where
        coalesce(started_at, arrived_at, ended_at) is null
        -- an end alone places a call whose length is estimated, not one that a span measured
        or (pool is not null and timing_quality = 'unknown' and timing_source <> 'tokens')
    union all
    select
        'phases are estimated' as way,
        count(*) as call_count
    from calls
    where pool is not null and timing_source in ('span', 'tokens')
    union all
    select
        'input or output tokens not known' as way,
        count(*) as call_count
    from calls
    where input_tokens is null or output_tokens is null
    union all
    select
        'cached tokens above the prompt or below 0, not believed' as way,
        count(*) as call_count
    from calls
    where
        tokens_note like '%cached tokens exceed the prompt of%'
        or tokens_note like '%cache\_read % is no count%' escape '\'
    union all
    select
        'a token count that one span gives several times' as way,
        count(*) as call_count
    from calls
    where tokens_note like '% is there several times, its last value counts%'
    union all
    select
        'endpoint not known' as way,
        count(*) as call_count
    from calls
    where endpoint is null
    union all
    select
        'joined by resemblance, not by an id' as way,
        count(*) as call_count
    from calls
    where pairing = 'probable'
)

select
    way,
    call_count
from ways
order by call_count desc, way asc

-- name: unpriced
-- question: Which calls have no price, or none for a part of them, and why?
-- grain: model and reason
-- unit: calls
-- params: none
-- nulls: model is null where it is not known
-- identity: summed it is the calls of ask calls that are not priced, or partly
with priced as (
    select
        h.call_no,
        max(p.price_per_gpu_hour) as price_per_gpu_hour,
        count(p.price_per_gpu_hour) < count(*) as is_unpriced
    from charges as h
    inner join pools as p on h.rate_id = p.rate_id
    group by h.call_no
)

select
    c.model,
    case
        when p.price_per_gpu_hour is not null then 'its pool has no price for a part of its time'
        when p.call_no is not null then 'its pool has no price'
        when
            c.pool is not null
            and is_beyond(c.arrived_at, c.started_at, c.first_token_at, c.ended_at)
            then 'its times lie outside of the years 1823 to 2116'
        when c.pool is not null and c.timing_quality = 'invalid'
            then 'its times contradict each other'
        when coalesce(c.started_at, c.arrived_at, c.ended_at) is null
            then 'its times are not known'
        when c.input_tokens is null then 'its input tokens are not known'
        when c.output_tokens is null and c.operation <> 'embeddings'
            then 'its output tokens are not known'
        when c.pool is not null then 'its times are not known'
        else 'no pool and no price by the token'
    end as reason,
    count(*) as call_count
from calls as c
left join priced as p on c.call_no = p.call_no
left join token_charges as t on c.call_no = t.call_no
where
    t.call_no is null
    and (p.price_per_gpu_hour is null or p.is_unpriced)
group by
    c.model,
    case
        when p.price_per_gpu_hour is not null then 'its pool has no price for a part of its time'
        when p.call_no is not null then 'its pool has no price'
        when
            c.pool is not null
            and is_beyond(c.arrived_at, c.started_at, c.first_token_at, c.ended_at)
            then 'its times lie outside of the years 1823 to 2116'
        when c.pool is not null and c.timing_quality = 'invalid'
            then 'its times contradict each other'
        when coalesce(c.started_at, c.arrived_at, c.ended_at) is null
            then 'its times are not known'
        when c.input_tokens is null then 'its input tokens are not known'
        when c.output_tokens is null and c.operation <> 'embeddings'
            then 'its output tokens are not known'
        when c.pool is not null then 'its times are not known'
        else 'no pool and no price by the token'
    end
order by call_count desc, c.model asc nulls last, reason asc

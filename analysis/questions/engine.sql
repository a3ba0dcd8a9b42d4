-- name: engine
-- question: How busy is each engine by its own count: batch, queue, cache, tokens, preemptions?
-- grain: a place (an engine that is scraped), a quarter-hour and a metric
-- unit: level_s in the metric's unit times s; known_s, active_s and grown_s in s; growth in the
--   metric's unit
-- params: $series_ids and $place_numbers say which series are of which place; $silent_ids,
--   $silent_since and $silent_until of which series a stretch is not read, as another way brings
--   the same; $since and $until in nanoseconds or null; $longest_step_ns is how long a gauge is
--   taken for what it was
-- nulls: none; a metric that is not told has no row
-- identity: level_s / known_s is the mean of a gauge over time; growth, summed, is what a counter
--   grew by between its first and its last sample, restarts included

-- A gauge is what it was until its next sample. Series of one place that are sampled together, such
-- as those of data-parallel ranks, are added up; a share of a cache is averaged.
with steps as (
    select
        p.value as place_number,
        s.metric,
        t.since,
        t.until,
        case when s.metric = 'kv_use_ratio' then avg(t.level) else sum(t.level) end as level,
        sum(t.increase) as increase,
        max(case when t.is_reset then 1 else 0 end) as is_reset
    from engine_steps as t
    inner join engine_series as s on t.series_id = s.series_id
    inner join pairs($series_ids, $place_numbers) as p on t.series_id = p.key
    left join pairs($silent_ids, $silent_since) as a on t.series_id = a.key
    left join pairs($silent_ids, $silent_until) as b on t.series_id = b.key
    where
        ($since is null or t.until > $since)
        and ($until is null or t.since < $until)
        and t.until > t.since
        and is_among(t.series_id, $series_ids)
        and (a.key is null or t.until <= a.value or t.since >= b.value)
    group by p.value, s.metric, t.since, t.until
),

known_steps as (
    select
        *,
        quarter_of(since) as first_quarter,
        quarter_of(until - 1) as last_quarter
    from steps
    where increase is not null or (level is not null and until - since <= $longest_step_ns)
),

quarters as (
    select
        *,
        first_quarter as quarter
    from known_steps
    where first_quarter = last_quarter
    union all
    select
        *,
        explode(sequence(first_quarter, last_quarter)) as quarter
    from known_steps
    where first_quarter < last_quarter
),

pieces as (
    select
        *,
        cast(quarter as bigint) * 900000000000 as begins_at,
        (cast(quarter as bigint) + 1) * 900000000000 as ends_at
    from quarters
),

cut as (
    select
        place_number,
        quarter,
        metric,
        level,
        increase,
        until - since as lasts,
        case when until <= ends_at then is_reset else 0 end as resets,
        (
            least(until, ends_at, coalesce($until, until))
            - greatest(since, begins_at, coalesce($since, since))
        ) / 1e9 as seconds
    from pieces
)

select
    place_number,
    quarter,
    metric,
    coalesce(sum(level * seconds), 0e0) as level_s,
    coalesce(sum(case when level is not null then seconds end), 0e0) as known_s,
    coalesce(sum(case when level > 0 then seconds end), 0e0) as active_s,
    count(case when level > 0 then 1 end) as active_count,
    max(level) as peak,
    coalesce(sum(increase * seconds / (lasts / 1e9)), 0e0) as growth,
    coalesce(sum(case when increase is not null then seconds end), 0e0) as grown_s,
    cast(sum(resets) as bigint) as reset_count
from cut
where seconds > 0
group by place_number, quarter, metric
order by place_number, quarter, metric

-- What inference engines say of themselves: batch, queue, cache, tokens, preemptions.

-- One series: a metric of an engine under one set of labels.
create table engine_series (
    series_id integer primary key,
    engine varchar not null,              -- vllm, sglang, llama.cpp
    metric varchar not null,              -- in the ledger's words: running_calls, ...
    kind varchar not null,                -- gauge, counter, delta: a growth by itself
    name varchar not null,                -- as the engine exposes it
    name_rank integer not null,           -- of several names of a metric the lowest is read
    model varchar,
    instance varchar,                     -- the replica, as the scrape names it
    pool_reported varchar,
    labels varchar not null,              -- one JSON object
    digest varchar not null               -- of the columns above but rank
);

-- One value. A series has one at an instant: of two that differ the larger is kept.
create table engine_samples (
    series_id integer not null,
    sampled_at bigint not null,
    began_at bigint,                      -- since when a counter counts; null: not told
    value double,                         -- null: the engine said NaN or infinity
    delivery_id bigint not null
);

-- Values of a delivery that were sound and that no question reads.
alter table deliveries add column ignored_count bigint default 0;

-- From one sample of a series to the next: what a gauge was meanwhile, by how much a counter grew.
-- A counter that is smaller than before, or that began after the sample before, began again at 0:
-- its growth is its value. The growth before the first sample is not known, nor is what a gauge was
-- after it was NaN.
create view engine_steps as
with known as (
    select
        n.series_id,
        n.sampled_at,
        n.value,
        n.began_at,
        s.kind,
        lag(n.sampled_at) over (partition by n.series_id order by n.sampled_at) as previous_at,
        lag(n.value) over (partition by n.series_id order by n.sampled_at) as previous_value
    from engine_samples as n
    inner join engine_series as s on n.series_id = s.series_id
    where n.value is not null or s.kind = 'gauge'
),

judged as (
    select
        *,
        case
            when kind = 'counter' and previous_at is not null
                then value < previous_value or coalesce(began_at > previous_at, false)
        end as is_reset,
        case
            when kind = 'delta' then greatest(coalesce(began_at, previous_at, sampled_at), 0)
            else previous_at
        end as since
    from known
)

select
    series_id,
    since,
    sampled_at as until,
    case when kind = 'gauge' then previous_value end as level,
    case
        when kind = 'delta' then value
        when is_reset then value
        when kind = 'counter' then value - previous_value
    end as increase,
    is_reset
from judged
where since is not null;

-- The cohorts whose calls are charged by GPU-seconds, each with the pace of its estimates: that of
-- its pool and model, else of its pool, else the default.
create or replace temp table charged_cohorts as
select
    c.cohort_id,
    c.pool,
    c.timing_source,
    coalesce(m.prefill_s_per_token, p.prefill_s_per_token, $prefill_s_per_token)
        as prefill_s_per_token,
    coalesce(m.decode_s_per_token, p.decode_s_per_token, $decode_s_per_token)
        as decode_s_per_token,
    coalesce(m.prefill_ratio, p.prefill_ratio, $prefill_ratio) as prefill_ratio
from cohorts as c
left join paces as m on c.pool = m.pool and c.model = m.model
left join paces as p on c.pool = p.pool and p.model is null
where
    c.pool is not null
    and (
        c.timing_quality = 'ok'
        or (c.timing_quality = 'unknown' and c.timing_source = 'tokens')
    );

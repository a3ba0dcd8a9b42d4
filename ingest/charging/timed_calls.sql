-- Every call that is charged by GPU-seconds with its time in service and its first token, observed
-- or else estimated (ingest/charging/estimates.py says how). A call of which nothing came out is
-- prefill throughout, and so is one of a token a choice that nobody saw come; a duration that
-- counts would make longer than a year is no estimate. A call that the server refused (HTTP 429)
-- was in no service: it stands at its arrival, 0 s long. An end that is estimated is not before a
-- first token that was observed, and no phase is negative. A call that does not say how many
-- choices it asks for has one; several decode side by side. The observed_* columns are those that
-- prune a scan.
create or replace temp view timed_calls as
with paced as (
    select
        r.call_no,
        r.cohort_id,
        c.pool,
        r.replica,
        r.arrived_at as observed_arrived_at,
        r.started_at as observed_started_at,
        r.first_token_at as observed_first_token_at,
        r.ended_at as observed_ended_at,
        coalesce(r.started_at, r.arrived_at) as started_at,
        r.input_tokens,
        r.output_tokens,
        greatest(coalesce(r.n_choices, 1), 1) as choices,
        r.http_status = 429
        and r.started_at is null
        and r.first_token_at is null
        and coalesce(r.output_tokens, 0) = 0 as is_refused,
        c.timing_source,
        c.prefill_ratio,
        c.prefill_s_per_token * r.uncached_input_tokens as prefill_s,
        c.decode_s_per_token * case
            when r.output_tokens <= greatest(coalesce(r.n_choices, 1), 1) then 0
            else r.output_tokens / greatest(coalesce(r.n_choices, 1), 1)
        end as decode_s
    from call_rows as r
    inner join charged_cohorts as c on r.cohort_id = c.cohort_id
),

placed as (
    select
        *,
        case
            when is_refused then started_at
            when observed_ended_at is not null then observed_ended_at
            when prefill_s + decode_s < 365 * 86400
                then greatest(
                    started_at + cast(round(1e9 * (prefill_s + decode_s)) as bigint),
                    observed_first_token_at
                )
        end as ended_at
    from paced
)

select
    call_no,
    cohort_id,
    pool,
    replica,
    observed_arrived_at,
    observed_started_at,
    observed_first_token_at,
    observed_ended_at,
    started_at,
    case
        when output_tokens = 0 then ended_at
        when observed_first_token_at is not null then observed_first_token_at
        when output_tokens <= choices then ended_at
        when output_tokens is null and timing_source in ('engine', 'stream') then ended_at
        else started_at + cast(round(
            (ended_at - started_at)
            * coalesce(prefill_s / nullif(prefill_s + decode_s, 0), prefill_ratio)
        ) as bigint)
    end as first_token_at,
    ended_at,
    choices,
    input_tokens,
    output_tokens
from placed
where
    ended_at >= started_at
    and (
        observed_first_token_at is null
        or observed_first_token_at between started_at and ended_at
    );

-- name: priced_tokens
-- question: What did the tokens of each cohort cost that are priced by the token?
-- grain: a cohort and a currency
-- unit: calls; tokens; billionths of the currency
-- params: $since and $until in nanoseconds or null, half-open, of the begin of service
-- nulls: none
-- identity: input_billionths + output_billionths is the cost of these calls

-- The table told_costs has the calls whose cost tells its output apart; all else is of the input.
select
    t.cohort_id,
    t.currency,
    count(*) as call_count,
    cast(sum(r.input_tokens) as bigint) as input_tokens,
    cast(sum(r.output_tokens) as bigint) as output_tokens,
    cast(sum(whole(t.cost_billionths - t.output_billionths)) as bigint) as input_billionths,
    cast(sum(whole(t.output_billionths)) as bigint) as output_billionths
from told_costs as t
inner join call_rows as r on t.call_no = r.call_no
where
    r.input_tokens is not null
    and r.output_tokens is not null
    and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
group by t.cohort_id, t.currency
order by t.cohort_id, t.currency

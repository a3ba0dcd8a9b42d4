-- The ledger, version 7: calls that are not paid by their tokens, which are answers out of a
-- gateway's cache and calls that a flat plan pays.

-- A gateway gave an answer that it had kept: no model ran.
alter table call_rows add column is_cache_hit boolean;
alter table call_views add column is_cache_hit boolean;

-- Of a call that a plan pays, token_cost is its share of the plan's price, and listed_cost what it
-- would cost by the token; of an answer out of a cache they are 0, and what it avoided.
alter table token_charges add column plan varchar;          -- null: no plan pays the call
alter table token_charges add column plan_since bigint;     -- the stretch of plan_months

-- A plan over one stretch of a month in which it has one price and covers calls.
create table plan_months (
    plan varchar not null,
    month varchar not null,               -- YYYY-MM in the configured time zone
    since bigint not null,
    until bigint not null,
    amount decimal(18, 9) not null,       -- what the plan costs in this stretch
    currency varchar not null,
    call_count bigint not null,           -- calls that it covers
    unlisted_count bigint not null,       -- of them without a list price, hence without a share
    listed_cost decimal(38, 9)            -- what the others would cost by the token
);

create or replace view calls as
select
    r.call_no,
    r.call_id,
    r.trace_id,
    r.span_id,
    r.parent_span_id,
    r.conversation_id,
    c.origin,
    r.delivery_id,
    c.endpoint,
    c.endpoint_source,
    c.feature,
    c.team,
    c.tenant,
    r.user_id,
    c.service,
    c.environment,
    c.region,
    c.operation,
    c.provider,
    c.model_requested,
    c.model,
    c.pool,
    c.pool_reported,
    r.replica,
    c.adapter,
    r.arrived_at,
    r.started_at,
    r.first_token_at,
    r.ended_at,
    c.timing_source,
    c.timing_quality,
    r.uncached_input_tokens,
    r.cache_read_tokens,
    r.cache_write_tokens,
    r.visible_output_tokens,
    r.reasoning_tokens,
    r.input_tokens,
    r.output_tokens,
    r.reported_input_tokens,
    r.reported_output_tokens,
    r.reported_total_tokens,
    c.tokens_source,
    r.tokens_note,
    r.system_tokens,
    r.tools_tokens,
    r.examples_tokens,
    r.context_tokens,
    r.history_tokens,
    r.user_tokens,
    r.max_tokens,
    r.temperature,
    r.top_p,
    r.seed,
    r.stream,
    r.stop,
    r.response_format,
    r.n_choices,
    c.status,
    r.error_type,
    r.http_status,
    r.finish_reason,
    r.attempt,
    r.retry_of,
    r.prompt_hash,
    r.input_hash,
    r.output_hash,
    r.prefix_hashes,
    r.prefix_block_tokens,
    r.reported_cost,
    r.reported_currency,
    c.pairing,
    c.scenario,
    c.arm,
    r.cohort_id,
    r.response_id,
    r.tools_hash,
    r.is_cache_hit
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id;

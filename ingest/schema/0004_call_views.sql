-- The ledger, version 4: one call that several traces or logs tell is one row of calls.
--
-- Views of one call inside a trace are joined when the trace is derived. Others are found by the
-- id of the response, or by resemblance, once both are in the ledger; a later delivery may part
-- them again, so each view is kept as it was told.
alter table call_rows add column response_id varchar;   -- the provider's id of the answer

-- One view of a call that several told. The call itself, in call_rows, has the call_id of its
-- innermost view, which is `counted_as`; `rule` is 'response_id' or 'probable'. The other columns
-- are those of call_rows, of the view alone; cohort_digest names its combination in cohorts.
create table call_views as
with view_columns as (
    select * exclude (call_no, cohort_id, input_tokens, output_tokens) from call_rows
)

select
    *,
    cast(null as varchar) as cohort_digest,
    cast(null as varchar) as counted_as,
    cast(null as varchar) as rule
from view_columns
where false;

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
    r.response_id
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id;

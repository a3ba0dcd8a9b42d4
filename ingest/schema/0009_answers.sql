-- The ledger, version 9: what answers are made of, measured while their text is there.
--
-- Of an answer in JSON each token is in one of preamble, key, value, syntax, blank and trailing,
-- which add up to answer_tokens; repeated keys are a part of the keys. Null: it is no such answer,
-- or was not measured. Of an answer in prose the first and the last sentences are known by hashes.
alter table call_rows add column answer_shape varchar;
alter table call_rows add column answer_tokens integer;
alter table call_rows add column preamble_tokens integer;
alter table call_rows add column json_key_tokens integer;
alter table call_rows add column json_repeated_key_tokens integer;
alter table call_rows add column json_key_count integer;
alter table call_rows add column json_value_tokens integer;
alter table call_rows add column json_syntax_tokens integer;
alter table call_rows add column json_blank_tokens integer;
alter table call_rows add column trailing_tokens integer;
alter table call_rows add column restated_tokens integer;
alter table call_rows add column sentence_hashes bigint[];
alter table call_rows add column sentence_lengths integer[];

alter table call_views add column answer_shape varchar;
alter table call_views add column answer_tokens integer;
alter table call_views add column preamble_tokens integer;
alter table call_views add column json_key_tokens integer;
alter table call_views add column json_repeated_key_tokens integer;
alter table call_views add column json_key_count integer;
alter table call_views add column json_value_tokens integer;
alter table call_views add column json_syntax_tokens integer;
alter table call_views add column json_blank_tokens integer;
alter table call_views add column trailing_tokens integer;
alter table call_views add column restated_tokens integer;
alter table call_views add column sentence_hashes bigint[];
alter table call_views add column sentence_lengths integer[];

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
    r.is_cache_hit,
    r.answer_shape,
    r.answer_tokens,
    r.preamble_tokens,
    r.json_key_tokens,
    r.json_repeated_key_tokens,
    r.json_key_count,
    r.json_value_tokens,
    r.json_syntax_tokens,
    r.json_blank_tokens,
    r.trailing_tokens,
    r.restated_tokens,
    r.sentence_hashes,
    r.sentence_lengths
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id;

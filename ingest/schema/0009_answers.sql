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

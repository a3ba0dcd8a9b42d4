-- Where in a prompt text stands that looks volatile, and the prefix hashes without it.
--
-- volatile_spans has three numbers a span, in order: its first token in the prompt, from 0; how
-- many tokens; and the kind (1 time, 2 id, 3 number, 4 user, 5 other value). stable_prefix_hashes
-- are those of the prompt without these tokens, from the block in which the first of them is; the
-- blocks before it are the first of prefix_hashes. Both are null where nothing looks volatile.
alter table call_rows add column volatile_spans bigint[];
alter table call_rows add column stable_prefix_hashes bigint[];
alter table call_views add column volatile_spans bigint[];
alter table call_views add column stable_prefix_hashes bigint[];

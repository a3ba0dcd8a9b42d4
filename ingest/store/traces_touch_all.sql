-- Every trace is to be derived again: the mapping has changed.
insert into touched_traces
select distinct trace_id from spans;

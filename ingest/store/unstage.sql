-- The delivery is in the ledger; what it waited in is not needed any more.
drop table staged_calls;
drop table staged_cohorts;
drop table staged_tool_runs;
drop table staged_retrievals;
drop table staged_samples;
drop table if exists sample_winners;
drop table touched_traces;
drop table touched_spans;
drop table touched_calls;
drop table span_winners;
drop table spoken_for;
drop table record_winners;
drop table leaving_calls;
drop table entering_calls;

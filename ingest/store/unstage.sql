-- The delivery is in the ledger; what it waited in is not needed any more.
drop table if exists staged_spans;
drop table if exists staged_calls;
drop table if exists staged_cohorts;
drop table if exists staged_tool_runs;
drop table if exists staged_retrievals;
drop table if exists touched_traces;
drop table if exists touched_spans;
drop table if exists touched_calls;
drop table if exists known_spans;
drop table if exists span_winners;
drop table if exists spoken_for;
drop table if exists record_winners;
drop table if exists leaving_calls;
drop table if exists entering_calls;

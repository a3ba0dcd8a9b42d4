-- Rows of tool_runs of the chosen traces.
delete from tool_runs
where trace_id in (select trace_id from chosen_traces);

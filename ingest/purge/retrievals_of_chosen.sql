-- Rows of retrievals of the chosen traces.
delete from retrievals
where trace_id in (select trace_id from chosen_traces);

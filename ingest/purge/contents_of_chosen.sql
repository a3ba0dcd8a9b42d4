-- Prompts and completions of the chosen calls.
delete from contents
where call_id in (select call_id from chosen_calls);

-- Prompts and completions of the chosen calls and of their views.
delete from contents
where
    call_id in (select call_id from chosen_calls)
    or call_id in (
        select v.call_id
        from call_views as v
        semi join chosen_calls as c on v.counted_as = c.call_id
    );

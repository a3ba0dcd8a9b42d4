-- One what-if run, before its first pass.
insert into scenarios (scenario, created_at, description)
values ($scenario, $created_at, $description)

-- One pass of a scenario, after its calls were delivered.
insert into replays (scenario, arm, pass_no, started_at, ended_at, result)
values ($scenario, $arm, $pass_no, $started_at, $ended_at, $result)

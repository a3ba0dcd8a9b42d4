-- Values of engine metrics from before $before; series stay, and what grew since is still known.
delete from engine_samples
where sampled_at < $before;

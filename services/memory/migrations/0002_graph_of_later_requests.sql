-- An entity or relation that a later request of its user stores as a whole becomes that request's: a deletion of what
-- the user did before leaves it, and it no longer names the run that stored it first.
grant update (acted_at, run_id) on memory.entities to memory_app;
grant update (acted_at, run_id) on memory.relations to memory_app;

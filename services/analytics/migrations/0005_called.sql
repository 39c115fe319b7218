-- Whether a provider was called for the run. One whose calls were all given up before they were sent is no request.
alter table analytics.traces add column called boolean;
update analytics.traces set called = true where ended_at is not null;

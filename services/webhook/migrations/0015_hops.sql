-- How often what a call was sent for had been sent on by a gateway: endpoints that call each other must stop.
alter table webhook.calls add column hops smallint not null default 0;

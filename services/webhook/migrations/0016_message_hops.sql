-- How often what a message answers had been sent on by a gateway: channels that answer each other must stop.
alter table webhook.channel_messages add column hops smallint not null default 0;
alter table webhook.channel_turns add column hops smallint not null default 0;

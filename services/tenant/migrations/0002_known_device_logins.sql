-- Whether the network of a program had logged in when the program began to wait. Those of both kinds have places of their own.
alter table tenant.device_logins add column is_known boolean not null default false;

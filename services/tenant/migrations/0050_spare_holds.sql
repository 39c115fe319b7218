-- The part of `amount` that a replica leased in advance, for requests that have not come. The rest is reserved.
alter table tenant.limit_holds add column spare numeric not null default 0
  constraint limit_holds_spare_check check (spare >= 0);

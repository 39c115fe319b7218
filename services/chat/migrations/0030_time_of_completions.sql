-- Deletions of users' data spare the calls that began after them.
alter table chat.completions add column created_at timestamptz not null default now();

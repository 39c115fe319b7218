-- Whether a tool was called that must not be called again: then the call is not worked on a second time.
alter table chat.completions add column acted boolean not null default false;

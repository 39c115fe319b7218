-- Version 0.3.0 has always stored how a session was opened.
alter table tenant.sessions alter column opened_by set not null;

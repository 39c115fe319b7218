-- A file is hidden while it is uploaded, and the provider's id is known at the end. A crash leaves a row by which the
-- provider's file is found.
alter table chat.files alter column provider_file_id drop not null;
grant update (provider_file_id, requests) on chat.files to chat_system;

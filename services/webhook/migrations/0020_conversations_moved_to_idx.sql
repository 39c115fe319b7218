create index conversations_moved_to_idx on webhook.conversations (moved_to) where moved_to is not null;

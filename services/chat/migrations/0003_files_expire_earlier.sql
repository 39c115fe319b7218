-- An upload with expires_after ends earlier than the tenant's texts.
grant update (expires_at) on chat.files to chat_app;

"""Programs for developers; nothing that is shipped imports them."""

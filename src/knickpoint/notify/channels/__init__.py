"""The channels: each carries messages to receivers of one kind, such as a mail server or a chat."""

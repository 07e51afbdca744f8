"""Machines of a network, each a network namespace of Linux, whose cables are pulled and whose power is cut."""

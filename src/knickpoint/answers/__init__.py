"""The objects that scripts and pages get of an instance, and how each is built from the store.

One module a resource.
"""

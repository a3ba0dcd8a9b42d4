"""The line of a record format for what several calls used together.

Owns its name. Refuses to share it out: the calls beside it keep unknown tokens.
"""

NOT_ITEMISED = "not_itemised"
"""The operation of a line that holds tokens or a cost that no single call tells."""

"""Where each lever would apply: one detection a lever, by number.

Owns what `gpuledger levers` says of a lever: whether it applies here, by which evidence, on which
calls, and what is missing to say so. Refuses to guess, and to price a claim.
"""

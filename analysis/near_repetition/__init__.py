"""Near repetition: questions that say the same in other words, and the guards against look-alikes.

Owns what two texts must share before the answer of one may serve the other. Refuses to trust
nearness of embeddings alone: "on" and "off" are nearer than most paraphrases.
"""

"""Two months of a small company's LLM traffic, made by a seeded generator, with its true totals.

Owns the generator, the files it wrote, and the manifest of totals that a reader must find.
Refuses to import the product: what is true here is computed here.
"""

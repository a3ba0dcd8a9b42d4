"""Tokens of texts, counted where nobody reported them; sections and prefix hashes of prompts."""

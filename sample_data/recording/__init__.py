"""One replay on the llama.cpp engine, as it was recorded; see README.md."""

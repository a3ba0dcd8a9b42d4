"""The files as exporters and request logs leave them; `sample_data.generate` writes them."""

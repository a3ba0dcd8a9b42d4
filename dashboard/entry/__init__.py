"""What `streamlit run` is given. It lies apart, so that nothing beside it shadows an import."""

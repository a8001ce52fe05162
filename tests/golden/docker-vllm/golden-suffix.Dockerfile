# golden-suffix, for Docker Compose 2.24 and later, vLLM 0.32. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; vLLM's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   sampling.max_tokens (dropped): a server can only cap all requests (the vLLM export has that choice,
#     cap_max_tokens); as a default it can only be sent with each request, as the request file does.
FROM vllm/vllm-openai:v0.32.0
RUN python3 -m pip install --no-cache-dir 'arctic-inference==0.1.1'

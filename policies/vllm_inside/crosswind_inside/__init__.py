"""What runs inside vLLM's own processes and environment: it imports the standard library, torch,
safetensors, vLLM and its starlette, nothing else of ours.
"""

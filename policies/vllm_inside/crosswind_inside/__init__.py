"""What runs inside vLLM's own processes and environment: it imports the standard library, torch, safetensors
and vLLM, nothing else of ours.
"""

"""HTTP tools behind a forward proxy (`crosswind http`): mitmproxy, with the core of the tool leg as an addon.

Two processes. `command.py` is ours: it starts mitmproxy (`proxy.py`) in an environment of its own
(`environment.py`), and the client's command with the variables that its HTTP stacks need
(`client_environment.py`). `inside.py` runs in mitmproxy's process: it adds our packages behind mitmproxy's
own and loads `addon.py`, so each call is decided where it passes, without asking another process.
"""

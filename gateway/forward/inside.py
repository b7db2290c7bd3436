"""What `mitmdump -s` loads. Our packages come behind mitmproxy's own, which need the versions they pin."""

import os
import sys

sys.path += [path for path in os.environ["CROSSWIND_FORWARD_PATHS"].split(os.pathsep) if path not in sys.path]

from crosswind.gateway.forward.addon import load_addon

addons = [load_addon(os.environ["CROSSWIND_FORWARD_SETTINGS"])]

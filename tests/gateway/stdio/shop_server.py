"""The shop of the tests as a server over stdio. It declares that it tells when its list of tools changes."""

from tests.gateway.tools.shop import Shop, make_telling_mcp

make_telling_mcp(Shop()).run()

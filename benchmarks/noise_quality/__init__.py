"""How the noise fares on material that its authors have not read: `make noise-quality`."""

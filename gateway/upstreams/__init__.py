"""The client of the upstreams: choose an upstream and a replica, send the request, track health."""

"""The retail domain: a shop with an order database."""

"""The papers' worked examples, one by one: what must be kept, dropped, added or contradicted for noise to be
of their kind. The sentences, tools and values are our own."""

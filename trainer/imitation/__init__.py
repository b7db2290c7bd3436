"""The imitation warm-up: from random weights to a policy that plays, by copying scripted demonstrations."""

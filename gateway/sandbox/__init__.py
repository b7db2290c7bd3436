"""Third parties' operators, in a process of their own that can be killed: what they do wrong stays there."""

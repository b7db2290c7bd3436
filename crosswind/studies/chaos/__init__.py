"""`crosswind chaos`: a person's own agent plays tasks clean and noisy, and the drop in success is printed."""

"""Every figure on success under noise: how much was lost, under what and where. All of them are computed from
attempts, whoever played them."""

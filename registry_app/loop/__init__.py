"""The loop of an owner that dnsadmin runs itself: desired, current, plan, apply, read back."""

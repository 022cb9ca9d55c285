"""Our side of the webhook protocol: bounded, checked HTTP to providers nobody trusts."""

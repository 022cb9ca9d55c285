#!/usr/bin/env python3
"""Django's command line for dnsadmin, in a checkout."""

from dnsadmin.__main__ import main

if __name__ == "__main__":
    main()

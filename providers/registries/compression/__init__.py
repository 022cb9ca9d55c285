"""Gzip, byte for byte as ExternalDNS's own library writes it: zlib packs the same text into other bytes, and
a provider that compares values refuses an old value that has other bytes."""

"""The write engine: store what is to be sent, send it once, read back, settle, and resume after a crash.

It knows steps and change sets. What an outcome means is decided by transfers and loops.
"""

"""The write engine: store what is to be sent, send it once, read back, settle, and resume after a crash.

It knows steps and change sets. What an outcome means for a transfer or a loop is theirs to say.
"""

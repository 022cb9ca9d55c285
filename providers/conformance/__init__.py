"""Does a provider keep its protocol? Questions asked over the wire, and what was seen as a report."""

"""HTTP as we let it happen: checked addresses, total deadlines, bounded answers, errors in our own words."""

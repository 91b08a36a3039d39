"""Rules about which releases a project pins."""

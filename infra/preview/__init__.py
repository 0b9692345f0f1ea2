"""The preview without an account: record, check, price, report."""

"""Git underneath: stores, transactions, history, and the guards around private repositories."""

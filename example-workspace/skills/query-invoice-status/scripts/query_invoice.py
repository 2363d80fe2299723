"""Prints one invoice of assets/invoices.csv as JSON. Exit 0 found, 2 malformed number, 3 not found."""

import csv
import json
import re
import sys
from pathlib import Path

LEDGER = Path(__file__).parent.parent / "assets" / "invoices.csv"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not re.fullmatch(r"INV-\d{4}-\d{6}", arguments[0]):
        print("usage: query_invoice.py INV-<year>-<six digits>", file=sys.stderr)
        return 2
    with LEDGER.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["number"] == arguments[0]:
                print(json.dumps(row, ensure_ascii=False))
                return 0
    print(f"no invoice {arguments[0]}", file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

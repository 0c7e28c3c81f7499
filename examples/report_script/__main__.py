"""Write a report of all orders as CSV, through whatever the order API goes through.

python -m examples.report_script http://127.0.0.1:9000 orders.csv
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import requests

from examples.report_script.resilience import orders_api
from policyctl.runtime.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Order:
    """One order; the total in cents."""

    id: int
    total: int


def pages(client: orders_api.Session, url: str) -> Iterator[list[Order]]:
    """The pages of orders, until one is empty."""
    number = 1
    while True:
        # A response with status 429 or 502-504 is retried, for as long as the policy says.
        answer = client.get(f"{url}/orders", params={"page": number})
        answer.raise_for_status()
        found = [Order(row["id"], row["total"]) for row in answer.json()]
        if not found:
            return
        yield found
        number += 1


def write_report(client: orders_api.Session, url: str, file: Path) -> int:
    """Write all orders and their sum; return how many there are.

    The file appears when it is complete, and not at all where the API fails for good.
    """
    orders = [order for page in pages(client, url) for order in page]
    unfinished = file.with_suffix(".part")
    with unfinished.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(("order", "total"))
        rows.writerows((order.id, order.total) for order in orders)
        rows.writerow(("sum", sum(order.total for order in orders)))
    unfinished.replace(file)
    return len(orders)


def main(url: str, file: Path) -> int:
    """Run the report; 1 where the API could not be read."""
    with requests.Session() as session:
        client = orders_api.Session(session)
        try:
            count = write_report(client, url, file)
        except (PolicyError, requests.RequestException) as error:
            print(f"no report: {error}", file=sys.stderr)
            return 1
    print(f"wrote {count} orders to {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))

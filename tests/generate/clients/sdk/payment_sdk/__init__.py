"""A library with every kind of method; clients are generated of it in tests."""

from payment_sdk._errors import *
from payment_sdk._models import Money as Money
from payment_sdk._models import Order, Receipt
from payment_sdk.client import Client as Client

__all__ = ["DeclinedError", "Order", "Receipt"]

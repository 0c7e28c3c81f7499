"""``python -m policyctl`` is the ``policyctl`` command."""

from policyctl.cli.main import main

if __name__ == "__main__":
    main()

"""`check_device.py PATTERN`: exit 1 unless the default device, as `backend:name`, matches."""

import re
import sys

import wgtensor as wt


def main() -> int:
    device = wt.ones(1).device
    found = f"{device.backend}:{device.name}"
    if re.search(sys.argv[1], found, re.IGNORECASE):
        print(f"device {found}")
        return 0
    print(f"expected a device like {sys.argv[1]!r}, found {found}")
    return 1


if __name__ == "__main__":
    sys.exit(main())

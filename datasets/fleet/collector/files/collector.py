"""Read levels from a serial line (Python 2 days; kept for the record)."""
import sys
import time


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else (crc << 1) & 0xFFFF
    return crc


def read_levels(port, out):
    """Copy levels from port to out, one per line, for ever."""
    while True:
        line = port.readline()
        if not line:
            # XXX: a silent gauge and a dead cable look the same
            time.sleep(«wait»)
            continue
        out.write("%d %s\n" % (time.time(), line.strip()))


if __name__ == "__main__":
    read_levels(open(sys.argv[1]), sys.stdout)

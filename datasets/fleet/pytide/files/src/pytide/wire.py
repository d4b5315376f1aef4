%%born wire
%%moved src-layout pytide/wire.py
"""Frames as gauges send them; the layout is tidewire.h of the gauge."""

import struct
from typing import NamedTuple

FRAME_MAGIC = 0x71DE
LAYOUT = struct.Struct(">HBHIh")
%%if suspect
SUSPECT_BIT = 1 << 31
%%end


class Frame(NamedTuple):
    """One reading."""

    station: int
    minute: int
    level_mm: int
%%if suspect
    suspect: bool = False
%%end


class ChecksumError(ValueError):
    """The frame was damaged on the line."""


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else (crc << 1) & 0xFFFF
    return crc


def encode_frame(frame: Frame) -> bytes:
    """Give the thirteen bytes of a frame."""
%%if suspect
    minute = frame.minute | (SUSPECT_BIT if frame.suspect else 0)
    body = LAYOUT.pack(FRAME_MAGIC, 2, frame.station, minute, frame.level_mm)
%%else
    body = LAYOUT.pack(FRAME_MAGIC, 2, frame.station, frame.minute, frame.level_mm)
%%end
    return body + crc16(body).to_bytes(2, "big")


def decode_frame(data: bytes) -> Frame:
    """Read a frame from the head of data."""
    magic, _version, station, minute, level_mm = LAYOUT.unpack_from(data)
    if magic != FRAME_MAGIC:
        raise ValueError(f"no frame: starts with {magic:#06x}")
    if crc16(data[: LAYOUT.size]) != int.from_bytes(data[LAYOUT.size : LAYOUT.size + 2], "big"):
        raise ChecksumError("checksum mismatch")
%%if suspect
    return Frame(station, minute & ~SUSPECT_BIT, level_mm, bool(minute & SUSPECT_BIT))
%%else
    return Frame(station, minute, level_mm)
%%end

%%born wire
import pytest

from pytide.wire import ChecksumError, Frame, crc16, decode_frame, encode_frame


def test_round_trip():
    frame = Frame(station=4, minute=1440, level_mm=-317)
    assert decode_frame(encode_frame(frame)) == frame


def test_crc_of_the_check_string():
    assert crc16(b"123456789") == 0x29B1


def test_damage_is_found():
    data = bytearray(encode_frame(Frame(4, 0, 0)))
    data[9] ^= 0x40
    with pytest.raises(ChecksumError):
        decode_frame(bytes(data))

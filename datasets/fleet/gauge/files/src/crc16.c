%%born crc
%%if wire-rename
#include "tidewire.h"
%%else
#include "frame.h"
%%end

uint16_t crc16(const uint8_t *data, size_t size) {
    uint16_t crc = 0xFFFF;
    while (size--) {
        crc ^= (uint16_t)(*data++ << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? (uint16_t)(crc << 1 ^ 0x1021) : (uint16_t)(crc << 1);
    }
    return crc;
}

%%moved wire-rename include/frame.h
/* Layout of the frames a gauge sends, shared with everything that reads them. */
%%if wire-rename
#ifndef TIDEWIRE_H
#define TIDEWIRE_H
%%else
#ifndef FRAME_H
#define FRAME_H
%%end

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC 0x71DEu
%%if wire2
#define WIRE_VERSION 2
%%else
#define WIRE_VERSION 1
%%end
%%if crc
#define FRAME_SIZE 13
%%else
#define FRAME_SIZE 11
%%end
%%if suspect
/* Top bit of the minute: the gauge does not trust this reading. */
#define FRAME_SUSPECT (1u << 31)
%%end

typedef struct {
    uint8_t version;
    uint16_t station;
    uint32_t minute;
    int16_t level_mm;
%%if suspect
    int suspect;
%%end
} tide_frame;

/* Write a frame, big endian; returns the number of bytes, 0 if room is too small. */
size_t encode_frame(const tide_frame *frame, uint8_t *out, size_t room);

/* Read a frame; returns 0, or -1 short, -2 bad magic, -3 bad checksum. */
int decode_frame(const uint8_t *data, size_t size, tide_frame *frame);
%%if crc

/* CRC-16/CCITT-FALSE. */
uint16_t crc16(const uint8_t *data, size_t size);
%%end

#endif

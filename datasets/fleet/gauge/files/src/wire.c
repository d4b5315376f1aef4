%%moved wire-rename src/frame.c
%%if wire-rename
#include "tidewire.h"
%%else
#include "frame.h"
%%end

static void put16(uint8_t *out, uint16_t value) {
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
}

static uint16_t get16(const uint8_t *data) {
    return (uint16_t)(data[0] << 8 | data[1]);
}

size_t encode_frame(const tide_frame *frame, uint8_t *out, size_t room) {
    uint32_t minute = frame->minute;
    if (room < FRAME_SIZE)
        return 0;
%%if suspect
    if (frame->suspect)
        minute |= FRAME_SUSPECT;
%%end
    put16(out, FRAME_MAGIC);
    out[2] = frame->version;
    put16(out + 3, frame->station);
    put16(out + 5, (uint16_t)(minute >> 16));
    put16(out + 7, (uint16_t)minute);
    put16(out + 9, (uint16_t)frame->level_mm);
%%if crc
    put16(out + 11, crc16(out, FRAME_SIZE - 2));
%%end
    return FRAME_SIZE;
}

int decode_frame(const uint8_t *data, size_t size, tide_frame *frame) {
    if (size < FRAME_SIZE)
        return -1;
    if (get16(data) != FRAME_MAGIC)
        return -2;
%%if crc
    if (get16(data + 11) != crc16(data, FRAME_SIZE - 2))
        return -3;
%%end
    frame->version = data[2];
    frame->station = get16(data + 3);
    frame->minute = (uint32_t)get16(data + 5) << 16 | get16(data + 7);
    frame->level_mm = (int16_t)get16(data + 9);
%%if suspect
    frame->suspect = (frame->minute & FRAME_SUSPECT) != 0;
    frame->minute &= ~FRAME_SUSPECT;
%%end
    return 0;
}

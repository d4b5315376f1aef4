%%moved wire-rename tests/test_frame.c
#include <assert.h>
#include <stdio.h>
#include <string.h>

%%if wire-rename
#include "tidewire.h"
%%else
#include "frame.h"
%%end

static void test_round_trip(void) {
    tide_frame sent = {.version = WIRE_VERSION, .station = 4, .minute = 1440, .level_mm = -317};
    tide_frame got;
    uint8_t wire[FRAME_SIZE];
    memset(&got, 0, sizeof got);
    assert(encode_frame(&sent, wire, sizeof wire) == FRAME_SIZE);
    assert(decode_frame(wire, sizeof wire, &got) == 0);
    assert(got.station == 4 && got.minute == 1440 && got.level_mm == -317);
}
%%if crc

static void test_damage_is_found(void) {
    tide_frame sent = {.version = WIRE_VERSION, .station = 4};
    tide_frame got;
    uint8_t wire[FRAME_SIZE];
    encode_frame(&sent, wire, sizeof wire);
    wire[6] ^= 1;
    assert(decode_frame(wire, sizeof wire, &got) == -3);
}
%%end

int main(void) {
    test_round_trip();
%%if crc
    test_damage_is_found();
%%end
    puts("ok");
    return 0;
}

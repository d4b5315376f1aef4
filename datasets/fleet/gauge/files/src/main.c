#include <string.h>

%%if backlog
#include "backlog.h"
%%end
%%if wire-rename
#include "tidewire.h"
%%else
#include "frame.h"
%%end
#include "modem.h"
#include "ranger.h"

#define STATION «station»
#define MAST_MM «mast»
%%if watchdog

extern void watchdog_kick(void);
%%end

extern uint32_t clock_minute(void);
extern void sleep_until(uint32_t minute);

/* Turn a distance below the mast into a level above the gauge's zero. */
static int16_t level_from_distance(int distance_mm) {
    return (int16_t)(MAST_MM - distance_mm);
}

%%if backlog
static void send_waiting(backlog *waiting) {
    tide_frame frame;
    uint8_t wire[FRAME_SIZE];
    while (backlog_pop(waiting, &frame) == 0) {
        size_t size = encode_frame(&frame, wire, sizeof wire);
%%if retry
        if (modem_send_retry(wire, size) != 0) {
%%else
        if (modem_send(wire, size) != 0) {
%%end
            backlog_push(waiting, &frame);
            return;
        }
    }
}

%%end
int main(void) {
%%if backlog
    static backlog waiting;
%%end
    for (uint32_t minute = clock_minute();; minute += «interval») {
        tide_frame frame;
        memset(&frame, 0, sizeof frame);
        int distance = measure_mm();
        frame.version = WIRE_VERSION;
        frame.station = STATION;
        frame.minute = minute;
        frame.level_mm = level_from_distance(distance);
%%if suspect
        frame.suspect = distance < 0 || distance > MAST_MM + 500;
%%end
%%if backlog
        backlog_push(&waiting, &frame);
        send_waiting(&waiting);
%%else
        uint8_t wire[FRAME_SIZE];
        modem_send(wire, encode_frame(&frame, wire, sizeof wire));
%%end
%%if watchdog
        watchdog_kick();
%%end
        sleep_until(minute + «interval»);
    }
}

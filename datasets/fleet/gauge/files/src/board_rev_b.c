%%born rev-b
%%gone rev-b-dead
/* Pins of board revision B. FIXME: the echo pin is shared with the modem's reset. */
#include <stdint.h>

const uint8_t PIN_TRIGGER = 4;
const uint8_t PIN_ECHO = 5;
const uint8_t PIN_MODEM_RESET = 5;

%%born rev-c
/* Pins of board revision C. */
#include <stdint.h>

const uint8_t PIN_TRIGGER = 4;
const uint8_t PIN_ECHO = 6;
const uint8_t PIN_MODEM_RESET = 9;

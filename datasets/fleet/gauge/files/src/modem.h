#ifndef MODEM_H
#define MODEM_H

#include <stddef.h>
#include <stdint.h>

/* Send bytes to the hub; returns 0 when all of them were taken. */
int modem_send(const uint8_t *data, size_t size);
%%if retry

/* As modem_send, with up to MODEM_RETRIES further attempts. */
int modem_send_retry(const uint8_t *data, size_t size);
%%end

#endif

#include "modem.h"

#include <stdio.h>

%%if retry
#define MODEM_RETRIES «retries»
%%if retry-wait
#define FIRST_WAIT_MS 500

extern void sleep_ms(unsigned ms);
%%end

%%end
int modem_send(const uint8_t *data, size_t size) {
    return fwrite(data, 1, size, stdout) == size && fflush(stdout) == 0 ? 0 : -1;
}
%%if retry

int modem_send_retry(const uint8_t *data, size_t size) {
%%if retry-wait
    unsigned wait = FIRST_WAIT_MS;
%%end
    for (int attempt = 0; attempt <= MODEM_RETRIES; attempt++) {
        if (modem_send(data, size) == 0)
            return 0;
%%if retry-wait
        sleep_ms(wait);
        wait *= 2;
%%end
    }
    return -1;
}
%%end

#include "ranger.h"

%%if median
#include <stdlib.h>

#define READINGS «readings»

static int compare_ints(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

%%end
%%if temperature
/* Speed of sound grows by 0.606 m/s per degree. */
static long speed_mm_per_ms(int tenths) {
    return 331300 / 1000 + (606L * tenths) / 10000;
}

%%end
%%if median
static int measure_once(void) {
%%else
int measure_mm(void) {
%%end
    long echo = read_echo_us();
    if (echo < 0)
        return -1;
%%if temperature
    return (int)(echo * speed_mm_per_ms(read_temperature()) / 2000);
%%else
    /* TODO: the speed of sound depends on the temperature. */
    return (int)(echo * 343 / 2000);
%%end
}
%%if median

/* The median of several readings: a gull on the sensor is not a spring tide. */
int measure_mm(void) {
    int values[READINGS];
    int count = 0;
    for (int attempt = 0; attempt < READINGS; attempt++) {
        int value = measure_once();
        if (value >= 0)
            values[count++] = value;
    }
    if (count == 0)
        return -1;
    qsort(values, (size_t)count, sizeof values[0], compare_ints);
    return values[count / 2];
}
%%end

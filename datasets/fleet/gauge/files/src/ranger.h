#ifndef RANGER_H
#define RANGER_H

/* Echo time of the ultrasonic ranger in microseconds, or -1 when no echo came back. */
long read_echo_us(void);
%%if temperature

/* Air temperature in tenths of a degree Celsius. */
int read_temperature(void);
%%end

/* Distance to the water in millimetres, or -1. */
int measure_mm(void);

#endif

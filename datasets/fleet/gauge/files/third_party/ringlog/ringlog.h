%%born ringlog
/* ringlog «ringlog»: the last few events of a device that has no disk. Vendored; see LICENSE beside this file. */
#ifndef RINGLOG_H
#define RINGLOG_H

#define RINGLOG_SLOTS 32

void ringlog_write(const char *event, unsigned value);
const char *ringlog_event(unsigned age, unsigned *value);

#endif

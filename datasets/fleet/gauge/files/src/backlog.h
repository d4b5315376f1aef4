%%born backlog
#ifndef BACKLOG_H
#define BACKLOG_H

%%if wire-rename
#include "tidewire.h"
%%else
#include "frame.h"
%%end

#define BACKLOG_FRAMES «backlog»

/* Frames that wait for the modem; the oldest is lost when it is full. */
typedef struct {
    tide_frame frames[BACKLOG_FRAMES];
    unsigned head, count;
} backlog;

void backlog_push(backlog *log, const tide_frame *frame);
int backlog_pop(backlog *log, tide_frame *frame);

#endif

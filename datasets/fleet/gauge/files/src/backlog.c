%%born backlog
#include "backlog.h"
%%if ringlog
#include "../third_party/ringlog/ringlog.h"
%%end

void backlog_push(backlog *log, const tide_frame *frame) {
    unsigned slot = (log->head + log->count) % BACKLOG_FRAMES;
    log->frames[slot] = *frame;
    if (log->count < BACKLOG_FRAMES)
        log->count++;
    else
%%if backlog-fix
        log->head = (log->head + 1) % BACKLOG_FRAMES;
%%else
        log->head++;
%%end
%%if ringlog
    ringlog_write("push", log->count);
%%end
}

int backlog_pop(backlog *log, tide_frame *frame) {
    if (log->count == 0)
        return -1;
    *frame = log->frames[log->head];
    log->head = (log->head + 1) % BACKLOG_FRAMES;
    log->count--;
    return 0;
}

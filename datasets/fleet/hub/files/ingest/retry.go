%%born backoff
package ingest

import (
	"context"
	"errors"
%%if backoff-jitter
	"math/rand"
%%end
	"net"
	"time"
)

// firstDelay and lastDelay bound the wait after a failed accept.
const (
	firstDelay = 5 * time.Millisecond
	lastDelay  = «last_delay» * time.Second
)

// retryAccept waits before the next accept and says whether there should be one.
func retryAccept(ctx context.Context, err error) bool {
	var netErr net.Error
	if !errors.As(err, &netErr) || !netErr.Timeout() {
		return false
	}
	delay := firstDelay
%%if backoff-jitter
	delay += time.Duration(rand.Int63n(int64(firstDelay)))
%%end
	for ; delay < lastDelay; delay *= 2 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
			return true
		}
	}
	return true
}

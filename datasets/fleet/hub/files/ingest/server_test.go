%%born ingest-test
package ingest

import (
	"context"
	"net"
	"testing"

%%if frame-public
	"example.org/tidewatch/hub/frame"
%%else
	"example.org/tidewatch/hub/internal/frame"
%%end
	"example.org/tidewatch/hub/store"
)

func TestFramesReachTheStore(t *testing.T) {
	levels := store.NewMemory(16)
	server := NewServer(levels)
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		server.handle(context.Background(), there)
		close(done)
	}()
	here.Write(frame.EncodeFrame(frame.Frame{Version: 2, Station: 7, Minute: 10, LevelMM: 420}))
	here.Close()
	<-done
	got, err := levels.Since(context.Background(), 7, 0)
	if err != nil || len(got) != 1 || got[0].LevelMM != 420 {
		t.Fatalf("got %v, %v", got, err)
	}
}

// Package ingest takes frames from gauges and hands them to the store.
package ingest

import (
	"bufio"
	"context"
%%if timeouts
	"errors"
%%end
	"io"
	"log"
	"net"
%%if timeouts
	"time"
%%end

%%if frame-public
	"example.org/tidewatch/hub/frame"
%%else
	"example.org/tidewatch/hub/internal/frame"
%%end
	"example.org/tidewatch/hub/store"
)
%%if timeouts

// idleTimeout closes a connection whose gauge fell silent.
const idleTimeout = «idle» * time.Second
%%end

// Server reads frames from any number of gauges.
type Server struct {
	store    store.Store
%%if surge
	watchers []Watcher
%%end
}

%%if surge
// Watcher sees every frame after it was stored.
type Watcher interface {
	Observe(f frame.Frame)
}

// Watch adds a watcher; call it before ListenAndServe.
func (s *Server) Watch(w Watcher) {
	s.watchers = append(s.watchers, w)
}

%%end
// NewServer returns a server that writes to levels.
func NewServer(levels store.Store) *Server {
	return &Server{store: levels}
}

// ListenAndServe accepts gauges until the context ends.
func (s *Server) ListenAndServe(ctx context.Context, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		listener.Close()
	}()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
%%if backoff
			if retryAccept(ctx, err) {
				continue
			}
%%end
			return err
		}
		go s.handle(ctx, conn)
	}
}

func (s *Server) handle(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	buffer := make([]byte, frame.Size)
	for {
%%if timeouts
		conn.SetReadDeadline(time.Now().Add(idleTimeout))
%%end
		if _, err := io.ReadFull(reader, buffer); err != nil {
%%if timeouts
			if !errors.Is(err, io.EOF) {
				log.Printf("ingest: %s: %v", conn.RemoteAddr(), err)
			}
%%end
			return
		}
		f, err := frame.DecodeFrame(buffer)
		if err != nil {
%%if resync
			rest, lost := frame.Resync(buffer)
			log.Printf("ingest: %s: %v, %d bytes lost", conn.RemoteAddr(), err, lost)
			// FIXME: the bytes before the magic may belong to a frame whose head was cut.
			if _, err := io.ReadFull(reader, buffer[copy(buffer, rest):]); err != nil {
				return
			}
			continue
%%else
			// TODO: look for the next magic instead of dropping the gauge.
			log.Printf("ingest: %s: %v", conn.RemoteAddr(), err)
			return
%%end
		}
		if err := s.store.Append(ctx, f); err != nil {
			log.Printf("ingest: station %d: %v", f.Station, err)
		}
%%if surge
		for _, watcher := range s.watchers {
			watcher.Observe(f)
		}
%%end
%%if metrics
		framesTotal.WithLabelValues("ok").Inc()
%%end
	}
}

// Command tidehub receives tide gauge frames and serves water levels.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

%%if surge
	"example.org/tidewatch/hub/alarm"
%%end
	"example.org/tidewatch/hub/api"
	"example.org/tidewatch/hub/ingest"
	"example.org/tidewatch/hub/store"
)

var version = "dev"

func main() {
	listen := flag.String("listen", ":7171", "address for gauges")
	httpAddr := flag.String("http", ":8080", "address for the API")
%%if sqlite
	database := flag.String("db", "", "database file; empty keeps levels in memory")
%%end
%%if surge
	surgeMM := flag.Int("surge-mm", «surge_mm», "alarm threshold above the predicted tide")
%%end
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

%%if sqlite
	levels, err := openStore(*database)
	if err != nil {
		log.Fatalf("tidehub: cannot open %s: %v", *database, err)
	}
%%else
	levels := store.NewMemory(«keep»)
%%end
	receiver := ingest.NewServer(levels)
%%if surge
	receiver.Watch(alarm.NewSurge(*surgeMM, alarm.LogSink{}))
%%end
	go func() {
		if err := receiver.ListenAndServe(ctx, *listen); err != nil {
			log.Fatalf("tidehub: ingest: %v", err)
		}
	}()

	server := &http.Server{Addr: *httpAddr, Handler: api.Handler(levels), ReadHeaderTimeout: «header_timeout» * time.Second}
	go func() {
		<-ctx.Done()
%%if graceful
		quiet, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(quiet)
%%else
		server.Close()
%%end
	}()
	log.Printf("tidehub %s listens on %s", version, *httpAddr)
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
%%if sqlite

func openStore(path string) (store.Store, error) {
	if path == "" {
		return store.NewMemory(«keep»), nil
	}
	return store.OpenSQLite(path)
}
%%end

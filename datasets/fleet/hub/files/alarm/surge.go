%%born surge
// Package alarm tells harbour masters about storm surges.
package alarm

import (
	"log"
	"sync"

%%if frame-public
	"example.org/tidewatch/hub/frame"
%%else
	"example.org/tidewatch/hub/internal/frame"
%%end
)

// readingsInARow must stand above the threshold before an alarm goes out.
const readingsInARow = 3

// Sink is told about alarms.
type Sink interface {
	Raise(station uint16, excessMM int)
}

// LogSink writes alarms to the log.
type LogSink struct{}

// Raise implements Sink.
func (LogSink) Raise(station uint16, excessMM int) {
	log.Printf("alarm: station %d stands %d mm above the predicted tide", station, excessMM)
}

// Surge compares every reading with the predicted tide.
type Surge struct {
	thresholdMM int
	sink        Sink
%%if surge-race
	mu          sync.Mutex
%%end
	above       map[uint16]int
}

// NewSurge raises alarms at sink when a level stands thresholdMM too high.
func NewSurge(thresholdMM int, sink Sink) *Surge {
	return &Surge{thresholdMM: thresholdMM, sink: sink, above: make(map[uint16]int)}
}

// Observe implements ingest.Watcher.
func (s *Surge) Observe(f frame.Frame) {
%%if surge-suspect
	if f.Suspect {
		return
	}
%%end
%%if surge-race
	s.mu.Lock()
	defer s.mu.Unlock()
%%end
	excess := int(f.LevelMM) - PredictTide(f.Minute)
	if excess < s.thresholdMM {
		s.above[f.Station] = 0
		return
	}
	s.above[f.Station]++
	if s.above[f.Station] == readingsInARow {
		s.sink.Raise(f.Station, excess)
	}
}

%%if surge-race
%%else
var _ sync.Locker

%%end
// PredictTide gives the astronomical tide at a minute, in millimetres.
//
// TODO: use the harmonic constants of each station instead of one parabola.
func PredictTide(minute uint32) int {
	const half = 373
	x := int(minute % (2 * half))
	sign := 1
	if x >= half {
		x, sign = x-half, -1
	}
	return sign * «amplitude» * 4 * x * (half - x) / (half * half)
}

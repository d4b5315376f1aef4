%%born metrics
package ingest

import "github.com/prometheus/client_golang/prometheus"

var framesTotal = prometheus.NewCounterVec(
	prometheus.CounterOpts{Name: "tidehub_frames_total", Help: "Frames by outcome."},
	[]string{"outcome"},
)

func init() {
	prometheus.MustRegister(framesTotal)
}

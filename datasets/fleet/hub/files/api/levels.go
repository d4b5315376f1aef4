// Package api answers questions about water levels over HTTP.
package api

import (
	"encoding/json"
	"net/http"
	"strconv"

%%if v2
	"github.com/go-chi/chi/v5"

%%if stations
	"example.org/tidewatch/hub/stations"
%%end
%%end
	"example.org/tidewatch/hub/store"
)

// Handler routes the API.
func Handler(levels store.Store) http.Handler {
%%if v2
	router := chi.NewRouter()
%%if middleware
	router.Use(requestID, recoverPanic)
%%end
	router.Get("/v2/levels", getLevels(levels))
%%if stations
	router.Get("/v2/stations", getStations)
%%end
%%if legacy-dead
%%else
	router.Get("/v1/read", ReadHandler(levels))
%%end
%%if health
	router.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
%%end
	return router
%%else
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/read", ReadHandler(levels))
	return mux
%%end
}
%%if v2

type levelJSON struct {
	Minute  uint32 `json:"minute"`
	LevelMM int    `json:"sea_level_mm"`
%%if quality
	Suspect bool   `json:"suspect,omitempty"`
%%end
}

func getLevels(levels store.Store) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		station, err := strconv.ParseUint(r.URL.Query().Get("station"), 10, 16)
		if err != nil {
			writeError(w, http.StatusBadRequest, "station must be a number")
			return
		}
		since, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 32)
		rows, err := levels.Since(r.Context(), uint16(station), uint32(since))
		if err != nil {
			writeError(w, http.StatusInternalServerError, err.Error())
			return
		}
%%if limit
		if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && limit < len(rows) {
			rows = rows[len(rows)-limit:]
		}
%%end
		answer := make([]levelJSON, 0, len(rows))
		for _, f := range rows {
%%if quality
			answer = append(answer, levelJSON{f.Minute, int(f.LevelMM), f.Suspect})
%%else
			answer = append(answer, levelJSON{f.Minute, int(f.LevelMM)})
%%end
		}
		writeJSON(w, answer)
	}
}
%%if stations

func getStations(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, stations.All)
}
%%end
%%end

func writeJSON(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": message})
}

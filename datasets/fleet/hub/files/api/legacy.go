%%gone legacy-dead
package api

import (
	"fmt"
	"net/http"
	"strconv"

	"example.org/tidewatch/hub/store"
)

// ReadHandler answers /v1/read with one level per line.
%%if deprecate-v1
//
// Deprecated: use /v2/levels. It goes away with 2.0.
%%end
func ReadHandler(levels store.Store) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		station, err := strconv.Atoi(r.FormValue("station"))
		if err != nil {
			http.Error(w, "station?", http.StatusBadRequest)
			return
		}
%%if deprecate-v1
		w.Header().Set("Deprecation", "true")
%%end
		rows, _ := levels.Since(r.Context(), uint16(station), 0)
		for _, f := range rows {
			fmt.Fprintf(w, "%d %d\n", f.Minute, f.LevelMM)
		}
	}
}

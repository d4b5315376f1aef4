module example.org/tidewatch/hub

go «go»

require (
	github.com/go-chi/chi/v5 v5.«chi»
%%if sqlite
	modernc.org/sqlite v1.«sqlite»
%%end
%%if metrics
	github.com/prometheus/client_golang v1.«prom»
%%end
)

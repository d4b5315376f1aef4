%%born stations
// Package stations knows where every gauge stands.
package stations

//go:generate go run ../cmd/stationgen -o stations_gen.go stations.csv

// Station is one gauge on a quay.
type Station struct {
	Code      string
	Name      string
	Latitude  float64
	Longitude float64
	// DatumMM is the height of the gauge's zero above chart datum.
	DatumMM int
}

// ByCode finds a station; ok is false when there is none.
func ByCode(code string) (station Station, ok bool) {
%%if station-index
	station, ok = index[code]
	return station, ok
}

var index = func() map[string]Station {
	byCode := make(map[string]Station, len(All))
	for _, station := range All {
		byCode[station.Code] = station
	}
	return byCode
}()
%%else
	for _, candidate := range All {
		if candidate.Code == code {
			return candidate, true
		}
	}
	return Station{}, false
}
%%end

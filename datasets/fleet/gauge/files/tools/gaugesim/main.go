%%born sim
// Command gaugesim plays many gauges against one hub.
package main

import (
	"flag"
	"log"
	"net"
	"time"

	"example.org/tidewatch/hub/alarm"
	"example.org/tidewatch/hub/frame"
)

func main() {
	hub := flag.String("hub", "localhost:7171", "address of the hub")
	gauges := flag.Int("gauges", 20, "how many gauges")
	flag.Parse()
	conn, err := net.Dial("tcp", *hub)
	if err != nil {
		log.Fatalf("gaugesim: %v", err)
	}
	for minute := uint32(0); ; minute += 10 {
		for station := 1; station <= *gauges; station++ {
			conn.Write(frame.EncodeFrame(reading(uint16(station), minute)))
		}
		time.Sleep(time.Second)
	}
}

// reading is the predicted tide plus a swell that differs from station to station.
func reading(station uint16, minute uint32) frame.Frame {
	swell := int16(station*7+uint16(minute)) % «swell»
	return frame.Frame{Version: 2, Station: station, Minute: minute, LevelMM: int16(alarm.PredictTide(minute)) + swell}
}

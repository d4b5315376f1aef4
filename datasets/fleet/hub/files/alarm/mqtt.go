%%born fork-mqtt
package alarm

import "fmt"

// Publisher is the part of an MQTT client that alarms need.
type Publisher interface {
	Publish(topic string, payload []byte) error
}

// MQTTSink publishes alarms on a broker.
type MQTTSink struct {
	Client Publisher
	Prefix string
}

// Raise implements Sink.
func (m MQTTSink) Raise(station uint16, excessMM int) {
	topic := fmt.Sprintf("%s/surge/%d", m.Prefix, station)
%%if fork-retry
	for attempt := 0; attempt < 3; attempt++ {
		if m.Client.Publish(topic, []byte(fmt.Sprint(excessMM))) == nil {
			return
		}
	}
%%else
	m.Client.Publish(topic, []byte(fmt.Sprint(excessMM)))
%%end
}

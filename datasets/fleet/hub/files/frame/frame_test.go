%%moved frame-public internal/frame/frame_test.go
package frame

import (
%%if crc
	"errors"
%%end
	"testing"
)

func TestRoundTrip(t *testing.T) {
	want := Frame{Version: 2, Station: 4, Minute: 1440, LevelMM: -317}
	got, err := DecodeFrame(EncodeFrame(want))
	if err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestShortRead(t *testing.T) {
	if _, err := DecodeFrame([]byte{0x71, 0xDE}); err != ErrShort {
		t.Fatalf("got %v, want ErrShort", err)
	}
}
%%if crc

func TestDamagedFrame(t *testing.T) {
	data := EncodeFrame(Frame{Version: 2, Station: 4})
	data[9] ^= 0x40
	if _, err := DecodeFrame(data); !errors.Is(err, ErrChecksum) {
		t.Fatalf("got %v, want ErrChecksum", err)
	}
}
%%end
%%if resync

func TestResyncFindsTheNextFrame(t *testing.T) {
	noise := append([]byte{0x00, 0x13}, EncodeFrame(Frame{Version: 2})...)
	rest, lost := Resync(noise)
	if lost != 2 || len(rest) != Size {
		t.Fatalf("lost %d bytes, %d left", lost, len(rest))
	}
}
%%end

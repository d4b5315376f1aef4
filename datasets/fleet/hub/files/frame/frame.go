%%moved frame-public internal/frame/frame.go
// Package frame reads and writes the frames that gauges send.
//
// A frame is 13 bytes: magic, wire version, station, minute, level and a
// CRC-16 over all of it. The C side is include/tidewire.h of the gauge.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Magic opens every frame.
const Magic = 0x71DE

// Size is the length of a frame in bytes, checksum included.
const Size = 13

var (
	// ErrShort is returned for fewer than Size bytes.
	ErrShort = errors.New("frame: short read")
	// ErrMagic is returned when the bytes are no frame at all.
	ErrMagic = errors.New("frame: bad magic")
%%if crc
	// ErrChecksum is returned when a frame was damaged on the line.
	ErrChecksum = errors.New("frame: checksum mismatch")
%%end
)

// Frame is one reading of one gauge.
type Frame struct {
	Version uint8
	Station uint16
	Minute  uint32
	LevelMM int16
%%if quality
	Suspect bool
%%end
}

// DecodeFrame reads one frame from the head of data.
func DecodeFrame(data []byte) (Frame, error) {
	var f Frame
	if len(data) < Size {
		return f, ErrShort
	}
	if binary.BigEndian.Uint16(data) != Magic {
		return f, ErrMagic
	}
%%if crc
	if got, want := CRC16(data[:Size-2]), binary.BigEndian.Uint16(data[Size-2:]); got != want {
		return f, fmt.Errorf("%w: got %04x, want %04x", ErrChecksum, got, want)
	}
%%end
	f.Version = data[2]
%%if wire1-dead
	if f.Version < 2 {
		return f, fmt.Errorf("frame: wire version %d is no longer read", f.Version)
	}
%%end
	f.Station = binary.BigEndian.Uint16(data[3:])
	f.Minute = binary.BigEndian.Uint32(data[5:])
	f.LevelMM = int16(binary.BigEndian.Uint16(data[9:]))
%%if quality
	f.Suspect = f.Minute&suspectBit != 0
	f.Minute &^= suspectBit
%%end
	return f, nil
}

%%if quality
// suspectBit marks a reading the gauge itself does not trust.
const suspectBit = 1 << 31

%%end
// EncodeFrame is the inverse of DecodeFrame.
func EncodeFrame(f Frame) []byte {
	data := make([]byte, Size)
	binary.BigEndian.PutUint16(data, Magic)
	data[2] = f.Version
	binary.BigEndian.PutUint16(data[3:], f.Station)
	binary.BigEndian.PutUint32(data[5:], f.Minute)
	binary.BigEndian.PutUint16(data[9:], uint16(f.LevelMM))
%%if crc
	binary.BigEndian.PutUint16(data[Size-2:], CRC16(data[:Size-2]))
%%end
	return data
}
%%if resync

// Resync skips to the next magic and says how many bytes were lost.
func Resync(data []byte) (rest []byte, lost int) {
	for i := 1; i+1 < len(data); i++ {
		if binary.BigEndian.Uint16(data[i:]) == Magic {
			return data[i:], i
		}
	}
	return nil, len(data)
}
%%end

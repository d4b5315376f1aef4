package store

import (
	"context"
	"sync"

%%if frame-public
	"example.org/tidewatch/hub/frame"
%%else
	"example.org/tidewatch/hub/internal/frame"
%%end
)

// Memory is a Store that forgets everything when the process ends.
type Memory struct {
%%if race
	mu     sync.RWMutex
%%else
	mu     sync.Mutex
%%end
	keep   int
	levels map[uint16][]frame.Frame
}

// NewMemory keeps at most keep readings of each station.
func NewMemory(keep int) *Memory {
	return &Memory{keep: keep, levels: make(map[uint16][]frame.Frame)}
}

// Append implements Store.
func (m *Memory) Append(_ context.Context, f frame.Frame) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := append(m.levels[f.Station], f)
	if len(rows) > m.keep {
		rows = rows[len(rows)-m.keep:]
	}
	m.levels[f.Station] = rows
	return nil
}

// Since implements Store.
func (m *Memory) Since(_ context.Context, station uint16, minute uint32) ([]frame.Frame, error) {
%%if race
	m.mu.RLock()
	defer m.mu.RUnlock()
	var rows []frame.Frame
	for _, f := range m.levels[station] {
		if f.Minute >= minute {
			rows = append(rows, f)
		}
	}
	return rows, nil
%%else
	rows := m.levels[station]
	for i, f := range rows {
		if f.Minute >= minute {
			return rows[i:], nil
		}
	}
	return nil, nil
%%end
}
%%if prune

// Prune implements Store.
func (m *Memory) Prune(_ context.Context, before uint32) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := 0
	for station, rows := range m.levels {
		first := 0
		for first < len(rows) && rows[first].Minute < before {
			first++
		}
		gone += first
		m.levels[station] = rows[first:]
	}
	return gone, nil
}
%%end

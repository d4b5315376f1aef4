// Package store keeps water levels.
package store

import (
	"context"

%%if frame-public
	"example.org/tidewatch/hub/frame"
%%else
	"example.org/tidewatch/hub/internal/frame"
%%end
)

// Store is what the hub needs from a database.
type Store interface {
	// Append adds one reading.
	Append(ctx context.Context, f frame.Frame) error
	// Since returns the readings of a station from a minute on, oldest first.
	Since(ctx context.Context, station uint16, minute uint32) ([]frame.Frame, error)
%%if prune
	// Prune forgets readings before a minute and says how many went.
	Prune(ctx context.Context, before uint32) (int, error)
%%end
}

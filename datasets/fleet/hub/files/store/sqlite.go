%%born sqlite
package store

import (
	"context"
	"database/sql"
	"fmt"

%%if frame-public
	"example.org/tidewatch/hub/frame"
%%else
	"example.org/tidewatch/hub/internal/frame"
%%end

	_ "modernc.org/sqlite"
)

const schema = `
CREATE TABLE IF NOT EXISTS level (
	station INTEGER NOT NULL,
	minute  INTEGER NOT NULL,
	mm      INTEGER NOT NULL,
	PRIMARY KEY (station, minute)
) WITHOUT ROWID`

// SQLite is a Store in one file.
type SQLite struct{ db *sql.DB }

// OpenSQLite opens or creates a database.
func OpenSQLite(path string) (*SQLite, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(«busy_ms»)")
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(schema); err != nil {
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	return &SQLite{db}, nil
}

// Append implements Store; a reading that is there already is replaced.
func (s *SQLite) Append(ctx context.Context, f frame.Frame) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR REPLACE INTO level VALUES (?, ?, ?)", f.Station, f.Minute, f.LevelMM)
	return err
}

// Since implements Store.
func (s *SQLite) Since(ctx context.Context, station uint16, minute uint32) ([]frame.Frame, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT minute, mm FROM level WHERE station = ? AND minute >= ? ORDER BY minute", station, minute)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var levels []frame.Frame
	for rows.Next() {
		f := frame.Frame{Version: 2, Station: station}
		if err := rows.Scan(&f.Minute, &f.LevelMM); err != nil {
			return nil, err
		}
		levels = append(levels, f)
	}
	return levels, rows.Err()
}
%%if prune

// Prune implements Store.
func (s *SQLite) Prune(ctx context.Context, before uint32) (int, error) {
	result, err := s.db.ExecContext(ctx, "DELETE FROM level WHERE minute < ?", before)
	if err != nil {
		return 0, err
	}
	gone, err := result.RowsAffected()
	return int(gone), err
}
%%end

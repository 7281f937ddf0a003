package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// diary is how far a day came: what a run that continues it must know and finds neither
// in a database nor on the ledgers.
type diary struct {
	Began   time.Time
	Run     int          // how often the program was started on the day
	Stopped [2]time.Time // no new swap began from the first time to the second
	Losses  int          // of the database; each is followed by a new one
	Whole   bool         // the database of today is complete: it is the first one, or was rebuilt
}

func (s *story) diaryFile() string { return filepath.Join(s.dir, "day.json") }

// recall begins a day, or reads the diary of the one that is in the directory. A
// database whose rebuilding was cut off is given up for another one.
func (s *story) recall() (continued bool, err error) {
	text, err := os.ReadFile(s.diaryFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.diary = diary{Began: time.Now()}
	case err != nil:
		return false, err
	default:
		if err := json.Unmarshal(text, &s.diary); err != nil {
			return false, err
		}
		continued = true
		if s.Losses > 0 && !s.Whole {
			s.Losses++
		}
	}
	s.Run++
	return continued, s.note()
}

// lose notes that the database is lost, before another one is begun.
func (s *story) lose() error {
	s.Losses, s.Whole = s.Losses+1, false
	return s.note()
}

// note writes the diary: a crash leaves the old one or the new one.
func (s *story) note() error {
	text, err := json.Marshal(s.diary)
	if err != nil {
		return err
	}
	written := s.diaryFile() + ".new"
	if err := os.WriteFile(written, text, 0o600); err != nil {
		return err
	}
	return os.Rename(written, s.diaryFile())
}

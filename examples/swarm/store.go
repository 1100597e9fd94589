package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// A fileStore is a swarm.Store of results as lines of JSON in one file. A crash
// may tear its last line, which is then no result.
type fileStore struct {
	mu      sync.Mutex
	file    *os.File
	results map[string]string
}

// A result is a line of the file, and of the figures.
type result struct {
	Task   string `json:"task"`
	Result string `json:"result"`
}

func openStore(path string) (*fileStore, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &fileStore{file: f, results: make(map[string]string)}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r result
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			s.results[r.Task] = r.Result
		}
	}
	if err := lines.Err(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return s, nil
}

func (s *fileStore) Load(_ context.Context, key string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.results[key]
	return value, ok, nil
}

func (s *fileStore) Save(_ context.Context, key, value string) error {
	line, err := json.Marshal(result{key, value})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[key] = value
	// The newline first: it parts this line from one that was torn.
	_, err = fmt.Fprintf(s.file, "\n%s", line)
	return err
}

func (s *fileStore) close() { _ = s.file.Close() }

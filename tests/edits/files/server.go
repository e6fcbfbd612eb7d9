package server

import (
	"encoding/json"
	"log"
	"net/http"
	"sync"
)

// Entry is one value with how often it was asked for.
type Entry struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Reads   int    `json:"reads"`
	private bool
}

// Store is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	entries map[string]*Entry
}

func NewStore() *Store {
	return &Store{entries: make(map[string]*Entry)}
}

// Get counts the read.
func (s *Store) Get(key string) (*Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	entry, ok := s.entries[key]
	if !ok {
		return nil, false
	}
	entry.Reads++
	return entry, true
}

func (s *Store) Put(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if entry, ok := s.entries[key]; ok {
		// Readers keep their count.
		entry.Value = value
		return
	}
	s.entries[key] = &Entry{Key: key, Value: value}
}

func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		entry, ok := s.Get(r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(entry); err != nil {
			log.Printf("encode %q: %v\n", entry.Key, err)
		}
	case http.MethodPut:
		s.Put(r.URL.Path, r.FormValue("value"))
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

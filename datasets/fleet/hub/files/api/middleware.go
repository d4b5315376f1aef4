%%born middleware
package api

import (
	"fmt"
	"log"
	"net/http"
	"sync/atomic"
)

var requestCount atomic.Uint64

// requestID gives every request a number that errors can be traced by.
func requestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", fmt.Sprintf("%08x", requestCount.Add(1)))
		next.ServeHTTP(w, r)
	})
}

// recoverPanic turns a panic into an answer with status 500.
func recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if fault := recover(); fault != nil {
				log.Printf("api: %s %s: %v", r.Method, r.URL.Path, fault)
				writeError(w, http.StatusInternalServerError, "internal error")
			}
		}()
		next.ServeHTTP(w, r)
	})
}

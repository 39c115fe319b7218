// Verifies messages with the Go library of Standard Webhooks, and signs their bodies with it: JSON in, JSON out. See
// standard-webhooks.ts.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type message struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

type result struct {
	Genuine   bool   `json:"genuine"`
	Signature string `json:"signature"`
}

func check(m message) (result, error) {
	webhook, err := standardwebhooks.NewWebhook(m.Secret)
	if err != nil {
		return result{}, err
	}
	header := http.Header{}
	for name, value := range m.Headers {
		header.Set(name, value)
	}
	seconds, err := strconv.ParseInt(m.Headers["webhook-timestamp"], 10, 64)
	if err != nil {
		return result{}, err
	}
	signature, err := webhook.Sign(m.Headers["webhook-id"], time.Unix(seconds, 0), []byte(m.Body))
	return result{webhook.Verify([]byte(m.Body), header) == nil, signature}, err
}

func main() {
	var messages []message
	if err := json.NewDecoder(os.Stdin).Decode(&messages); err != nil {
		log.Fatal(err)
	}
	results := []result{}
	for _, m := range messages {
		r, err := check(m)
		if err != nil {
			log.Fatal(err)
		}
		results = append(results, r)
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		log.Fatal(err)
	}
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// child is a process beside the measurement: "flood" sends what another tenant's quota does not allow, "spin" takes as
// much of the processors as the flood's client did and sends nothing. It ends when its standard input does, and then
// prints how long it has worked.
func child(args []string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends with the parent
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var sent, refused atomic.Int64
	switch {
	case len(args) == 6 && args[0] == "flood":
		var workers, rate int
		if _, err := fmt.Sscan(args[3]+" "+args[4], &workers, &rate); err != nil {
			return err
		}
		patience, err := time.ParseDuration(args[5])
		if err != nil {
			return err
		}
		flood(ctx, args[1], args[2], workers, float64(rate), patience, &sent, &refused)
	case len(args) == 2 && args[0] == "spin":
		var share float64
		if _, err := fmt.Sscan(args[1], &share); err != nil {
			return err
		}
		spin(ctx, share)
	default:
		return fmt.Errorf("no such child: %q", args)
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	fmt.Println(sent.Load(), refused.Load(), time.Duration(used.Utime.Nano()+used.Stime.Nano()).Seconds())
	return nil
}

// flood sends so many requests a second over so many connections, and opens a hundred more in a second. Of ten requests
// seven are pushes, two have bodies that are no JSON, and one is a declaration that is none. A request that is not
// answered within patience is given up with its connection: the daemon answers late what it refuses.
func flood(
	ctx context.Context, url, token string, workers int, rate float64, patience time.Duration,
	sent, refused *atomic.Int64,
) {
	tr := &http.Transport{MaxIdleConnsPerHost: workers, MaxConnsPerHost: workers}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr, Timeout: patience}
	jobs := make(chan int64, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				method, target, body := "POST", "/v1/graphs/loud/accumulators/a/events", `{"n":1}`
				switch {
				case i%10 == 9:
					method, target, body = "PUT", "/v1/graphs/bad", "graph: bad\naccumulators: { a: ["
				case i%10 > 6:
					body = "{"
				}
				req, err := http.NewRequestWithContext(ctx, method, url+target, strings.NewReader(body))
				if err != nil {
					continue
				}
				req.Header.Set("Authorization", "Bearer "+token)
				res, err := c.Do(req)
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if res.StatusCode == http.StatusTooManyRequests {
					refused.Add(1)
				}
			}
		})
	}
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
				_, _ = io.WriteString(conn, "GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
					"Authorization: Bearer "+token+"\r\n\r\n")
				_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				_, _ = bufio.NewReader(conn).ReadByte()
				_ = conn.Close()
			}
		}
	})
	began := time.Now()
	for ctx.Err() == nil {
		for due := int64(time.Since(began).Seconds() * rate); sent.Load() < due && ctx.Err() == nil; {
			select {
			case jobs <- sent.Add(1):
			case <-ctx.Done():
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	close(jobs)
	wg.Wait()
}

// spin works for a share of one core, in pieces as small as those of the flood.
func spin(ctx context.Context, share float64) {
	const turn = 2 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		for time.Since(began) < time.Duration(share*float64(turn)) {
		}
		time.Sleep(max(0, turn-time.Since(began)))
	}
}

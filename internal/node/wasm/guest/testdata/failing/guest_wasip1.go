package main

import (
	"fmt"
	"os"
	"time"
)

var kept [][]byte

//go:wasmexport ends
func ends(x float64) float64 {
	if x > 0 {
		panic(fmt.Sprintf("%v is above nought", x))
	}
	return x
}

//go:wasmexport index
func index(x float64) float64 {
	var list []float64
	return list[int(x)]
}

//go:wasmexport null
func null(x float64) float64 {
	var at *float64
	if x < 0 {
		at = &x
	}
	return *at
}

//go:wasmexport divide
func divide(x float64) float64 { return float64(7 / (int(x) - 1)) }

//go:wasmexport fill
func fill(float64) float64 {
	for {
		kept = append(kept, make([]byte, 1<<18))
	}
}

//go:wasmexport leave
func leave(float64) float64 {
	fmt.Fprintln(os.Stderr, "nothing to do")
	os.Exit(3)
	return 0
}

//go:wasmexport descend
func descend(x float64) float64 { return below(x) }

//go:noinline
func below(x float64) float64 {
	if x == 0 {
		return 0
	}
	return below(x+1) + 1
}

//go:wasmexport sleep
func sleep(x float64) float64 {
	time.Sleep(time.Hour)
	return x
}

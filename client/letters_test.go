package client

import "github.com/graphd/graphd/internal/api"

// fewLetters chooses dead letters by a code and an expression.
var fewLetters = api.LetterChoice{Code: "c", Where: "epoch > 1"}

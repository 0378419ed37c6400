package lsp

import (
	"encoding/json"

	"github.com/graphd/graphd/internal/language/text"
)

// message is a request, a notification or an answer, of either side.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is why a request has no result.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// The codes of the protocol.
const (
	parseError     = -32700
	invalidRequest = -32600
	unknownMethod  = -32601
	invalidParams  = -32602
	internalError  = -32603
	notInitialized = -32002
	cancelled      = -32800
)

// The severities of the protocol.
const (
	severityError   = 1
	severityWarning = 2
)

// diagnostic is a mistake, or what is hardly meant, in a document.
type diagnostic struct {
	Range    text.Range `json:"range"`
	Severity int        `json:"severity"`
	Code     string     `json:"code,omitempty"`
	Source   string     `json:"source"`
	Message  string     `json:"message"`
	// Data is what was probably meant.
	Data string `json:"data,omitempty"`
}

type published struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type identifier struct {
	URI string `json:"uri"`
}

type openParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Range *text.Range `json:"range"`
		Text  string      `json:"text"`
	} `json:"contentChanges"`
}

type documentParams struct {
	TextDocument identifier `json:"textDocument"`
}

// The ways in which changes of documents are told.
const syncIncremental = 2

// capabilities are what the server can do.
type capabilities struct {
	TextDocumentSync struct {
		OpenClose bool            `json:"openClose"`
		Change    int             `json:"change"`
		Save      map[string]bool `json:"save"`
	} `json:"textDocumentSync"`
	CompletionProvider struct {
		TriggerCharacters []string `json:"triggerCharacters"`
	} `json:"completionProvider"`
	HoverProvider          bool            `json:"hoverProvider"`
	DefinitionProvider     bool            `json:"definitionProvider"`
	DocumentSymbolProvider bool            `json:"documentSymbolProvider"`
	CodeActionProvider     map[string]any  `json:"codeActionProvider"`
	CodeLensProvider       map[string]bool `json:"codeLensProvider"`
	ExecuteCommandProvider map[string]any  `json:"executeCommandProvider"`
}

func capable() (c capabilities) {
	c.TextDocumentSync.OpenClose, c.TextDocumentSync.Change = true, syncIncremental
	c.TextDocumentSync.Save = map[string]bool{"includeText": false}
	c.CompletionProvider.TriggerCharacters = []string{".", " "}
	c.HoverProvider, c.DefinitionProvider, c.DocumentSymbolProvider = true, true, true
	c.CodeActionProvider = map[string]any{"codeActionKinds": []string{"quickfix"}}
	c.CodeLensProvider = map[string]bool{"resolveProvider": false}
	c.ExecuteCommandProvider = map[string]any{"commands": []string{runCommand}}
	return c
}

type positionParams struct {
	TextDocument identifier    `json:"textDocument"`
	Position     text.Position `json:"position"`
}

type edit struct {
	Range text.Range `json:"range"`
	Text  string     `json:"newText"`
}

type location struct {
	URI   string     `json:"uri"`
	Range text.Range `json:"range"`
}

// completion is what can be put at a place.
type completion struct {
	Label  string `json:"label"`
	Kind   int    `json:"kind"`
	Detail string `json:"detail,omitempty"`
	About  string `json:"documentation,omitempty"`
	Edit   edit   `json:"textEdit"`
	Filter string `json:"filterText,omitempty"`
}

type completions struct {
	Incomplete bool         `json:"isIncomplete"`
	Items      []completion `json:"items"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hovered struct {
	Contents markup     `json:"contents"`
	Range    text.Range `json:"range"`
}

type symbol struct {
	Name     string     `json:"name"`
	Detail   string     `json:"detail,omitempty"`
	Kind     int        `json:"kind"`
	Range    text.Range `json:"range"`
	Selected text.Range `json:"selectionRange"`
	Children []symbol   `json:"children,omitempty"`
}

type actionParams struct {
	TextDocument identifier `json:"textDocument"`
	Context      struct {
		// Diagnostics are those of all servers, with codes and data as each of them has.
		Diagnostics []json.RawMessage `json:"diagnostics"`
	} `json:"context"`
}

type action struct {
	Title       string       `json:"title"`
	Kind        string       `json:"kind"`
	Diagnostics []diagnostic `json:"diagnostics"`
	Preferred   bool         `json:"isPreferred"`
	Edit        struct {
		Changes map[string][]edit `json:"changes"`
	} `json:"edit"`
}

type command struct {
	Title     string   `json:"title"`
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
}

type lens struct {
	Range   text.Range `json:"range"`
	Command command    `json:"command"`
}

type commandParams struct {
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
}

type cancelParams struct {
	ID json.RawMessage `json:"id"`
}

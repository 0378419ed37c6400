package wire

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// documentTypes are the media types that ask for a declaration itself.
var documentTypes = []string{"application/yaml", "application/x-yaml", "text/yaml"}

// WantsDocument says whether a request with such headers would rather have the declaration as it was sent than
// what is told of it as JSON: it names YAML, and not JSON before it.
func WantsDocument(h http.Header) bool {
	document, told := 0.0, 0.0
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			weight = 1
		}
		switch {
		case slices.Contains(documentTypes, media):
			document = max(document, weight)
		case media == "application/json":
			told = max(told, weight)
		}
	}
	return document > told
}

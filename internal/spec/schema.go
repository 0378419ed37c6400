package spec

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/api"
	"github.com/graphd/graphd/internal/spec/internal/document"
)

// Schema is the JSON Schema (draft 2020-12) of the declaration. Editors complete
// and check declarations with it.
func Schema() []byte { return api.GraphSchema() }

// fieldSets are the mappings of the declaration by the name of their definition in
// the JSON Schema, with the words that diagnostics use for them.
func fieldSets() map[string]fieldSet {
	return map[string]fieldSet{
		"graph":            setOf(graphFields),
		"accumulator":      setOf(accumulatorFields),
		"batch":            setOf(batchFields),
		"state":            setOf(stateFields),
		"window":           setOf(windowFields),
		"hopping":          setOf(hoppingFields),
		"source":           setOf(sourceKinds),
		"source_file":      setOf(fileSourceFields),
		"source_generator": setOf(generatorFields),
		"source_poll":      setOf(pollFields),
		"source_websocket": setOf(webSocketFields),
		"source_graph":     setOf(graphSourceFields),
		"source_kafka":     setOf(kafkaSourceFields),
		"kafka_start":      setOf(kafkaStartFields),
		"kafka_tls":        setOf(kafkaTLSFields),
		"kafka_sasl":       setOf(kafkaSASLFields),
		"reactor":          setOf(reactorFields),
		"when":             setOf(whenFields),
		"restart":          setOf(restartFields),
		"node":             setOf(nodeFields),
		"output":           setOf(outputFields),
		"sink":             setOf(sinkKinds),
		"sink_file":        setOf(fileSinkFields),
		"sink_http":        setOf(httpSinkFields),
		"sink_graph":       setOf(graphSinkFields),
		"sink_postgres":    setOf(postgresSinkFields),
		"sink_kafka":       setOf(kafkaSinkFields),
		"retry":            setOf(retryFields),
		"node_go":          setOf(goNodeFields),
		"registered":       setOf(registeredFields),
		"durability":       setOf(durabilityFields),
		"history":          setOf(historyFields),
		"dead_letters":     setOf(deadLettersFields),
		"nothing":          {},
	}
}

// choices are the fields that take one of a few words, by where the JSON Schema
// lists them: definition and field.
func choices() map[string]choice {
	return map[string]choice{
		"accumulator.time_unit":   timeUnits,
		"accumulator.strategy":    strategies,
		"window.late":             latePolicies,
		"window.groups":           groupings,
		"source_file.format":      sourceFormats,
		"source_file.on_truncate": onTruncates,
		"reactor.when":            criteria,
		"reactor.strategy":        strategies,
		"reactor.on_warm_timeout": onWarmTimeouts,
		"restart.on_exhausted":    onExhausteds,
		"node.on_error":           onErrors,
		"node.priority":           priorities,
		"output.emit":             outputEmits,
		"output.on_error":         outputOnErrors,
		"output.delivery":         deliveries,
		"sink_file.format":        sinkFormats,
		"sink_http.method":        httpMethods,
		"source_kafka.format":     kafkaFormats,
		"sink_kafka.compression":  kafkaCompressions,
		"kafka_sasl.mechanism":    saslMechanisms,
		"durability.mode":         durabilityModes,
		"durability.on_failure":   onFailures,
	}
}

// fieldPlaces maps a field to the mappings that have it, for who put one in the
// wrong place.
func fieldPlaces() map[string][]string {
	places := make(map[string][]string)
	for where, set := range fieldSets() {
		for _, name := range set.names {
			places[name] = append(places[name], strings.ReplaceAll(where, "_", " "))
		}
	}
	for _, list := range places {
		slices.Sort(list)
	}
	return places
}

// checkSchema checks that an inline schema is a JSON Schema.
func (d *decoder) checkSchema(v value, schema any) bool {
	problems := d.schemas.Check(schema)
	if _, secret := d.unresolved.trees[v.at.String()]; secret && len(problems) > 0 {
		// The words of a problem may quote values, which references may have filled in.
		d.report(v.node, v.at, CodeBadSchema, "", "this is not a JSON Schema with the references as they are set; correct it")
		return false
	}
	for _, p := range problems {
		bad := descend(v, p.Pointer)
		d.report(bad.node, bad.at, CodeBadSchema, "", "this is not a JSON Schema: %s; correct it", document.Shorten(p.Text, 200))
	}
	return len(problems) == 0
}

// descend follows a JSON pointer from a value as far as it goes.
func descend(v value, pointer []string) value {
	for _, token := range pointer {
		next, ok := step(v, token)
		if !ok {
			break
		}
		v = next
	}
	return v
}

func step(v value, token string) (value, bool) {
	switch v.node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			if key := v.node.Content[i]; key.Value == token {
				return v.child(key, v.node.Content[i+1]), true
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.node.Content) {
			return v.item(i), true
		}
	}
	return value{}, false
}

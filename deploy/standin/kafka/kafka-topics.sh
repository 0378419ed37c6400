#!/bin/bash
exec java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '/opt/kafka/lib/*' org.apache.kafka.tools.TopicCommand "$@"

# What the upstream image's entry point does: KAFKA_SOME_NAME is the property some.name.
set -eu
cd /data
if [ ! -f server.properties ]; then
	{
		echo "log.dirs=/data/log"
		env | grep '^KAFKA_' | grep -v '^KAFKA_HEAP_OPTS=' | while IFS='=' read -r name value; do
			echo "$(echo "${name#KAFKA_}" | tr '[:upper:]_' '[:lower:].')=$value"
		done
	} >server.properties
	id=$(java -cp '/opt/kafka/lib/*' kafka.tools.StorageTool random-uuid 2>/dev/null | tail -1)
	java -cp '/opt/kafka/lib/*' kafka.tools.StorageTool format -t "$id" -c server.properties >/dev/null
fi
exec java ${KAFKA_HEAP_OPTS:-} -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp '/opt/kafka/lib/*' kafka.Kafka server.properties

# What the upstream image's entry point does for the variables that the compose file sets.
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
if [ ! -f "$PGDATA/PG_VERSION" ]; then
	printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
	initdb -D "$PGDATA" -U "$POSTGRES_USER" -A scram-sha-256 --pwfile=/tmp/password -E UTF8 --locale=C.UTF-8 >/dev/null
	rm /tmp/password
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	export PGPASSWORD=$POSTGRES_PASSWORD
	pg_ctl -D "$PGDATA" -w -s -o "-c listen_addresses= -k /tmp" start
	[ "$POSTGRES_DB" = postgres ] || psql -q -h /tmp -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE \"$POSTGRES_DB\""
	for f in /docker-entrypoint-initdb.d/*.sql; do
		[ ! -e "$f" ] || psql -q -v ON_ERROR_STOP=1 -h /tmp -U "$POSTGRES_USER" -d "$POSTGRES_DB" -f "$f"
	done
	pg_ctl -D "$PGDATA" -m fast -s stop
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// KafkaVersion is the release of Apache Kafka that tests run against.
const KafkaVersion = "4.1.1"

// project asks Maven for the broker with all it needs, and for a logger that writes to
// standard error.
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
 <groupId>graphd</groupId><artifactId>testbed</artifactId><version>1</version><packaging>pom</packaging>
 <dependencies>
  <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
   <version>` + KafkaVersion + `</version></dependency>
  <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
 </dependencies></project>
`

// fetchPatience bounds the download of about 45 MB.
const fetchPatience = 10 * time.Minute

// KafkaJars answers the directory of the broker's jars. They are fetched when they are not
// in the user's cache directory yet. The error is ErrMissing when Java or, for the first
// time, Maven is not installed.
func KafkaJars(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("Java 17 or newer (on Debian: apt-get install openjdk-17-jre-headless): %w", ErrMissing)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory for Kafka's jars: %w", err)
	}
	home := filepath.Join(cache, "graphd-testbed")
	jars := filepath.Join(home, "kafka-"+KafkaVersion)
	if _, err := os.Stat(jars); err == nil {
		return jars, nil // renamed into place only when complete
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("Maven, to fetch Kafka %s (on Debian: apt-get install maven): %w", KafkaVersion,
			ErrMissing)
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", fmt.Errorf("make the cache of Kafka's jars: %w", err)
	}
	tmp, err := os.MkdirTemp(home, "fetch-")
	if err != nil {
		return "", fmt.Errorf("make the cache of Kafka's jars: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := fetch(ctx, mvn, tmp); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, "lib"), jars); err != nil {
		if _, there := os.Stat(jars); there == nil {
			return jars, nil // another run was faster
		}
		return "", fmt.Errorf("keep Kafka's jars: %w", err)
	}
	return jars, nil
}

func fetch(ctx context.Context, mvn, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(project), 0o644); err != nil {
		return fmt.Errorf("write Maven's project: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib",
		"-DincludeScope=runtime")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("fetch Kafka %s with Maven: %w: %s", KafkaVersion, err, out), ctx.Err())
	}
	return nil
}

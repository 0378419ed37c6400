package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// TLS is a configuration for Config.TLS of files in PEM: the authorities that the daemon's certificate is of, ""
// for the system's, and the certificate with its key that are shown to it, "" for none. These are read for each
// connection: they may live for less than a client does.
func TLS(ca, cert, key string) (*tls.Config, error) {
	if (cert == "") != (key == "") {
		return nil, errors.New("a client's certificate and its key go together: name both files")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read the authorities: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate of an authority in PEM", ca)
		}
	}
	if cert == "" {
		return c, nil
	}
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate: %w", err)
		}
		return &pair, nil
	}
	if _, err := read(nil); err != nil { // now, and not in the middle of something
		return nil, err
	}
	c.GetClientCertificate = read
	return c, nil
}

const certificateAsked = "; if it asks for a certificate, give --client-cert and --client-key"

// adviceTLS is what to do about a connection to base that came to nothing, "" where TLS was not the matter.
func adviceTLS(base string, err error) string {
	unknown, name := x509.UnknownAuthorityError{}, x509.HostnameError{}
	switch text := err.Error(); {
	case errors.As(err, &unknown):
		return "; name the authority of its certificate with --ca"
	case errors.As(err, &name):
		return "; call it by a name that its certificate has"
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "; it speaks no TLS: write http:// before its address"
	case strings.Contains(text, "certificate required"), strings.Contains(text, "client conn could not be established"):
		return certificateAsked
	case strings.HasPrefix(base, "https:") && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)):
		return certificateAsked // with TLS 1.3 the refusal may come while the request is on its way, and get lost
	}
	return ""
}

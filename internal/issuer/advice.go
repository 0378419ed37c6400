package issuer

import (
	"errors"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Advice is what an operator can do about a token or a login that was refused with err; "" where nothing is known.
func Advice(err error) string {
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return "the token has ended: have its bearer ask the issuer for a new one, and compare the clocks of both " +
			"machines"
	}
	text := err.Error()
	for _, known := range []struct{ part, advice string }{
		{"expected audience", "have the issuer give tokens for what --oidc-audience says, or say there what they are " +
			"for"},
		{"issued by a different provider", "write --oidc-issuer as tokens have it in iss, to the last slash"},
		{"before the nbf", "compare the clocks of this machine and of the issuer's"},
		{"unsupported algorithm", "have the issuer sign with RS, PS or ES and 256, 384 or 512, or with EdDSA"},
		{"unexpected signature algorithm", "have the issuer sign with RS, PS or ES and 256, 384 or 512, or with EdDSA"},
		{"has no such key", "the key is none of the issuer's: the token is of another issuer or realm, or was signed " +
			"with a key that it has withdrawn"},
		{"no key of the issuer has signed", "the token was changed, or is of another issuer: look at what sends it"},
		{"no access token", "send the access token and not the ID token, or have the issuer mark it as at+jwt"},
		{"this browser has begun", "if it happens to many: browsers must come back to the address that they began " +
			"at, over https, which is what --oidc-redirect is to be"},
		{"not given by this daemon", "give all daemons on the store the same --oidc-client and --oidc-client-secret"},
		{`"invalid_client"`, "compare --oidc-client and the file of --oidc-client-secret with what the issuer has"},
		{`"unauthorized_client"`, "allow the client the authorization code flow at the issuer"},
		{`"invalid_grant"`, "register --oidc-redirect with /login/callback behind it at the issuer; a code is good " +
			"once"},
		{`"access_denied"`, "the user, or a rule of the issuer, has not agreed"},
	} {
		if strings.Contains(text, known.part) {
			return known.advice
		}
	}
	return ""
}

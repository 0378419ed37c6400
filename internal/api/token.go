package api

import "time"

// TokenRequest asks for a token.
type TokenRequest struct {
	// Name is what people call it; Role one of the roles.
	Name string `json:"name"`
	Role string `json:"role"`
	// Tenant is the one it is for, nil for the caller's; "*" is every one.
	Tenant *string `json:"tenant"`
	// Graphs are globs of the graphs it is narrowed to, none for all; ReadOnly narrows it to reading.
	Graphs   []string `json:"graphs"`
	ReadOnly bool     `json:"read_only"`
	// ExpiresInSeconds is how long it lasts; nil for 90 days.
	ExpiresInSeconds *int64 `json:"expires_in_seconds"`
}

// Token is a token as it is told: all of it but the secret.
type Token struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Tenant     string     `json:"tenant"`
	Role       string     `json:"role"`
	Graphs     []string   `json:"graphs"`
	ReadOnly   bool       `json:"read_only"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by"`
	ExpiresAt  time.Time  `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at"` // within some minutes; null before the first time
	RevokedAt  *time.Time `json:"revoked_at"`
}

// NewToken is a token that was made, with the text that opens: it is told this once.
type NewToken struct {
	Token
	Text string `json:"token"`
}

// Session is that of a browser which has logged in; what opens it is in its cookie alone.
type Session struct {
	Tenant    string    `json:"tenant"`
	Subject   string    `json:"subject"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LoginBegun is where a browser goes to log in.
type LoginBegun struct {
	URL string `json:"url"`
}

// Ticket opens one socket, once.
type Ticket struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expires_at"`
}

// WhoAmI is whom a request acts as.
type WhoAmI struct {
	Subject string `json:"subject"`
	Tenant  string `json:"tenant"`
	Role    string `json:"role"`
	// Graphs are globs of the graphs it is narrowed to, none for all; ReadOnly narrows it to reading.
	Graphs   []string `json:"graphs"`
	ReadOnly bool     `json:"read_only"`
	// Permissions are those it has, by the names that the routes have for them.
	Permissions []string `json:"permissions"`
	// Session says that it is a browser that has logged in.
	Session bool `json:"session"`
}

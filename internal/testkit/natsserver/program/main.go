// The command program is nats-server for tests. It is a module of its own, because users need a client of NATS at most.
// Package internal/testkit/natsserver compiles and starts it.
//
//	program CONFIG                 runs the server until stdin ends
//	program creds DIR DURATION     writes operator.jwt, accounts.conf and user.creds, which expires after DURATION
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

func main() {
	log.SetPrefix("nats: ")
	log.SetFlags(0)
	var err error
	switch {
	case len(os.Args) == 2:
		err = run(os.Args[1])
	case len(os.Args) == 4 && os.Args[1] == "creds":
		err = writeCreds(os.Args[2], os.Args[3])
	default:
		log.Fatal("usage: program CONFIG, or program creds DIR DURATION")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(config string) error {
	opts, err := server.ProcessConfigFile(config)
	if err != nil {
		return err
	}
	opts.NoSigs = true
	s, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	go s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return fmt.Errorf("the server is not ready after 30 s")
	}
	fmt.Println(s.ClientURL(), s.MonitorAddr())
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

// writeCreds writes an operator, an account with JetStream and credentials of a user that expire.
func writeCreds(dir, lifetime string) error {
	d, err := time.ParseDuration(lifetime)
	if err != nil {
		return err
	}
	operator, err := nkeys.CreateOperator()
	if err != nil {
		return err
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		return err
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	system, err := nkeys.CreateAccount()
	if err != nil {
		return err
	}
	operatorID, systemID, accountID, userID := public(operator), public(system), public(account), public(user)
	operatorClaims := jwt.NewOperatorClaims(operatorID)
	operatorClaims.SystemAccount = systemID
	operatorJWT, err := operatorClaims.Encode(operator)
	if err != nil {
		return err
	}
	systemJWT, err := jwt.NewAccountClaims(systemID).Encode(operator)
	if err != nil {
		return err
	}
	accountClaims := jwt.NewAccountClaims(accountID)
	accountClaims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1, MaxAckPending: -1,
	}
	accountJWT, err := accountClaims.Encode(operator)
	if err != nil {
		return err
	}
	seed, err := user.Seed()
	if err != nil {
		return err
	}
	creds := func(lifetime time.Duration) ([]byte, error) {
		claims := jwt.NewUserClaims(userID)
		claims.Expires = time.Now().Add(lifetime).Unix()
		token, err := claims.Encode(account)
		if err != nil {
			return nil, err
		}
		return jwt.FormatUserConfig(token, seed)
	}
	short, err := creds(d)
	if err != nil {
		return err
	}
	long, err := creds(time.Hour)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"operator.jwt": []byte(operatorJWT),
		"accounts.conf": fmt.Appendf(nil, "resolver: MEMORY\nresolver_preload: { %s: %q, %s: %q }\n",
			accountID, accountJWT, systemID, systemJWT),
		"user.creds":    short,
		"renewed.creds": long,
	} {
		err := os.WriteFile(filepath.Join(dir, name), text, 0o600)
		if err != nil {
			return err
		}
	}
	return nil
}

func public(k nkeys.KeyPair) string {
	id, err := k.PublicKey()
	if err != nil {
		log.Fatal(err)
	}
	return id
}
